#!/bin/sh
# Runs at a board's console for foreread: reads checksummed lines, runs commands, and answers in
# checksummed blocks, since a console loses bytes and the kernel writes in between. $0: the mark
# that begins all answers; $1: md5sum or another one; $2: bytes in a block; $3: the number of the
# last line; $4: how the terminal was set
#
# A line is "SUM NUMBER VERB PAYLOAD"; SUM is that of the rest. After an invalid line the last
# answer is repeated; no number is executed twice.
set -f
mark=$0 sum=$1 size=$2 last=$3 saved=$4 dir='' pulse='' timed=''
exec 3<&0

for place in "${TMPDIR:-/tmp}" /run /dev/shm /var/tmp /dev; do
    dir=$place/foreread-$mark
    mkdir -m 700 "$dir" 2>/dev/null && break
    dir=''
done
[ "$dir" ] || {
    echo "$mark! no writable directory"
    exit 1
}
leave() {
    [ -z "$pulse" ] || kill "$pulse" 2>/dev/null
    rm -rf "$dir"
    # shellcheck disable=SC2086  # words of stty -g
    [ -z "$saved" ] || stty $saved
    echo "$mark."
}
trap leave EXIT
trap 'exit 1' HUP INT TERM
stty icanon isig -echo 2>/dev/null
: >"$dir/script"
: >"$dir/input"
: >"$dir/waiting"

# Use only programs that pass a test: applets of the same name differ.
if [ "$(printf 'ok' | base64 2>/dev/null)" = b2s= ]; then
    form=base64
    encode() { base64; }
elif [ "$(printf 'ok' | uuencode -m x 2>/dev/null | sed '1d;$d' 2>/dev/null)" = b2s= ]; then
    form=base64
    encode() { uuencode -m x | sed '1d;$d'; }
elif [ "$(printf 'ok' | hexdump -v -e '1/1 "%02x"' 2>/dev/null)" = 6f6b ]; then
    form=hex
    encode() { hexdump -v -e '1/1 "%02x"'; }
elif [ "$(printf 'ok' | od -An -v -tx1 2>/dev/null)" = ' 6f 6b' ]; then
    form=hex
    encode() { od -An -v -tx1; }
else
    echo "$mark! none of base64, uuencode, hexdump and od"
    exit 1
fi
# Compression reduces a trace, and its transfer time, to a fifth.
squeezed=raw
[ "$(printf 'ok' | gzip -c 2>/dev/null | gzip -d -c 2>/dev/null)" != ok ] || squeezed=gzip
# If the host is gone, return the console to the user after five minutes.
# shellcheck disable=SC3045  # shells without it report an error
read -r -t 1 _ </dev/null 2>/dev/null
[ $? -gt 1 ] || timed='-t 300'

# Reports that the board is alive while a command prints nothing.
beat() {
    trap 'kill $nap; exit' TERM
    while kill -0 $$; do
        sleep 5 &
        nap=$!
        wait $nap
        [ ! -s "$dir/waiting" ] || echo "$mark-"
    done
}

# shellcheck disable=SC2086,SC2229  # two words or none
hear() { IFS= read -r $timed line <&3; }
say() { printf '%s\n' "$answer"; }

# The sum of a text. A here-document needs one process less than a pipe; processes are expensive
# here.
sum_of() {
    check=$(
        $sum <<end
$1
end
    )
    check=${check%% *}
}

# Sends stdin block by block; each waits until the host confirms it. Only long data are compressed.
send() {
    block=0 kind=raw
    while
        echo yes >"$dir/waiting"
        dd bs="$size" count=1 of="$dir/block" 2>/dev/null
        : >"$dir/waiting"
        [ -s "$dir/block" ]
    do
        case $kind in
            gzip) text=$(gzip -c <"$dir/block" | encode) ;;
            *) text=$(encode <"$dir/block") ;;
        esac
        text="$number $1 $block $kind
$text"
        sum_of "$text"
        answer="$mark< $check
$text
$mark>"
        while
            say
            hear || exit
            [ "$line" != "$number $1 $block" ]
        do :; done
        block=$((block + 1)) kind=$squeezed
    done
}

run() {
    echo "$mark $number"
    beat 2>/dev/null &
    pulse=$!
    # Both outputs are pipes, as programs expect that open /dev/stderr.
    {
        {
            sh "$dir/script" <"$dir/input" 2>&1 >&4 3<&- 4>&-
            echo $? >"$dir/status"
        } | cat >"$dir/errors"
    } 4>&1 | send out
    [ ! -s "$dir/errors" ] || send err <"$dir/errors"
    kill $pulse
    pulse=''
    read -r status <"$dir/status"
    : >"$dir/script"
    : >"$dir/input"
    answer="$mark= $number $status $status"
}

obey() {
    answer="$mark $number"
    # shellcheck disable=SC2059  # the host escapes the payload for printf
    case $verb in
        script | input) printf "$payload" >>"$dir/$verb" || answer="$mark $number failed" ;;
        run)
            # The commands are at the end of the script.
            if printf "$payload" >>"$dir/script"; then run; else answer="$mark $number failed"; fi
            ;;
    esac
}

answer="$mark+ $form"
say
while hear; do
    [ "$line" != ': foreread-leave' ] || exit 0
    words=${line#* }
    sum_of "$words"
    number=${words%% *} rest=${words#* }
    verb=${rest%% *} payload=${rest#* }
    if [ "$check" = "${line%% *}" ] && [ "$number" = $((last + 1)) ]; then
        last=$number
        obey
    fi
    say
done
