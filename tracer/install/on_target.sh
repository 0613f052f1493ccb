#!/bin/sh
# The board's part of an installation; busybox ash runs it from its standard input. Paths are
# absolute. A new file is first written as .NAME.foreread-new beside its place (init systems ignore
# such names); the file it replaces is kept as .NAME.foreread-old until all new files are in place.
# The manifest comes first in every list. Its new file is made before all others and moved into place
# before all others: from then on the installation is made, and after a power cut it is finished.
set -u
export LC_ALL=C

# Set $new and $old, the names beside the place of $1.
beside() {
	new=${1%/*}/.${1##*/}.foreread-new
	old=${1%/*}/.${1##*/}.foreread-old
}

is_there() { [ -e "$1" ] || [ -h "$1" ]; }

# look DIRECTORY... -- PATH...: print facts about the board, one per line.
look() {
	echo "exe $(readlink /proc/1/exe)"
	while [ "$1" != -- ]; do
		real=$(cd "$1" 2>/dev/null && pwd -P) && echo "directory $1 $real"
		shift
	done
	shift
	for path; do
		[ ! -e "$path" ] || echo "has $path"
	done
	while read -r line; do
		echo "mount $line"
	done </proc/self/mountinfo
}

# states PATH...: print a line for each: absent, file, other, or link and where to.
states() {
	for path; do
		if [ -h "$path" ]; then
			echo "link $(readlink "$path")"
		elif [ -f "$path" ]; then
			echo file
		elif [ -e "$path" ]; then
			echo other
		else
			echo absent
		fi
	done
}

# prepare PATH...: make the directories of the paths, and print the ones that were missing.
prepare() {
	discard "$@"
	made=''
	for path; do
		make_directory "${path%/*}" && continue
		# shellcheck disable=SC2086 # foreread's own paths: no word of them has a space
		[ -z "$made" ] || rmdir $made
		exit 1
	done
	# shellcheck disable=SC2086
	[ -z "$made" ] || printf '%s\n' $made
}

# Make a directory and its parents, and put those that were missing before $made.
make_directory() {
	[ -z "$1" ] || [ -d "$1" ] && return
	make_directory "${1%/*}" && mkdir -m 755 "$1" && made="$1 $made"
}

# links PATH TARGET ...: make new links under their temporary names.
links() {
	while [ $# -gt 0 ]; do
		beside "$1"
		ln -s "$2" "$new" || exit 1
		shift 2
	done
}

# discard PATH...: remove new and old files under their temporary names, the first last.
discard() {
	first=$1
	shift
	for path in "$@" "$first"; do
		beside "$path"
		rm -f "$new" "$new.part" "$old"
	done
}

# commit PATH... -- OBSOLETE...: move the new files into place, all or none, and remove the obsolete
# ones.
commit() {
	for path; do
		[ "$path" != -- ] || break
		beside "$path"
		! is_there "$path" || cp -P -p "$path" "$old" || exit 1
	done
	sync # a renamed file must not be empty after a power cut
	for path; do
		[ "$path" != -- ] || break
		beside "$path"
		mv -f "$new" "$path" && continue
		take_back "$@"
		exit 1
	done
	finish "$@"
}

# finish PATH... -- OBSOLETE...: move the new files that are left into place, and remove the obsolete
# ones. The old manifest, which names these, is removed last.
finish() {
	manifest=$1
	for path; do
		[ "$path" != -- ] || break
		beside "$path"
		! is_there "$new" || mv -f "$new" "$path" || exit 1
	done
	sync
	shift
	while [ "$1" != -- ]; do
		discard "$1"
		shift
	done
	shift
	[ $# -eq 0 ] || rm -f "$@"
	sync
	discard "$manifest"
}

take_back() {
	for path; do
		[ "$path" != -- ] || return
		beside "$path"
		if is_there "$old"; then
			mv -f "$old" "$path"
		else
			rm -f "$path"
		fi
	done
}

# remove PATH... -- DIRECTORY...: remove files and links, then empty directories.
remove() {
	while [ "$1" != -- ]; do
		rm -f "$1" || exit 1
		shift
	done
	shift
	for path; do
		rmdir "$path" 2>/dev/null
	done
	sync
}

"$@"
