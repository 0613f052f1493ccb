# shellcheck shell=sh disable=SC2154
# Prints who threads are, and which files they map. A script of its own, after brief.sh.
#
# usage: SHELL DIRECTORY/tasks.sh LEASE THREAD...
# It prints "task THREAD PROCESS NAME" and "map LINE" of /proc/PROCESS/maps; nothing of threads that
# have ended.
renew_lease "$1"
shift
for task; do
    name='' group=''
    while read -r key value; do
        case $key in
        Name:) name=$value ;;
        Tgid:) group=$value && break ;;
        esac
    done <"/proc/$task/status"
    [ -z "$group" ] || echo "task $task $group $name"
    set -- "$@" "/proc/$group/maps"
    shift
done 2>/dev/null
grep -hs ' /' "$@" | sed 's/^/map /'
