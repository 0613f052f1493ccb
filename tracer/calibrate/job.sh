#!/bin/sh
# Runs one fio job and prints its JSON and the latency of each request.
#
# Usage: job.sh FIO-ARGUMENT…
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
cd "$folder"
fio "$@" --write_lat_log=each --output-format=json --output=report >&2
# One line: JSON text holds no newline that matters.
printf 'report %s\n' "$(tr '\n' ' ' < report)"
cat each_lat.*log
