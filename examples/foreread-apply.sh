#!/bin/sh
# foreread-apply sets the values below when this board boots, and puts the old ones back.
#
#   start      init calls it: set the values for the boot
#   boot-done  init calls it at the end of the boot: note that it ended, set the values again
#   stop       put the old values back (restart: stop, then start)
#   restore    put the old values back
#   status     show each knob; exit 0: all as wanted, 1: not all, 3: not started
#   dry-run    show what start would change, and why; exit 1: it cannot set everything here
#   reset      set the values again after boots that did not end
#
# A second word "force", or foreread=force on the kernel command line, skips the check of board and
# disk; foreread=off there sets nothing. It calls flock, rm, sync.

# shellcheck disable=SC2016 # a text from a trace may hold $(...), which must not expand
set -u

# ---- What to set, and on which board. An empty identity is not checked. ----
made_from='a run of app'
board_machine='aarch64'
board_kernel='6.1' # the release starts with it
board_model='Raspberry Pi 4 Model B' # of the CPU or the device tree
attempts='/etc/foreread-apply.attempts' # survives a power cut
most_attempts=2 # boots in a row that may end before boot-done
settings_id='68ed8513539e' # boots with other settings do not count

# disk NAME ATTRIBUTE=VALUE...: the disk of the knobs that follow; without attributes, by its name.
# knob PHASE KNOB VALUE REASON: PHASE is boot, after (the boot) or always.
settings() {
	disk 'mmcblk0' 'size=15269888' 'device/name=SD8GB'
	knob always 'queue/read_ahead_kb' '32' 'predicted best: 1.42 s in place of 1.61 s'
}

# ---- Messages and files ----
# To stderr and the kernel log. Under systemd, whose journal has stderr, not to the log; called as
# S05foreread, not to stderr, since the boot would wait for a serial console.
say() { # LEVEL MESSAGE
	if [ "$changing" = yes ] && [ -z "${INVOCATION_ID-}" ] && [ -w /dev/kmsg ]; then
		{ printf '<%s>foreread: %s\n' "$1" "$2" >>/dev/kmsg; } 2>/dev/null
		case ${0##*/} in S[0-9][0-9]*) return ;; esac
	fi
	printf 'foreread: %s\n' "$2" >&2
}
info() { say 6 "$1"; }
warn() { say 4 "$1"; }
read_line() { # set $line to a file's first line; the shell reads it, since cat would cost a process
	line=''
	{ read -r line <"$1"; } 2>/dev/null || [ -n "$line" ]
}

# ---- Another board is refused ----
is_this_board() {
	read_line /proc/sys/kernel/arch || line=$(uname -m) # Linux 6.1 has the file
	[ "${board_machine:-$line}" = "$line" ] || differs machine "$board_machine" || return
	read_line /proc/sys/kernel/osrelease
	case $line in
	"${board_kernel:-$line}" | "$board_kernel"[!0-9]*) ;;
	*) differs kernel "$board_kernel" || return ;;
	esac
	[ -z "$board_model" ] || has_model || differs model "$board_model"
}
differs() {
	warn "made for $1 '$2', and this is '$line': nothing is set unless forced"
	[ "$force" = yes ]
}
has_model() {
	read_line /proc/device-tree/model && [ "$line" = "$board_model" ] && return
	read_line /proc/device-tree/compatible
	case $line in *"$board_model"*) return ;; esac
	while read -r line; do
		case $line in *": $board_model") return ;; esac
	done 2>/dev/null </proc/cpuinfo
	line='another model'
	return 1
}

# ---- A renamed disk is found, another disk is skipped ----
# Set $disk to the directory of the disk: by its name if its attributes fit, else of the only disk
# that they fit. Without one, to words: the knobs below it are absent.
disk() { # NAME ATTRIBUTE=VALUE...
	place=$1 disk=/sys/block/$1
	shift
	if has "$disk" "$@" || [ "$force" = yes ] && [ -d "$disk" ]; then return; fi
	alike=''
	for disk in /sys/block/*; do
		[ $# = 0 ] || ! has "$disk" "$@" || alike="$alike $disk"
	done
	case $alike in
	'') disk="(no disk like $place $*)" ;;
	' '*' '*) disk="(one of$alike)" ;;
	*) disk=${alike# } ;;
	esac
}
has() { # DIRECTORY ATTRIBUTE=VALUE...
	directory=$1
	shift
	for pair; do
		read_line "$directory/${pair%%=*}" && [ "$line" = "${pair#*=}" ] || return
	done
	[ -d "$directory" ]
}
# ---- A knob is set, and read back ----
# Call ACTION for each knob of a phase (any: of all), with $path and the words of the knob set. Old
# values have the $key of their knob, which stays when its disk gets another name.
for_each() { # PHASE ACTION
	phase=$1 action=$2
	settings
}
knob() { # PHASE KNOB VALUE REASON
	case $phase,$1 in any,* | *,always | boot,boot | after,after) ;; *) return ;; esac
	when=$1 path=$2 key=$2 wanted=$3 reason=$4
	case $2 in queue/* | read_ahead_kb) path=$disk/$2 key=$place/$2 ;; esac
	"$action"
}
# Set $current to a knob's value: of choices, to the one in brackets.
read_knob() {
	read_line "$path" || return
	current=${line#*\[} current=${current%%\]*}
}
write_knob() { # VALUE; the kernel may round it, refuse it, or ignore it
	before=$current
	{ printf '%s\n' "$1" >"$path"; } 2>/dev/null
	read_knob
	info "$path: $before -> $current$since"
}
set_knob() {
	if ! read_knob || ! find_saved; then
		warn "$path: absent, or could not be put back: skipped"
		return
	fi
	[ "$current" != "$wanted" ] || return 0
	write_knob "$wanted"
	[ "$current" = "$wanted" ] || warn "$path: asked for $wanted, the kernel has $line"
}

# ---- Old values are saved before the first change, and restored ----
# $saved has sections, from "begin" to "end BOOT", of lines "KEY VALUE". One without its end is of a
# run that was killed before it set anything, or of an earlier boot. "kept BOOT" ends what could not
# be put back.
load_saved() {
	known=$newline section='' started=no now=boot
	[ ! -f "$saved" ] || while read -r line; do
		case $line in
		begin) section='' ;;
		"end $boot") known=$known$section started=yes ;;
		"kept $boot") known=$newline$section started=no ;;
		*) section=$section$line$newline ;;
		esac
	done <"$saved"
}
find_saved() { # set $old to the value before the first start
	case $known in *"$newline$key "*) ;; *) return 1 ;; esac
	old=${known#*"$newline$key "} old=${old%%"$newline"*}
}
save_old_values() { # if that fails, nothing is set
	section=''
	for_each any collect
	[ -n "$section" ] || [ "$started" = no ] || return 0
	expected=$known$section
	{ printf '\nbegin\n%send %s\n' "$section" "$boot" >>"$saved"; } 2>/dev/null
	load_saved
	[ "$started,$known" != "yes,$expected" ] || return 0
	warn "$saved: cannot be written: nothing set, since stop could not restore it"
	return 1
}
collect() {
	find_saved || ! read_knob && return
	section="$section$key $current$newline"
}
# What cannot be put back, as on a disk that is unplugged, stays in $saved for another try.
restore() {
	lock 'try again later' || return
	[ "$known" != "$newline" ] || info 'no old values are saved: nothing to put back'
	for_each any put_back
	[ "$known" != "$newline" ] || { rm -f "$saved" && return; }
	printf '\nbegin%skept %s\n' "$known" "$boot" >>"$saved"
	warn "$saved keeps what could not be put back; to try again: foreread-apply restore"
	return 1
}
put_back() {
	find_saved || return 0
	read_knob || current=absent
	case $current in "$old" | absent) ;; *) write_knob "$old" ;; esac
	if [ "$current" != "$old" ]; then
		warn "$path: is $current, $old could not be put back"
		return
	fi
	known=${known%%"$newline$key "*}$newline${known#*"$newline$key $old$newline"}
}
# ---- One run at a time ----
# flock(1) takes flock(2) for the shell: the kernel ends it with the run, however that ends. Without
# the program runs do not wait for each other.
lock() { # WHAT-IF-NOT
	changing=yes
	[ -d "$run" ] || return 0
	exec 9<"$run"
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		if flock -n 0 <&9 || [ $? != 1 ]; then load_saved && return; fi
		sleep 0.5 || sleep 1
	done 2>/dev/null
	warn "another foreread-apply is at work: $1"
	return 1
}

# ---- A boot that hangs is not repeated ----
# $attempts outlasts the boot: "COUNT BOOT SETTINGS", the boots in a row that began with these
# settings, and the last of them. COUNT is 0 once that boot has reached boot-done.
read_attempts() {
	read_line "$attempts"
	began=0 last=${line#* } last=${last% *}
	case $line in [0-9]' '*" $settings_id" | [0-9][0-9]' '*" $settings_id") began=${line%% *} ;; esac
}
count_boots() { # COUNT
	[ "$boot" != unknown ] && { printf '%s %s %s\n' "$1" "$boot" "$settings_id" >"$attempts" &&
		sync "$attempts"; } 2>/dev/null && return
	warn "$attempts: cannot be written yet: this boot is not counted (script --state-dir DIR)"
	return 1
}
begin_attempt() { # fail if these settings must not be tried again
	read_attempts
	[ "$last" != "$boot" ] || return 0
	[ "$began" = 0 ] || warn "$began of $most_attempts boots in a row did not reach boot-done"
	if [ "$began" -ge "$most_attempts" ]; then
		warn 'the defaults stay; to try again: foreread-apply reset'
		return 1
	fi
	count_boots $((began + 1)) || : # a window cannot hang a boot
}
# ---- The commands ----
start() {
	trap 'exit 0' EXIT # whatever happens here, the boot goes on
	lock 'nothing set' && ! is_off && is_this_board || return
	begin_attempt || return
	save_old_values && for_each "$now" set_knob
}
is_off() {
	case $cmdline in *' foreread=off '*) info 'foreread=off: nothing is set' ;; *) return 1 ;; esac
}
boot_done() {
	trap 'exit 0' EXIT
	lock 'nothing set' && ! is_off && is_this_board || return
	read_attempts # a boot that left the defaults still counts
	if [ "$last" = "$boot" ] || [ "$began" -lt "$most_attempts" ]; then count_boots 0; fi
	[ "$started" = yes ] && save_old_values || return
	since=', at the end of the boot: not set at its start, or set by something else since'
	for_each "$now" set_knob
}
show() {
	read_knob || complete=no current=absent
	verdict="-> $wanted" was=''
	if [ "$current" = "$wanted" ]; then verdict='as wanted'; else holds=no; fi
	! find_saved || was="; before: $old"
	printf '%s: %s %s (%s; %s%s)\n' "$path" "$current" "$verdict" "$when" "$reason" "$was"
}
look() { # PHASE
	printf 'made from: %s\n' "$made_from"
	read_attempts
	[ "$last" = "$boot" ] || [ "$began" = 0 ] || printf '%s of %s boots in a row did not reach %s\n' \
		"$began" "$most_attempts" 'boot-done; to try again: foreread-apply reset'
	for_each "$1" show
}
status() {
	look "$now"
	case $started$holds$complete in yesyesyes) return 0 ;; yes*) return 1 ;; esac
	[ "$known" = "$newline" ] || printf 'stop could not put everything back\n'
	printf 'not started\n'
	return 3
}

newline='
'
since='' changing=no force=no holds=yes complete=yes
run=/run # old values are kept in memory; a board without /run has /dev
[ -w /run ] && [ ! -e /dev/foreread.saved ] || run=/dev
saved=$run/foreread.saved
read_line /proc/cmdline
cmdline=" $line "
case $cmdline${2-} in *' foreread=force '* | *' force') force=yes ;; esac
read_line /proc/sys/kernel/random/boot_id
boot=${line:-unknown}
load_saved

case ${1-} in
start) start ;;
boot-done) boot_done ;;
stop | restore) restore ;;
restart | reload) restore || : && start ;;
reset) count_boots 0 && info 'the next start sets the values again' ;;
status) status ;;
dry-run)
	is_off
	is_this_board || complete=no
	look any
	[ "$complete" = yes ]
	;;
*)
	warn 'usage: foreread-apply start|boot-done|stop|restart|restore|status|dry-run|reset'
	exit 2
	;;
esac
