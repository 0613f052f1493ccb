# shellcheck shell=sh disable=SC2034,SC2154
# The command of a job: held just before its exec, released, watched, ended with all it started.
# Its processes are found by FOREREAD_JOB=TOKEN in their environment, and by its session.
mark=FOREREAD_JOB=${job##*-}

# find_executable NAME: set executable to the file that exec would run.
find_executable() {
    executable=
    case $1 in
    */*)
        executable=$1
        [ -f "$1" ] || die "the command $1 does not exist on the target" "check its spelling"
        [ -x "$1" ] || die "the command $1 cannot be executed" "make it executable: chmod +x"
        return
        ;;
    esac
    IFS=:
    for folder in $PATH; do
        [ -z "$executable" ] && [ -f "$folder/$1" ] && [ -x "$folder/$1" ] &&
            executable=$folder/$1
    done
    unset IFS
    [ -n "$executable" ] || die "the command $1 does not exist on the target" \
        "check its spelling, or give its path (PATH there is $PATH)"
}

# helper FUNCTION [ARGUMENT...]: run it in the background until the job ends.
helper() {
    "$@" &
    echo $! >>"$job/helpers"
}

# pump STREAM: keep the beginning of the command's output and discard the rest. cat is started only
# if there is a rest: a program started when the command ends would be part of the measured time. A
# shell without read -n reads a line to see that, byte by byte.
pump() {
    exec <"$job/$1.pipe" >"$job/$1" 9>&-
    head -c "$output_bytes"
    # shellcheck disable=SC2086
    ! read -r ${for_1s:+-n 1} _ || exec cat >/dev/null
}

# pump_matching STREAM: the same, and end the run when a line of the output matches.
pump_matching() {
    mkfifo "$job/$1.copy"
    head -c "$output_bytes" <"$job/$1.copy" >"$job/$1" &
    tee "$job/$1.copy" <"$job/$1.pipe" 2>/dev/null | {
        ! grep -E -q -e "$until_output" || over output
        exec cat >/dev/null
    }
}

# preloading: print the shell words that have what is executed next preload the shim of the job.
preloading() {
    echo "export LD_PRELOAD=$job/shim.so\${LD_PRELOAD:+:\$LD_PRELOAD} FOREREAD_ADVICE=$job/advice"
}

# hold EXECUTABLE NAME [ARGUMENT...]: start a process that waits to exec the command; set
# command (its pid) and waited (the process to wait for, which is a different one under some
# versions of su).
hold() {
    file=$1
    shift 2
    for stream in stdout stderr; do
        mkfifo "$job/$stream.pipe"
        pump"${until_output:+_matching}" "$stream" &
    done
    mkfifo "$job/gate" "$job/ready"
    exec 7<>"$job/ready" 8<>"$job/gate"
    # shellcheck disable=SC2016
    held="trap 'echo unexecuted ${job##*-} >&2' EXIT; echo \$\$ >&7; read -r _ <&8"
    [ -z "${preloads-}" ] || held="$held; $(preloading)"
    held="$held; exec \"\$@\" 7>&- 8>&-"
    (
        cd "$directory" || exit
        export "${mark?}"
        umask "$foreread_umask"
        if [ -n "$foreread_locale" ]; then LC_ALL=$foreread_locale; else unset LC_ALL; fi
        unset foreread_umask foreread_locale
        exec </dev/null >"$job/stdout.pipe" 2>"$job/stderr.pipe" 5>&- 6>&- 9>&-
        if [ -n "$user" ]; then
            su -s /bin/sh -c "$held" -- "$user" sh "$file" "$@"
            status=$?
            echo none >&7 # read only if the command did not even start
            exit $status
        fi
        # shellcheck disable=SC2086
        exec $own_session $shell -c "$held" sh "$file" "$@"
    ) &
    waited=$!
    read -r command <&7
    [ "$command" != none ] || die "no command can be run as $user: $(cat "$job/stderr")" \
        "try it on the target: su $user"
    echo "$command" >"$job/command"
}

# ---- the end of the run ----

# over WHY: end the run for the reason WHY; the first reason counts. Signals the recorder until it
# has noticed.
over() {
    (set -C && echo "$1" >"$job/over") 2>/dev/null
    read -r recorder <"$job/recorder"
    while [ ! -e "$job/ended" ] && kill -USR1 "$recorder" 2>/dev/null; do
        sleep 1
    done
}

# after_duration: end the run duration_s seconds after the release.
after_duration() {
    exec 9<>"$job/never"
    read -r _ <"$job/gate.duration"
    [ "$tick_s" != 1 ] || duration_s=$((${duration_s%.*} + 1)) # whole seconds only
    pause "$duration_s"
    over duration
}

# after_idleness: end the run when no disk was read for idle_cs (hundredths of a second); note the
# time of the last read.
after_idleness() {
    exec 9<>"$job/never"
    read -r _ <"$job/gate.idle"
    reads=
    while pause "$tick_s" || :; do
        before=$reads reads=
        for stat in /sys/block/*/stat; do
            read -r _ _ sectors _ <"$stat" && reads="$reads $sectors"
        done
        uptime
        if [ "$reads" != "$before" ]; then
            last=$now
        elif [ $((now - last)) -ge "$idle_cs" ]; then
            echo "$last" >"$job/idle_since"
            over idle
            return
        fi
    done
}

# start_watchers: start the watchers that end the run for other reasons than the command's exit.
start_watchers() {
    mkfifo "$job/never" "$job/gate.duration" "$job/gate.idle"
    exec 5<>"$job/gate.duration" 6<>"$job/gate.idle"
    [ -z "$duration_s" ] || helper after_duration
    [ -z "$idle_cs" ] || helper after_idleness
}

# rehearse_end: execute once what marks the end of the run, before the caches are dropped: dropping
# keeps pages that this shell has mapped. Otherwise they would be read at the end, within the
# measured time.
rehearse_end() {
    (exit 0) &
    wait $!
    kill -0 $! 2>/dev/null || echo end >/dev/null
}

# release_and_wait: release the command, mark the end of the run as soon as it ends, and return.
# Sets why, and status (of the command; empty if it is still running).
release_and_wait() {
    trap : USR1
    echo >&5
    echo >&6
    echo >&8
    while [ ! -e "$job/over" ]; do
        wait "$waited"
        status=$?
        kill -0 "$waited" 2>/dev/null || break
        status=
    done
    mark end
    (set -C && echo exit >"$job/over") 2>/dev/null
    : >"$job/ended"
    read -r why <"$job/over"
}

# ---- the command's processes ----

# has_mark PID MARK: whether MARK is in the initial environment of the process. While a process
# executes a program, its environment reads as empty: then sets unsure.
has_mark() {
    seen=''
    while read -r variables || [ -n "$variables" ]; do
        seen=yes
        case $variables in *"$2"*) return 0 ;; esac
    done <"/proc/$1/environ"
    [ -n "$seen" ] || [ "$started" -lt "${since:-0}" ] || unsure=yes
    return 1
}

# living DIRECTORY KEY: set pids to the living processes of that job's command. The session is used
# only while the job lives: its number may be reused later. Looks again for a second at most if a
# process that is younger than the job executes a program just then.
living() {
    glances=0 since=0
    { read -r _ since <"$1/owner"; } 2>/dev/null
    while look_for_living "$1" "$2" && [ -n "$unsure" ] && [ $glances -lt 10 ]; do
        glances=$((glances + 1))
        nap
    done
}

look_for_living() {
    pids='' leader=- unsure=''
    [ "$2" = leftover ] || read -r leader <"$1/command" || leader=-
    for process in /proc/[0-9]*; do
        [ -e "$process/exe" ] || continue # kernel threads have none
        process=${process#/proc/}
        start_of "$process"
        [ -n "$started" ] || continue
        if [ "$session" = "$leader" ] || has_mark "$process" "FOREREAD_JOB=${1##*-}"; then
            pids="$pids $process"
        fi
    done 2>/dev/null
    return 0
}

# end_command DIRECTORY KEY: SIGTERM, and after five seconds SIGKILL, to all remaining processes of
# the command.
end_command() {
    [ -e "$1/command" ] || return 0
    uptime
    patience=$((now + 500)) signal=TERM
    while living "$1" "$2" && [ -n "$pids" ]; do
        # shellcheck disable=SC2086
        [ -z "$signal" ] || kill -$signal $pids 2>/dev/null
        signal=
        uptime
        [ "$now" -lt $patience ] || signal=KILL
        [ "$now" -lt $((patience + 300)) ] || return 0
        nap
    done
}

# end_helpers DIRECTORY KEY: end the watchers; pumps end with the command.
end_helpers() {
    [ "$2" != leftover ] && [ -e "$1/helpers" ] && [ ! -e "$1/keep" ] || return 0
    while read -r pid; do
        kill "$pid" 2>/dev/null
    done <"$1/helpers"
}

# end_load DIRECTORY: end the load of that job, if it has one. It ends when its input closes; the
# guard, unless dead, holds the other end.
end_load() {
    { read -r load <"$1/load.pid"; } 2>/dev/null || return 0
    exec 5>&-
    tries=0
    while alive "$load" && [ $tries -lt 100 ]; do
        nap
        tries=$((tries + 1))
        # One that waits for its effect does not see the end of its input.
        [ $tries != 20 ] || kill "${load%% *}" 2>/dev/null
    done
    ! alive "$load" || kill -9 "${load%% *}" 2>/dev/null
}
