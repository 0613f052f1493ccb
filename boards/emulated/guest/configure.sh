#!/bin/sh
# The first process of a board that only configures packages; runs in busybox ash from the
# initramfs. The root on the disk "image" is unpacked and has a dpkg database; what the maintainer
# scripts of PACKAGES change in it is written as an archive to the disk "result", whose member
# "end" proves that it is whole. BASE are packages that PACKAGES need configured first; their
# changes are not wanted, but for users and groups. NOW is the time in seconds.
set -u

fail() {
    echo "$*" >/out/failed
    finish
}

finish() {
    cd /out && : >end
    tar -cf "$(disk result)" . 2>/out/tar
    sync
    reboot -f
}

# in_root /PATH [WORD...]: by its path, or busybox would run its own program of that name.
in_root() {
    DEBIAN_FRONTEND=noninteractive DEBCONF_NONINTERACTIVE_SEEN=true HOME=/root LC_ALL=C \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot /app "$@"
}

# Files that scripts of packages have changed since /.began, without what dpkg keeps for itself.
list_changed() {
    in_root /usr/bin/find / -xdev -cnewer /.began ! -path / ! -path '/.*' ! -path '/var/lib/dpkg*' \
        ! -path '/var/cache/debconf*' ! -path '/var/log/*.log' ! -path /usr/sbin/policy-rc.d
    for file in /etc/passwd /etc/group /etc/shadow; do
        [ ! -e "/app$file" ] || echo "$file"
    done
}

export PATH=/bin
# shellcheck source=boards/emulated/guest/lib.sh
. /lib.sh
mount_kernel_file_systems
busybox date -s "@$NOW" >/dev/null
mount -t tmpfs -o size=256m out /out
load_modules disks
mount -t ext4 "$(disk image)" /app || fail "mount -t ext4"
mount -t proc proc /app/proc
mount -t devtmpfs dev /app/dev
mount -t tmpfs tmp /app/tmp
mount -t tmpfs run /app/run

# shellcheck disable=SC2086
in_root /usr/bin/dpkg --force-depends --configure $BASE </dev/null >/out/base 2>&1
sleep 1
: >/app/.began
sleep 1
# shellcheck disable=SC2086
in_root /usr/bin/dpkg --configure $PACKAGES </dev/null >/out/log 2>&1
# shellcheck disable=SC2016,SC2086
in_root /usr/bin/dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' $PACKAGES >/out/states 2>&1
list_changed | busybox sed 's,^/,,' >/out/names
in_root /usr/bin/tar --no-recursion --numeric-owner -C / -cf - -T - </out/names >/out/changed ||
    fail "cannot archive the changed files"
finish
