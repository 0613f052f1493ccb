"""Other work on this machine while tests run: load, writes, mounts, and another foreread.

    python tests/torture/disturbance.py &

As root, until SIGTERM, Ctrl-C or the end of its parent; then all that it made is removed. The first
line says that everything runs, the last one counts. Needs stress-ng, busybox and mkfs.ext4.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parents[1])]

from loop_image import loop_image  # noqa: E402

from foreread.boards.base.guard import die_with_parent  # noqa: E402
from foreread.boards.base.scratch import scratch_folder  # noqa: E402

LOAD = ("stress-ng", "--quiet", "--cpu", "4", "--io", "2", "--hdd", "1")
MOUNTED_S = 3.0


def main() -> int:
    """Disturb until the end; 2 without what it needs."""
    missing = [one for one in ("stress-ng", "busybox", "mkfs.ext4") if shutil.which(one) is None]
    if missing or os.geteuid() != 0:
        print(f"run as root, with {', '.join(missing) or 'all rights'}", file=sys.stderr)
        return 2
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    die_with_parent(signal.SIGTERM)
    recordings, mounts = [0, 0], 0
    try:
        with scratch_folder("disturbance") as folder, _load(folder), _recorder(folder, recordings):
            print("load, mounts and recordings begin", flush=True)
            for mounts in _mounts(Path(folder)):  # noqa: B007  it is printed
                pass
    except KeyboardInterrupt:
        made, failed = recordings
        print(f"{mounts} mounts, {made} recordings, {failed} of them failed", flush=True)
    return 0


def _end(*_: object) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # the end is not interrupted
    raise KeyboardInterrupt


@contextmanager
def _load(folder: str) -> Iterator[None]:
    load = _start([*LOAD, "--temp-path", folder])
    try:
        yield
    finally:
        load.terminate()  # it ends its own processes
        load.wait()


@contextmanager
def _recorder(folder: str, made: list[int]) -> Iterator[None]:
    """Record without an end on a loop device, and count the recordings and those that failed."""
    ended = threading.Event()
    running: list[subprocess.Popen[bytes]] = []
    board = Path(folder, "board")
    board.mkdir()
    with loop_image(board) as loop:
        words = [sys.executable, "-m", "foreread", "record", "--wait", "3600", "--allow-warm"]
        words += ["-o", f"{folder}/capture", "--", str(loop.busybox), "cat", str(loop.data)]

        def record() -> None:
            while not ended.is_set():
                running[:] = [_start(words)]
                made[0] += 1
                made[1] += running[0].wait() != 0 and not ended.is_set()
                shutil.rmtree(f"{folder}/capture", ignore_errors=True)

        recorder = threading.Thread(target=record)
        recorder.start()
        try:
            yield
        finally:
            ended.set()
            for one in running:
                one.terminate()
            recorder.join()


def _mounts(folder: Path) -> Iterator[int]:
    """Mount an image and unmount it every three seconds; yield how often."""
    image, place = folder / "image", folder / "mounted"
    place.mkdir()
    image.touch()
    os.truncate(image, 16 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    for number in count(1):
        subprocess.run(["mount", "-o", "loop", image, place], check=True)
        try:
            yield number
            time.sleep(MOUNTED_S / 2)
        finally:
            subprocess.run(["umount", "--lazy", place], check=True)
        time.sleep(MOUNTED_S / 2)


def _start(words: list[str]) -> subprocess.Popen[bytes]:
    """Start a program that ends with this one."""
    null = subprocess.DEVNULL
    words = ["setpriv", "--pdeathsig", "TERM", *words]
    return subprocess.Popen(words, cwd=HERE.parents[1], stdin=null, stdout=null)


if __name__ == "__main__":
    sys.exit(main())
