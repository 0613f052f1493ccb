"""Roots without a block device: 9p, virtiofs and UBIFS on nandsim, with Debian's generic kernel.

Every window of the board is set to 0 and to 4 MiB in turn: the one that changes how many pages a
read brings in must be the one that foreread names, or none if it names none. UBIFS has one, and
sets it to 0: a program would wait for each page of it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from guest_stacks import with_libraries
from named_recordings import record_named_on
from waiting import left_s, wait_until

import foreread
from foreread.analyzer.ingest.load import load
from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions

MEMORY_MIB = 700
VIRTIOFSD = ("/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd")
BROUGHT = ("ubiattach", "ubimkvol")
# The compressors that UBIFS asks for when it is loaded: a board has no modprobe then.
UBIFS = ("deflate", "zstd", "ubi", "ubifs")
FILE_PAGES, READ_PAGES = 512, 64
HERE = "/mnt/stack"
TOOLS = "/run/tools"
RUN = f"{TOOLS}/ld-linux-x86-64.so.2 --library-path {TOOLS} {TOOLS}"
INSERTED = "/sys/kernel/tracing/events/filemap/mm_filemap_add_to_page_cache"

pytestmark = [
    pytest.mark.boards,
    pytest.mark.thorough,
    pytest.mark.skipif(
        not any(Path(one).exists() for one in VIRTIOFSD)
        or any(shutil.which(one, path="/usr/sbin:/usr/bin") is None for one in BROUGHT),
        reason="virtiofsd, ubiattach or ubimkvol missing: no share and no UBIFS was read",
    ),
]


@dataclass(frozen=True)
class Share:
    """How a file system is mounted; ``knob``: the one that foreread names, "" if none.

    ``off`` is one that the file system itself has set to 0.
    """

    mount: str
    knob: str
    says: str
    action: str = ""
    off: str = ""


_9P = f"mount -t 9p -o trans=virtio,version=9p2000.L,ro,{{}} share {HERE}"
SHARES = {
    "9p-loose": Share(
        _9P.format("cache=loose"),
        r"/sys/class/bdi/9p-\d+/read_ahead_kb",
        "window is of the 9p mount",
    ),
    "9p-uncached": Share(_9P.format("cache=none"), "", "9p without a cache asks its server"),
    "virtiofs": Share(
        f"mount -t virtiofs share2 {HERE}",
        r"/sys/class/bdi/0:\d+/read_ahead_kb",
        "window is of the virtiofs mount",
    ),
    "ubifs": Share(
        f"mount -t ubifs -o ro ubi0:files {HERE}",
        "",
        "UBIFS reads one page at a time",
        action="none",
        off="/sys/class/bdi/ubifs_0_0/read_ahead_kb",
    ),
}


@pytest.fixture(scope="module")
def board(tmp_path_factory) -> Iterator[EmulatedTarget]:
    folder = tmp_path_factory.mktemp("share")
    shared = folder / "shared"
    shared.mkdir()
    (shared / "file").write_bytes(b"x" * 4096 * FILE_PAGES)
    socket = folder / "socket"
    program = next(one for one in VIRTIOFSD if Path(one).exists())
    words = [program, f"--socket-path={socket}", "-o", f"source={shared}", "-o", "sandbox=chroot"]
    options = LiveOptions(
        "x86_64",
        kernel="6.12-generic",
        latency_ns=1000,
        ns_per_kib=10,
        memory_mib=MEMORY_MIB,
        modules=("9p", "9pnet_virtio", "nandsim", *UBIFS),
        qemu=(
            *("-fsdev", f"local,id=share,path={shared},security_model=none,readonly=on"),
            *("-device", "virtio-9p-pci,fsdev=share,mount_tag=share"),
            *("-object", f"memory-backend-memfd,id=mem,size={MEMORY_MIB}M,share=on"),
            *("-numa", "node,memdev=mem", "-chardev", f"socket,id=fs,path={socket}"),
            *("-device", "vhost-user-fs-pci,chardev=fs,tag=share2"),
        ),
    )
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as server:
        try:
            wait_until(socket.exists)
            with EmulatedTarget(options) as target:
                set_up(target, shared / "file")
                yield target
        finally:
            server.terminate()


def set_up(target: EmulatedTarget, file: Path) -> None:
    """Bring the tools of UBI, and fill a volume on the simulated NAND."""
    shell(target, f"mkdir -p {HERE} {TOOLS}")
    for one in sorted({path for name in BROUGHT for path in with_libraries(name)}):
        target.push(Path(one), f"{TOOLS}/{Path(one).name}")
    target.push(file, "/root/file")
    shell(
        target,
        f"chmod +x {TOOLS}/* && {RUN}/ubiattach -m 0 && {RUN}/ubimkvol /dev/ubi0 -N files -s 16MiB "
        f"&& mount -t ubifs ubi0:files {HERE} && cp /root/file /bin/busybox {HERE} && sync "
        f"&& umount {HERE}",
    )


def shell(target: EmulatedTarget, line: str) -> str:
    done = target.run(["sh", "-c", line], timeout_s=left_s())
    assert done.status == 0, (line, done.stderr)
    return done.stdout.decode()


@pytest.mark.parametrize("name", SHARES)
def test_the_window_that_counts_is_the_one_that_foreread_names(board, name, tmp_path):
    share = SHARES[name]
    shell(board, share.mount)
    try:
        # Where the program is, too: a start that reads two disks has no verdict on one of them.
        program = (f"{HERE}/busybox", "dd") if share.action else ("dd",)
        capture = recorded(board, tmp_path / "capture", program)
        (stack,) = [one for one in capture.stacks if one.mountpoint == HERE]
        assert re.fullmatch(share.knob, stack.knob), stack
        assert share.says in (stack.unknown or "; ".join(stack.facts))
        if share.action:
            verdict = foreread.predict(load(tmp_path / "capture")).verdict
            assert verdict.action == share.action, verdict
            assert share.says in verdict.why
            assert verdict.remedy.startswith("foreread prefetch")
        if share.off:
            assert shell(board, f"cat {share.off}").strip() == "0"
        knobs = shell(board, "ls /sys/class/bdi/*/read_ahead_kb").split()
        assert changing(board, knobs) == [one for one in (stack.knob, share.off) if one]
    finally:
        shell(board, f"umount {HERE}")


def recorded(board, output, program):
    words = [*program, f"if={HERE}/file", "of=/dev/null", "bs=4k", f"count={READ_PAGES}"]
    options = RecordOptions(RunOptions(words, allow_warm=True))
    return record_named_on(board, options, output)


def changing(board, knobs):
    """Return the knobs that alone change how many pages of the file a read brings in."""
    none = brought(board, knobs, "")
    return [one for one in knobs if brought(board, knobs, one) != none]


def brought(board, knobs, large):
    """Return how many pages come in for the first pages of the file; all windows but one are 0."""
    windows = "; ".join(f"echo {4096 if one == large else 0} >{one}" for one in knobs)
    read = f"dd if={HERE}/file of=/dev/null bs=4k count={READ_PAGES} 2>/dev/null"
    trace = shell(
        board,
        f"[ -d {INSERTED} ] || mount -t tracefs trace /sys/kernel/tracing; {windows}; "
        f"echo 3 >/proc/sys/vm/drop_caches; echo >/sys/kernel/tracing/trace; "
        f"printf 'ino %x\\n' $(stat -c %i {HERE}/file); echo 1 >{INSERTED}/enable; {read}; "
        f"echo 0 >{INSERTED}/enable; grep add_to_page_cache /sys/kernel/tracing/trace || true",
    )
    wanted, *lines = trace.splitlines()
    orders = (line.rpartition("order=")[2] for line in lines if f" {wanted} " in line)
    return sum(1 << int(order) for order in orders)
