#!/bin/sh
# foreread-prefetch LIST: reads the ranges of a prefetch list into the page cache, on a board
# without the program of the same name (foreread-prefetch.c), which is faster: this script starts a
# dd for each range and waits for it, and the kernel reads ahead after a range, by its window. It
# needs a POSIX shell with printf, and dd; those of busybox suffice.
#
# Files that are missing or are not regular files are skipped. The list is checked as it is read: a
# damaged line ends the replay with a message. At most half of the memory that is available is
# filled.
#
# Exit status: 0 done, even if files were missing; 1 the list cannot be read; 2 wrong usage.
set -u
export LC_ALL=C

refuse() {
	printf 'foreread-prefetch: %s:%s: %s\n' "$list" "$number" "$1" >&2
	exit 1
}

# Set $half to half of the available memory in KiB; kernels before 3.14 report only free memory.
find_memory() {
	half=0
	while read -r name kib _; do
		case $name in
		MemFree:) half=$((kib / 2)) ;;
		MemAvailable:)
			half=$((kib / 2))
			return
			;;
		esac
	done </proc/meminfo
}

# Set $path to the path that a word of the list encodes. \0 and three octal digits are a byte;
# printf's %b accepts other escapes, too.
find_path() {
	path=$1
	case $1 in
	*[!!-~]*) refuse 'a character that is not escaped' ;;
	*\\*) ;;
	*) return 0 ;;
	esac
	rest=$1
	while :; do
		case $rest in
		*\\*) rest=${rest#*\\} ;;
		*) break ;;
		esac
		case $rest in
		0000*) refuse 'a character that no name has' ;;
		0[0-3][0-7][0-7]*) ;;
		*) refuse 'a character that is not escaped' ;;
		esac
	done
	path=$(printf '%b.' "$1") # the dot keeps newlines that a name ends with
	path=${path%.}
}

check_number() {
	case $1 in
	'' | *[!0-9]* | 0?* | ???????????????????*) refuse 'no range: OFFSET LENGTH PATH' ;;
	esac
}

# dd can skip bytes, or blocks only.
read_range() { # OFFSET LENGTH
	if [ "$skips_bytes" = yes ]; then
		dd if="$path" of=/dev/null bs="$2" count=1 skip="$1" iflag=skip_bytes
	else
		dd if="$path" of=/dev/null bs=4096 count="$((($2 + 4095) / 4096))" skip="$(($1 / 4096))"
	fi </dev/null 2>/dev/null
}

read_ranges() {
	while read -r offset length name more; do
		number=$((number + 1))
		case $offset in
		[a-z]*) [ -n "$path" ] || continue ;;
		esac
		ranges=$((ranges + 1))
		[ "$ranges" -le 262144 ] || refuse 'more than 262144 ranges'
		check_number "$offset"
		check_number "$length"
		case $length in
		0 | ????????*) refuse 'a length out of range' ;;
		esac
		[ "$length" -le 2097152 ] || refuse 'a length out of range'
		[ -z "$more" ] || refuse 'no range: OFFSET LENGTH PATH'
		[ -z "$name" ] || find_path "$name"
		case $path in
		/*) ;;
		*) refuse 'no absolute path' ;;
		esac
		# Opening other files than regular ones may have side effects.
		[ -f "$path" ] || continue
		[ ! -h "$path" ] || continue
		half=$((half - (length + 1023) / 1024))
		[ "$half" -ge 0 ] || return 0
		read_range "$offset" "$length"
	done
	number=$((number + 1))
	[ -z "$offset" ] || refuse 'the end of the list is missing'
}

case ${1--} in
-*)
	echo 'usage: foreread-prefetch LIST' >&2
	exit 2
	;;
esac
list=$1
number=1
ranges=0
path=
offset=
[ -f "$list" ] || refuse 'not there'
find_memory
skips_bytes=no
! dd if=/dev/zero of=/dev/null bs=2 count=1 skip=1 iflag=skip_bytes 2>/dev/null || skips_bytes=yes
{
	read -r line || line=
	[ "$line" = 'foreread-prefetch 1' ] || refuse 'no prefetch list of version 1'
	read_ranges
} <"$list"
