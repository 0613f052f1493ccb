"""Record the captures of this folder: python make.py (root, on an idle machine).

Each is of a program that uses a loop device on a file in memory for a tenth of a second; scheduler
events are left out, and what concerns other disks.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import structs

from foreread.boards.target import LocalTarget
from foreread.tracer.backends.base import LOAD_EVENTS
from foreread.tracer.formats import capture as capture_files
from foreread.tracer.formats.packing import pack
from foreread.tracer.formats.seen import Seen
from foreread.tracer.machines import recorder_for
from foreread.tracer.runs.options import Ending, RunOptions
from foreread.tracer.runs.recording import RecordOptions

WINDOW_KB, SECONDS = 128, 0.1
EVENTS = tuple(event for event in LOAD_EVENTS if not event.startswith("sched:sched_"))
AT_RANDOM = """
import mmap, os, random, sys
disk = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
pages, page = os.lseek(disk, 0, os.SEEK_END) // 4096, mmap.mmap(-1, 4096)
while True:
    os.preadv(disk, [page], random.randrange(pages) * 4096)
"""
PROGRAMS = {
    "direct": "while :; do dd if={disk} of=/dev/null bs=128k iflag=direct; done",
    "cached": "while :; do dd if={file} iflag=nocache count=0; cat {file} >/dev/null; done",
    "writer": "while :; do dd if=/dev/zero of={file}.new bs=64k count=64 conv=fsync; done",
    "random": f"{sys.executable} -I -S -c '{AT_RANDOM}' {{disk}}",
}


def run(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@contextmanager
def mounted_disk() -> Iterator[tuple[str, Path]]:
    """Yield a loop device, and a file in its file system."""
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm")))
        image, top = place / "image", place / "mounted"
        top.mkdir()
        run("truncate", "-s", "96M", image)
        run("mkfs.ext4", "-q", "-F", image)
        disk = run("losetup", "--find", "--show", image)
        stack.callback(run, "losetup", "--detach", disk)
        run("mount", disk, top)
        stack.callback(run, "umount", "--lazy", top)
        file = top / "file"
        file.write_bytes(os.urandom(32 << 20))
        run("sync", "-f", file)
        Path(f"/sys/block/{Path(disk).name}/queue/read_ahead_kb").write_text(str(WINDOW_KB))
        yield disk, file


def record(name: str, disk: str, file: Path, output: Path) -> None:
    """Record a program, and keep what concerns its disk."""
    words = ["sh", "-c", PROGRAMS[name].format(disk=disk, file=file)]
    options = RecordOptions(
        RunOptions(["sleep", "60"], Ending(duration_s=SECONDS)),
        events=EVENTS,
        wait_s=600.0,
        foreread="0.1.0",
        words=("--load", "100ms"),
        note_mapped=False,
        is_load=True,
    )
    with subprocess.Popen(words, stderr=subprocess.DEVNULL, start_new_session=True) as program:
        try:
            with recorder_for(LocalTarget(), "tracefs").run(options, output) as made:
                made.name_files(Seen())
        finally:
            os.killpg(program.pid, signal.SIGKILL)
    capture, _ = capture_files.read(output)
    (device,) = [each for each in capture.devices if each.name == Path(disk).name]
    host = structs.replace(capture.host, nodename="", cpu_model="", kernel_options={})
    mounts = [each for each in capture.mounts if each.source == disk]
    mounts = [structs.replace(each, mountpoint="/mnt") for each in mounts]
    kept = {"devices": [device], "mounts": mounts, "stacks": [], "host": host, "notes": []}
    capture_files.write(output, structs.replace(capture, cwd="/", **kept), [])


def main() -> None:
    here = Path(__file__).parent
    with mounted_disk() as (disk, file), tempfile.TemporaryDirectory() as scratch:
        for name in sys.argv[1:] or PROGRAMS:
            record(name, disk, file, Path(scratch) / name)
            (here / f"{name}.capture.tar.xz").unlink(missing_ok=True)
            pack(Path(scratch) / name, here / f"{name}.capture.tar.xz", "x:xz")


if __name__ == "__main__":
    main()
