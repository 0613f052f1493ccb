# shellcheck shell=sh disable=SC2034,SC2154
# A process on the target that owns a job for as long as its host calls, and then removes what the
# job made. It makes no run and holds no knobs; watch.sh and top.sh use it.

# begin_owner ARGUMENT...: start the owner in the background: this script with these arguments.
begin_owner() {
    mkfifo "$job/wake" "$job/changed"
    if command -v setsid >/dev/null; then
        # shellcheck disable=SC2086
        setsid $shell "$0" "$@" </dev/null >"$job/log" 2>&1 &
    else
        (trap '' HUP && exec $shell "$0" "$@") </dev/null >"$job/log" 2>&1 &
    fi
}

# own_job: note this process as the owner of the job.
own_job() {
    start_of $$
    note_owner "$$ $started"
}

# stay_until_finished: wait until the job is finished or the host is gone; then put everything back.
stay_until_finished() {
    while [ -e "$job/lease" ] && [ ! -e "$job/finish" ] && ! has_expired "$job/lease"; do
        pause 2
    done
    undo "$job" restored
}
