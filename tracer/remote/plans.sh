# shellcheck shell=sh disable=SC2034,SC2154
# The plans of a watcher: which settings are in force for a workload, and whether they suit it.
#
# A plan assigns knobs to a fingerprint. It is always compared with the defaults, the values that
# were found: with their throughput and their latency for this workload. First the defaults run for
# patience periods. Then the plan does, and from then on every period is judged by the medians of
# the last ones. A plan that is worse is undone. What is judged against an old measurement of the
# defaults is first compared anew, since the workload may have changed; so is every plan after
# recheck periods. The gap doubles as long as the result stays the same, up to 32 times as many;
# after the same gap, a refused plan has another chance.
#
# A learnt pattern counts as a fingerprint of its own (watch.sh, find_pattern).
#
# Settings: plans, a line "FINGERPRINT<tab>KNOB<tab>VALUE" each; patience; worse_percent; recheck
# (periods, 0: never); least_ios.

# begin_plans: no plan is in force, and nothing is known. A variable NAME_KEY belongs to a
# fingerprint: known (defaults: when measured, figures), own (its plan, likewise), gap, verdict, and
# again (when a refused plan may be tried again).
begin_plans() {
    staying='' in_force='' stayed=0 elapsed=0
    most=$((3 * patience)) # periods whose medians are compared
    [ $most -le $((patience + 30)) ] || most=$((patience + 30))
    forget_figures
}

# ---- the figures of a period ----

# count_done: set done_bytes (what processes read and write), busy_ms of the disks, and requests
# (number, sectors and ms of the disks' reads, then of their writes). Not the bytes of the disks: a
# window that is too large increases them. Parents count their ended children (fs/proc/base.c,
# do_io_accounting).
count_done() {
    done_bytes=0 busy_ms=0 requests='0 0 0 0 0 0'
    for file in /proc/[0-9]*/io; do
        [ "$file" != "/proc/$$/io" ] || continue
        while read -r key value; do
            case $key in rchar: | wchar:) done_bytes=$((done_bytes + value)) ;; esac
        done <"$file"
    done 2>/dev/null
    for disk in ${watched:-/sys/block/*}; do
        { read -r had _ got read_ms gave _ put write_ms _ ticks _ <"/sys/block/${disk##*/}/stat"; } \
            2>/dev/null || continue
        busy_ms=$((busy_ms + ticks))
        # shellcheck disable=SC2086
        set -- $requests
        requests="$(($1 + had)) $(($2 + got)) $(($3 + read_ms))"
        requests="$requests $(($4 + gave)) $(($5 + put)) $(($6 + write_ms))"
        # Without I/O accounting of processes, use the disks' sectors.
        [ -e /proc/self/io ] || done_bytes=$((done_bytes + (got + put) * 512))
    done
}

# find_latency: set latency (us a request) and drag (ns a sector) of the period: of the reads, in a
# workload of writes of all requests. Both are empty if there were few requests, or if they took
# less than 10 ms in all: the counters are in ms, and advance by jiffies before Linux 5.0.
find_latency() {
    latency='' drag=''
    # shellcheck disable=SC2086
    set -- $requests $last_requests
    ios=$(($1 - $7)) got=$(($2 - $8)) ms=$(($3 - $9))
    case $fingerprint in
    write-*) ios=$((ios + $4 - ${10})) got=$((got + $5 - ${11})) ms=$((ms + $6 - ${12})) ;;
    esac
    [ $ios -ge "$least_ios" ] && [ $got -gt 0 ] && [ $ms -ge 10 ] || return 0
    latency=$((ms * 1000 / ios)) drag=$((ms * 1000000 / got))
}

# add_figures: add those of the period to the last ones.
add_figures() {
    if [ "$period_ms" -gt 0 ]; then
        slide "$rates $((period_bytes / period_ms))"
        rates=$slid
    fi
    [ -n "$latency" ] || return 0
    slide "$latencies $latency"
    latencies=$slid
    slide "$drags $drag"
    drags=$slid
}

# slide NUMBERS: set slid to the last of them.
slide() {
    # shellcheck disable=SC2086
    set -- $1
    [ $# -le "$most" ] || shift $(($# - most))
    slid=$*
}

forget_figures() {
    rates='' latencies='' drags='' slid=''
}

# medians DEFAULTS: set figures to the medians of rates, latencies and drags, "-" where there are
# fewer than patience. Of two middle values it takes the one that favours the plan, so DEFAULTS is 1
# for the defaults and 0 for a plan. Not the mean: when a process ends during the count, its bytes
# move to its parent and may be counted twice or not at all.
medians() {
    figures=$(awk -v a="$rates" -v b="$latencies" -v c="$drags" -v least="$patience" \
        -v defaults="$1" '
        function middle(text, upper,   n, i, j, one, all) {
            n = split(text, all, " ")
            if (n < least) return "-"
            for (i = 2; i <= n; i++) {
                one = all[i] + 0
                for (j = i - 1; j > 0 && all[j] + 0 > one; j--) all[j + 1] = all[j]
                all[j + 1] = one
            }
            return sprintf("%.0f", all[int((n + 1 + upper) / 2)])
        }
        BEGIN { print middle(a, 1 - defaults), middle(b, +defaults), middle(c, +defaults) }')
}

# is_worse RATE LATENCY DRAG RATE LATENCY DRAG: whether the second ones are worse than the first by
# more than worse_percent; set why. A larger request takes longer: latency is worse only if that of
# a sector is, too.
is_worse() {
    why=''
    if is_less "$4" "$1" $((100 - worse_percent)); then
        why=throughput
    elif is_less "$2" "$5" 100 $((100 + worse_percent)) &&
        is_less "$3" "$6" 100 $((100 + worse_percent)); then
        why=latency
    fi
    [ -n "$why" ]
}

# is_less A B PERCENT [OF]: whether A * OF (100) is less than B * PERCENT, both being known.
is_less() {
    [ "$1" != - ] && [ "$2" != - ] && [ $(($1 * ${4:-100})) -lt $(($2 * $3)) ]
}

# ---- decisions ----

# decide: act on the period. Ignore periods without a workload, and periods with negative bytes: a
# process that nobody waited for has ended, and its bytes went with it.
decide() {
    elapsed=$((elapsed + 1))
    [ -n "$fingerprint" ] && [ "$period_bytes" -ge 0 ] || return 0
    # The window itself makes bios larger or smaller: with a plan, size makes no other workload. (Of
    # a pattern, "_" and a number, find_pattern has decided so.)
    case $fingerprint in
    *_*) ;;
    *) [ "${fingerprint%-*}" != "${in_force%-*}" ] || fingerprint=$in_force ;;
    esac
    if [ "$fingerprint" != "$staying" ]; then
        staying=$fingerprint stayed=0
        forget_figures
    fi
    stayed=$((stayed + 1))
    add_figures
    [ $stayed -ge "$patience" ] || return 0
    load_known
    if [ -z "$in_force" ]; then
        consider
    elif [ "$in_force" = "$staying" ]; then
        judge
    else
        change_workload
    fi
}

# load_known: set key, known, own, gap, verdict and again to what is known of the workload.
load_known() {
    key=${staying#*-}
    key=${staying%%-*}_${key%-*}_${staying##*-}
    eval "known=\${known_$key-} own=\${own_$key-} gap=\${gap_$key:-$recheck}"
    eval "verdict=\${verdict_$key-} again=\${again_$key:-0}"
}

# may_apply: whether the workload has a plan that is not refused for now.
may_apply() {
    case "$nl$plans" in *"$nl$staying$tab"*) ;; *) return 1 ;; esac
    [ "$again" != never ] && [ "$elapsed" -ge "$again" ]
}

# is_recent WHEN PERIODS
is_recent() {
    [ -n "$1" ] && [ $((elapsed - $1)) -le "$2" ]
}

# consider: the defaults are in force. Once they are measured, apply the plan of the workload, unless
# it was worse just before.
consider() {
    may_apply || return 0
    medians 1
    # Disks count their busy time in ticks of some ms: a period may have none. A plan cannot be judged
    # on disks that never count it and have no latency.
    [ "${figures%% *}" != - ] || [ "$busy_ms" -eq 0 ] || return 0
    known="$elapsed $figures"
    eval "known_$key=\$known own_$key="
    if is_recent "${own%% *}" $((most + 2 * patience)); then
        # shellcheck disable=SC2086
        if is_worse ${known#* } ${own#* }; then
            refuse "${known#* }" "${own#* }"
            return
        fi
        next_gap kept
        say "kept $staying - $(shown "${known#* }") $(shown "${own#* }")"
    fi
    apply
}

# apply: put the plan of the workload in force; it will be compared with what is known.
apply() {
    in_force=$staying stayed=0 next=$((elapsed + gap))
    forget_figures
    say "applied $in_force"
    while IFS=$tab read -r of knob value; do
        [ "$of" != "$in_force" ] || set_knob "$knob" "$value"
    done >"$job/applied" <<END
$plans
END
    cat "$job/applied" >>"$job/said"
    # Setting one knob may change another: what all have in the end is the plan's.
    sed -n 's/^knob //p' "$job/applied" | while IFS=$tab read -r knob _; do
        ! value_of "$knob" || echo "$knob$tab$value"
    done >"$job/set"
}

# judge: the plan of the workload is in force.
judge() {
    medians 0
    # shellcheck disable=SC2086
    if is_worse ${known#* } $figures; then
        if is_recent "${known%% *}" $((most + patience)); then
            refuse "${known#* }" "$figures"
        else
            compare_anew
        fi
    elif [ "$recheck" -gt 0 ] && [ $elapsed -ge $next ]; then
        compare_anew
    fi
}

# compare_anew: keep the figures of the plan, and measure the defaults.
compare_anew() {
    eval "own_$key='$elapsed $figures'"
    say "measuring $staying"
    put_all_back
    begin_defaults
}

# change_workload: another workload than that of the plan in force persists.
change_workload() {
    put_all_back
    if ! may_apply; then
        say "defaults $staying"
        begin_defaults
    elif [ "$recheck" -eq 0 ] && [ -n "$known" ] || is_recent "${known%% *}" "$gap"; then
        apply
    else
        say "measuring $staying"
        begin_defaults
    fi
}

begin_defaults() {
    in_force='' stayed=0
    forget_figures
}

# refuse DEFAULTS PLAN: undo the plan, whose figures are these, for now.
refuse() {
    next_gap refused
    again=never
    [ "$recheck" -eq 0 ] || again=$((elapsed + gap))
    eval "again_$key=$again"
    say "undone $staying $why $(shown "$1") $(shown "$2")"
    [ -z "$in_force" ] || put_all_back
    begin_defaults
}

# shown FIGURES: print rate and latency.
shown() {
    echo "${1% *}"
}

# next_gap VERDICT: set gap, which doubles while the verdict is the same.
next_gap() {
    if [ "$verdict" = "$1" ]; then gap=$((2 * gap)); else gap=$recheck; fi
    [ "$gap" -le $((32 * recheck)) ] || gap=$((32 * recheck))
    eval "gap_$key=$gap verdict_$key=$1"
}

# put_all_back: have the defaults in force. A knob that another program has set since keeps its value.
put_all_back() {
    [ ! -e "$job/set" ] || report_moved <"$job/set" >>"$job/said"
    restore "$job" restored >>"$job/said"
    rm -f "$job/set" "$job/others"
}
