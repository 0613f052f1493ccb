#!/bin/sh
# Runs a recorder and, should foreread die before it asked for the end, removes what it left.
#
# usage: supervise.sh SCRATCH INSTANCE [FILE...] -- RECORDER [ARGUMENT...]
#   SCRATCH   directory of the recording; FILE's stand-ins are in it too
#   INSTANCE  ftrace instance of the recording, or empty
#   FILE      kernel file the recorder insists on and may not write: a scratch file stands in
#             for it, in this process's mount namespace only
#
# stdin is the pipe from foreread: the recorder's workload (hold.sh) ends at its end.
# stdout is the pipe to foreread: the workload says there that recording has begun.
set -u
scratch=$1 instance=$2
shift 2

while [ "$1" != -- ]; do
    standin=$scratch/standin-$(echo "$1" | tr / _)
    echo 1 >"$standin" && mount --bind "$standin" "$1" || exit 1
    shift
done
shift

exec 3>&1 >&2
"$@"
status=$?
exec 3>&-

# Over before its end was asked for: foreread reads the log and cleans up, if it still lives.
if [ ! -e "$scratch/ended" ] && ! read -r _; then
    [ -n "$instance" ] && [ -d "$instance" ] && rmdir "$instance"
    rm -rf "$scratch"
fi
exit "$status"
