#!/bin/sh
# The workload of a recorder. A recorder starts its workload after it has enabled the events, and
# stops when the workload ends. So this script reports the start of the recording (a line on
# descriptor 3), and ends the recording when foreread writes "stop" to the pipe on stdin or dies.
#
# usage: hold.sh ENDED   ENDED: file made when foreread asked for the end
echo recording >&3
exec 3>&-
if read -r word && [ "$word" = stop ]; then
    : >"$1"
fi
