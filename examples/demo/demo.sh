#!/bin/sh
# The whole job on a real application: a Python interpreter and its library, copied into an ext4
# image, on a loop device whose reads are limited as slow flash would limit them. `foreread improve`
# records one cold run, predicts, measures the best remedy, tunes further settings on the idle board
# and beside a reader, and writes report and boot script.
#
# Usage: demo.sh [OUTPUT]     needs foreread in PATH, and root for the real thing
# Set BYTES_PER_S, REQUESTS_PER_S to change the board, RUNS for the tuning (0: none), SCENARIOS for
# what the start is tuned beside.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-demo-out}
BYTES_PER_S=${BYTES_PER_S:-20000000}
REQUESTS_PER_S=${REQUESTS_PER_S:-1000}
RUNS=${RUNS:-44}
SCENARIOS=${SCENARIOS:-idle reader}
IMPORTS=asyncio,email.mime.text,http.server,json,logging.config,sqlite3,unittest,xml.dom.minidom

say() {
    printf '\n== %s\n' "$*"
}

on_the_example() {
    say "Not on this machine: $1"
    echo "To allow it: $2"
    echo "Instead, the recorded capture in examples/ is used; nothing is measured here."
    start=$here/../python-start/python-start
    capture=$start.capture.tar.xz
    sweep=$start.sweep.json
    foreread predict "$capture"
    foreread report "$capture" "$sweep" -o "$out/report"
    rm -rf "${out:?}/boot"
    foreread script "$capture" -o "$out/boot"
    the_end
}

the_end() {
    say "Done. Report: $(cd "$out/report" && pwd)/index.html"
    [ ! -d "$out/boot" ] || echo "Boot script and its INSTALL.md: $(cd "$out/boot" && pwd)"
    exit 0
}

# --- the board: an image, a loop device, a limit -------------------------------------------

copy_with_libraries() {
    for file; do
        # ldd prints "name => /path (addr)" and "/path (addr)"; both paths are wanted.
        ldd "$file" 2>/dev/null | grep -o '/[^ ]*' || :
        echo "$file"
    done | sort -u | while read -r path; do
        mkdir -p "$root$(dirname "$path")"
        cp -L "$path" "$root$path"
    done
}

build_image() {
    python=$(readlink -f "$(command -v /usr/bin/python3 || command -v python3)")
    stdlib=$("$python" -I -c 'import os; print(os.path.dirname(os.__file__))')
    root=$work/root
    mkdir -p "$root$stdlib" "$root/tmp" "$root/dev"
    (cd "$stdlib" && tar cf - --exclude=test --exclude='*-packages' .) | (cd "$root$stdlib" && tar xf -)
    # shellcheck disable=SC2046  # names of shared objects in a library folder hold no spaces
    copy_with_libraries "$python" $(find "$stdlib/lib-dynload" -name '*.so')
    truncate -s 400M "$work/image"
    mkfs.ext4 -q -F -b 4096 -d "$root" "$work/image"
    rm -rf "$root"
}

limit_reads() {
    number=$(cat "/sys/block/${loop#/dev/}/dev")
    if [ -w /sys/fs/cgroup/blkio/blkio.throttle.read_bps_device ]; then
        group=/sys/fs/cgroup/blkio/foreread-demo-$$
        mkdir "$group"
        echo "$number $BYTES_PER_S" > "$group/blkio.throttle.read_bps_device"
        echo "$number $REQUESTS_PER_S" > "$group/blkio.throttle.read_iops_device"
    elif grep -qw io /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then
        echo +io > /sys/fs/cgroup/cgroup.subtree_control
        group=/sys/fs/cgroup/foreread-demo-$$
        mkdir "$group"
        echo "$number rbps=$BYTES_PER_S riops=$REQUESTS_PER_S" > "$group/io.max"
    else
        echo "no blkio (v1) or io (v2) cgroup controller: the device stays as fast as it is"
        return
    fi
}

# shellcheck disable=SC2317,SC2329  # called by the trap
clean_up() {
    trap - EXIT INT TERM
    if mountpoint -q "$work/mnt" && ! umount "$work/mnt"; then
        echo "demo: $work/mnt is busy; umount it, then remove $work" >&2
        return
    fi
    [ -z "${loop:-}" ] || losetup -d "$loop" || :
    # A group can be removed once its last process is gone.
    [ -z "${group:-}" ] || rmdir "$group" 2>/dev/null || { sleep 1; rmdir "$group"; } || :
    rm -rf "$work"
}

# --- the job -------------------------------------------------------------------------------

mkdir -p "$out"
[ "$(id -u)" = 0 ] || on_the_example "not root" "sudo make demo"
foreread doctor >/dev/null || on_the_example "nothing records here" "foreread doctor says how"

# In memory where there is room: the limit alone is to set the pace, not this machine's disk.
free_kib=$(df -k /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
[ "${free_kib:-0}" -lt 1000000 ] || TMPDIR=/dev/shm
work=$(mktemp -d "${TMPDIR:-/tmp}/foreread-demo.XXXXXX")
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say "Building the board: an ext4 image, $BYTES_PER_S B/s, $REQUESTS_PER_S requests/s"
build_image
loop=$(losetup --direct-io=on --find --show "$work/image") ||
    loop=$(losetup --find --show "$work/image") ||
    on_the_example "no loop device" "modprobe loop, or a container with loop devices"
mkdir "$work/mnt"
mount -o ro,noatime "$loop" "$work/mnt"
limit_reads

# The command joins the limited group, then becomes the application.
cat > "$work/start" <<EOF
#!/bin/sh
[ -z '${group:-}' ] || echo \$\$ > '${group:-}/cgroup.procs'
exec chroot '$work/mnt' '$python' -I -S -c 'import $IMPORTS'
EOF
chmod +x "$work/start"

out=$out/start
rm -rf "$out"
say "Improving the start: foreread improve"
set -- --tune "$RUNS" --genes scheduler,inode_readahead_blks,nr_requests
for scenario in $SCENARIOS; do
    set -- "$@" --scenario "$scenario"
done
[ "$RUNS" != 0 ] || set --
foreread improve --wait 300 -o "$out" "$@" -- "$work/start"
the_end
