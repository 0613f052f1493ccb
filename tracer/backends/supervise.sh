#!/bin/sh
# Runs a recorder. If foreread dies before it asks for the end, removes what the recorder left.
#
# usage: supervise.sh SCRATCH INSTANCE [FILE...] -- RECORDER [ARGUMENT...]
#   SCRATCH   directory of the recording; FILE's stand-ins are in it too
#   INSTANCE  ftrace instance of the recording, or empty
#   FILE      kernel file that the recorder needs but may not write: a scratch file replaces
#             it, in the mount namespace of this process only
#
# stdin is the pipe from foreread: the recorder's workload (hold.sh) ends at its end.
# stdout is the pipe to foreread: the workload reports the start of the recording there.
set -u
scratch=$1 instance=$2
shift 2

# If foreread died before this script had its mark (boards/base/owner.py), nobody will end the recorder.
if [ -n "${FOREREAD_JOB-}" ]; then
    read -r stat <"/proc/${FOREREAD_JOB%-*}/stat" || exit 1
    case ${stat##*) } in *" ${FOREREAD_JOB#*-} "*) ;; *) exit 1 ;; esac
fi

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

# The recorder ended before it was asked to: foreread reads the log and cleans up, if it is alive.
if [ ! -e "$scratch/ended" ] && ! read -r _; then
    [ -n "$instance" ] && [ -d "$instance" ] && rmdir "$instance"
    rm -rf "$scratch"
fi
exit "$status"
