#!/bin/sh
# The recorder's workload. Recorders start theirs once events are on and stop when it ends, so
# that it shows when recording has begun (a line on descriptor 3) and ends it with foreread's
# pipe (stdin), be it by order or by death.
#
# usage: hold.sh ENDED   ENDED: file that tells an ordered end
echo recording >&3
exec 3>&-
if read -r word && [ "$word" = stop ]; then
    : >"$1"
fi
