# shellcheck shell=sh disable=SC2034
# Finds the rules, services and scripts of a machine that set a readahead window. `foreread doctor` and
# `foreread script --check` run it on the target. It changes nothing. Conditions of udev rules are evaluated as far as sysfs and udev's database allow; what
# remains open is printed with "may set".

newline='
'

# origins KNOB...: print "KNOB: SENTENCE" for each origin that is found, and if none is.
origins() {
    lacking=''
    for applet in grep sed sort tr; do
        "$applet" --help </dev/null >/dev/null 2>&1 # busybox's command -v knows applets without a link
        [ $? != 127 ] || lacking="$lacking $applet"
    done
    [ -n "$lacking" ] || collect
    for knob; do
        of_knob "$knob" || continue
        if [ -n "$lacking" ]; then
            echo "$knob: what sets it was not looked up, for want of programs:$lacking"
            continue
        fi
        any=no
        from_udev
        from_tuned
        from_texts
        case $uuid in
        LVM-*) report "LVM may set it when it activates the volume: lvs -o lv_read_ahead shows its value, lvchange --readahead SECTORS changes it" ;;
        esac
        [ "$any" = yes ] || echo "$knob: no udev rule, tuned profile, service or script here sets it, as far as foreread can find"
    done
}

report() {
    any=yes
    printf '%s: %s\n' "$knob" "$1"
}

# ---- The device of a window ---------------------------------------------------------------

first_line() {
    line=''
    { read -r line <"$1"; } 2>/dev/null || [ -n "$line" ]
}

# Set directory, name, subsystem, dev, uuid and environment (lines KEY=VALUE) of a window's device.
of_knob() {
    [ -r "$1" ] || return
    case $1 in
    /sys/block/*/queue/read_ahead_kb)
        directory=${1%/queue/*}
        subsystem=block
        ;;
    /sys/*/read_ahead_kb)
        directory=$(cd -P "${1%/*}" && pwd -P) || return
        subsystem=bdi
        ;;
    *) return 1 ;;
    esac
    name=${directory##*/}
    first_line "$directory/dm/uuid"
    uuid=$line
    dev=$name
    ! first_line "$directory/dev" || dev=$line
    case $subsystem in
    block) data=/run/udev/data/b$dev ;;
    bdi) data=/run/udev/data/+bdi:$dev ;;
    esac
    environment=$newline
    for file in "$directory/uevent" "$data"; do
        [ -r "$file" ] || continue
        while read -r line; do
            environment="$environment${line#E:}$newline"
        done <"$file"
    done
}

# ---- What the machine has -----------------------------------------------------------------

# Set rules to the files of udev that mention windows, in udev's order: a file in the first folder
# replaces those of its name in the others. Set texts to lines FILE:NUMBER:TEXT of all other files.
collect() {
    seen=' '
    libraries='/usr/lib /lib'
    [ ! -h /lib ] || libraries=/usr/lib
    rules=$(for folder in /etc /run /usr/local/lib $libraries; do
        for file in "$folder"/udev/rules.d/*.rules; do
            case "$file $seen" in *foreread* | *" ${file##*/} "*) continue ;; esac
            seen="$seen${file##*/} "
            ! grep -Eqs "$mentions" "$file" || echo "${file##*/} $file"
        done
    done | LC_ALL=C sort)
    texts=$({
        for folder in /etc /run $libraries; do
            set -- "$folder"/systemd/system/*.service
            sed -n 's/^Exec[A-Za-z]*=//p' "$@" /dev/null | tr ' ' '\n' |
                sed -n 's/^[-@:+!]*\(\/[A-Za-z0-9_./-]*\)$/\1/p' | sort -u |
                while read -r file; do in_script "$file"; done
            grep -rEns "$mentions" "$folder/systemd/system" "$folder/tmpfiles.d"
        done
        for file in /usr/local/bin/* /usr/local/sbin/*; do in_script "$file"; done
        grep -IrEns "$mentions" /etc /init*.rc /system/etc/init /vendor/etc/init /odm/etc/init \
            /product/etc/init /system_ext/etc/init /system/bin/*.sh /vendor/bin/*.sh \
            /vendor/etc/*.sh /system/etc/*.sh /system/etc/init.d /data/adb/service.d /data/adb/post-fs-data.d \
            /data/adb/modules/*/*.sh
    } 2>/dev/null | LC_ALL=C sort -u)
}

in_script() { # FILE
    first_line "$1"
    case $line in '#!'*) grep -Ens "$mentions" "$1" /dev/null ;; esac
}

mentions='read_ahead_kb|--setra|read_ahead_sect'

# Match a value with udev's patterns, "a|b".
matches() { # VALUE PATTERNS
    value=$1
    [ -n "$2" ] || { [ -z "$value" ] && return; }
    set -f
    IFS='|'
    # shellcheck disable=SC2086 # split at |
    set -- $2
    unset IFS
    set +f
    for pattern; do
        # shellcheck disable=SC2254 # patterns
        case $value in $pattern) return 0 ;; esac
    done
    return 1
}

# ---- udev ---------------------------------------------------------------------------------

from_udev() {
    while read -r _ file; do
        [ -n "$file" ] || continue
        rule='' number=0 skip_to=''
        while read -r line || [ -n "$line" ]; do
            number=$((number + 1))
            case $line in
            '#'*) continue ;;
            *\\)
                rule="$rule${line%?}"
                continue
                ;;
            esac
            judge "$rule$line"
            rule=''
        done <"$file"
    done <<EOF
$rules
EOF
}

# Evaluate one rule: report it if it sets the window, and follow its GOTO.
judge() {
    rest=$1 sure=yes goto='' sets='' kb=''
    while :; do
        case $rest in *\"*\"*) ;; *) break ;; esac
        key=${rest%%\"*} rest=${rest#*\"}
        word=${rest%%\"*} rest=${rest#*\"}
        key=${key#"${key%%[!, 	]*}"}
        case $key in
        LABEL*) [ "$word" != "$skip_to" ] || skip_to='' ;;
        esac
        [ -z "$skip_to" ] || continue
        case $key in
        *==* | *!=*) holds "${key%%[ =!]*}" "$word" ;;
        *)
            assign "${key%%[ =+:]*}" "$word"
            continue
            ;;
        esac
        case $?,$key in
        2,*) sure=no ;;
        0,*!=* | 1,*==*) return ;;
        esac
    done
    [ -z "$goto" ] || [ "$sure" = no ] || skip_to=$goto
    [ -z "$skip_to" ] || [ -n "$goto" ] || return
    [ -n "$sets" ] || return
    verb=sets
    [ "$sure" = yes ] || verb='may set'
    report "udev rule $file:$number $verb ${kb:-it}: change it there, or in a copy of the file in /etc/udev/rules.d; 99-zz-foreread.rules (foreread script) comes after it"
}

# holds KEY PATTERNS: whether the device has such a value; 2 if that cannot be known.
holds() {
    case $1 in
    KERNEL) matches "$name" "$2" ;;
    SUBSYSTEM) matches "$subsystem" "$2" ;;
    ACTION)
        actions=''
        ! matches add "$2" || actions=add
        ! matches change "$2" || actions=$actions,change
        case $actions in
        add,change) return 0 ;;
        '') return 1 ;;
        esac
        case $key$rest in *GOTO*) return 2 ;; esac
        case $key in *!=*) return 1 ;; esac
        ;;
    ENV*)
        attribute=${1#*\{}
        attribute=${attribute%\}*}
        case $attribute in .*) return 2 ;; esac
        value=${environment#*"$newline$attribute="}
        [ "$value" != "$environment" ] || value=''
        matches "${value%%"$newline"*}" "$2"
        ;;
    ATTR\{* | ATTRS\{*)
        attribute=${1#*\{}
        attribute=${attribute%\}*}
        from=$(cd -P "$directory" && pwd -P)
        while [ "${from#*/sys/}" != "$from" ]; do
            if first_line "$from/$attribute"; then
                ! matches "$line" "$2" || return 0
            fi
            case $1 in ATTR\{*) return 1 ;; esac
            from=${from%/*}
        done
        return 1
        ;;
    *) return 2 ;;
    esac
}

assign() { # KEY VALUE
    case $1,$2 in
    'ATTR{queue/read_ahead_kb}',* | 'ATTR{bdi/read_ahead_kb}',*) [ "$subsystem" = block ] || return ;;
    'ATTR{read_ahead_kb}',*) [ "$subsystem" = bdi ] || return ;;
    RUN*,*read_ahead_kb* | RUN*,*setra*)
        concerns "$2" || return
        sets=yes
        kb=$(value_in "$2")
        return
        ;;
    GOTO,*)
        goto=$2
        return
        ;;
    *) return ;;
    esac
    sets=yes
    kb="$2 KiB"
    case $2 in *[!0-9]* | '') kb="what its program prints ($2)" ;; esac
}

# ---- Lines of services and scripts --------------------------------------------------------

from_texts() {
    while read -r text; do
        file=${text%%:*} number=${text#*:}
        text=${number#*:} number=${number%%:*}
        text=${text#"${text%%[! 	]*}"}
        case $file in *.rules | *foreread* | */tuned/*.conf | *~ | *.dpkg-* | '') continue ;; esac
        case $text in
        '#'* | chmod\ * | chown\ * | restorecon\ * | chcon\ *) continue ;;
        *'>'* | *write\ * | *setra*) ;;
        *cat\ * | if\ \[* | \[\ * | *getra* | *'<'*read_ahead_kb*) continue ;;
        esac
        concerns "$text" || continue
        kb=$(value_in "$text")
        verb=sets
        [ "$open" = no ] || verb='may set'
        report "$file:$number $verb ${kb:-it} ($(printf '%.80s' "$text")): change or remove it there, or let foreread's value come after it"
    done <<EOF
$texts
EOF
}

# Whether a command names the window; open: only if a variable stands for its name.
concerns() {
    open=no
    case $1 in
    *read_ahead_kb*)
        path=${1%%read_ahead_kb*}
        path=${path##*[\"\' =(>]}
        case $path in *[$\`]* | / | '') open=yes ;; esac
        path=$(printf '%s\n' "$path" |
            sed 's/[$][{(][^})]*[})]/*/g; s/[$%][A-Za-z0-9_]*/*/g; s/.*\(block\/\)/\1/; s/.*\(bdi\/[^\/]\)/\1/')
        for path_of in "block/$name/queue/" "block/$name/bdi/" "bdi/$dev/" "block/$dev/queue/"; do
            # shellcheck disable=SC2254 # a pattern
            case $path_of in *$path) return 0 ;; esac
        done
        return 1
        ;;
    *setra*/dev/*)
        path=${1#*setra*/dev/}
        case ${path%%[ ;]*} in *[$]* | disk/*) open=yes ;; esac
        path=$(printf '%s\n' "${path%%[\"\' ;)]*}" | sed 's/[$%][{]*[A-Za-z0-9_]*[}]*/*/g')
        first_line "$directory/dm/name"
        for path_of in "$name" "block/$name" "mapper/$line"; do
            # shellcheck disable=SC2254 # a pattern
            case $path_of in $path) return 0 ;; esac
            case $path in "$path_of"[0-9]* | "$path_of"p[0-9]*) return 0 ;; esac
        done
        case $path in disk/*) return 0 ;; esac
        return 1
        ;;
    esac
    open=yes
    [ "$subsystem" = block ]
}

# Print the window that a command sets, in KiB, if it is a number.
value_in() {
    printf '%s\n' "$1" | sed -n \
        -e 's/.*--setra[ =]*\([0-9]\{1,9\}\).*/\1 sectors of 512 bytes/p' -e t \
        -e 's/.*read_ahead_sect[ =]*\([0-9]\{1,9\}\).*/\1 sectors of 512 bytes/p' -e t \
        -e "s/.*echo[^0-9>]*\([0-9]\{1,9\}\)[\"' ]*>.*/\1 KiB/p" -e t \
        -e 's/.*read_ahead_kb[^0-9]*\([0-9]\{1,9\}\)[^0-9]*$/\1 KiB/p'
}

# ---- tuned --------------------------------------------------------------------------------

from_tuned() {
    [ "$subsystem" = block ] && first_line /etc/tuned/active_profile || return 0
    profiles=$line
    while [ -n "$profiles" ]; do
        profile=${profiles%%[ ,]*}
        profiles=${profiles#"$profile"}
        profiles=${profiles#[ ,]}
        for file in /etc/tuned/profiles /etc/tuned /usr/lib/tuned/profiles /usr/lib/tuned; do
            file=$file/$profile/tuned.conf
            [ ! -r "$file" ] || break
        done
        [ -r "$file" ] || continue
        section='' number=0
        while read -r line; do
            number=$((number + 1))
            case $section,$line in
            *,\[*) section=$line ;;
            *,include=*) profiles="${line#include=} $profiles" ;;
            '[disk'*,readahead*=*)
                # plugin_disk.py: whole disks only, and none that stands on others
                case $name in dm-* | md* | loop* | zram* | ram*) continue ;; esac
                report "tuned profile $profile ($file:$number) sets it, $line, when tuned starts and for each new disk: give readahead in a profile of your own that includes it, then tuned-adm profile"
                ;;
            *read_ahead_kb*)
                concerns "${line%%read_ahead_kb*}read_ahead_kb" || continue
                report "tuned profile $profile ($file:$number) sets it, $line: set it in a profile of your own that includes it, then tuned-adm profile"
                ;;
            esac
        done <"$file"
    done
}
