"""Decode a perf.data file: foreread against ``perf script``, in the same run. Prints JSON.

    python bench/decode_perf.py                 # records one first (root, perf, 2 GB of /dev/shm)
    python bench/decode_perf.py --make FILE     # the same, and keeps it
    python bench/decode_perf.py FILE            # any perf.data with foreread's events

The recording copies part of /usr into an ext4 image in memory, sets its read_ahead_kb to 0, and
records foreread's events over all CPUs while find, cat and tar read it cold.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from foreread.analyzer.ingest import perfdata
from foreread.analyzer.ingest.spec import EVENT_SPECS

IMAGE_MIB = 2048
SOURCES = ("/usr/lib", "/usr/share")
COPY_BYTES = 1600 << 20


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def fill(mount: Path) -> None:
    """Copy regular files until the image holds enough."""
    left = COPY_BYTES
    for source in SOURCES:
        for path in sorted(p for p in Path(source).rglob("*") if p.is_file()):
            size = path.stat().st_size
            if path.is_symlink() or size > left:
                continue
            target = mount / path.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            left -= size + 4096


@contextmanager
def image(fill: Callable[[Path], None] = fill) -> Iterator[Path]:
    """Mount an ext4 image that lies in memory, filled; everything is undone at the end."""
    scratch = Path(tempfile.mkdtemp(prefix="foreread-bench-", dir="/dev/shm"))
    mount = scratch / "mount"
    mount.mkdir()
    disk = scratch / "disk.img"
    with disk.open("wb") as file:
        file.truncate(IMAGE_MIB << 20)
    run("mkfs.ext4", "-q", "-m", "0", str(disk))
    loop = run("losetup", "--find", "--show", str(disk))
    try:
        run("mount", loop, str(mount))
        fill(mount)
        run("umount", str(mount))
        knob = Path("/sys/block", Path(loop).name, "queue", "read_ahead_kb")
        knob.write_text("0")
        run("mount", "-o", "ro", loop, str(mount))  # cold: the first mount's pages are gone
        yield mount
        if int(knob.read_text()) != 0:
            sys.exit(f"something else changed {knob} meanwhile: record again")
    finally:
        subprocess.run(["umount", str(mount)], check=False, capture_output=True)
        subprocess.run(["losetup", "-d", loop], check=False)
        shutil.rmtree(scratch)


def make(path: Path) -> None:
    listed = run("perf", "list", "tracepoint")
    available = [event for event in EVENT_SPECS if f" {event} " in listed]
    options = [word for event in available for word in ("-e", event)]
    with image() as mount:
        load = (
            f"find {mount} -name nothing; cat {mount}/usr/lib/python3*/*.py >/dev/null; "
            f"tar -C {mount} -cf - . | cat >/dev/null"
        )
        run(
            "perf",
            "record",
            "-q",
            "-a",
            "-k",
            "mono",
            "-m",
            "8192",
            "-o",
            str(path),
            *options,
            "--",
            "sh",
            "-c",
            load,
        )
    with path.open("rb") as file:
        os.fsync(file.fileno())  # writing it back is not a part of decoding


def seconds(action: Callable[[], object], repeat: int) -> list[float]:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return times


def perf_script(path: Path) -> int:
    with subprocess.Popen(
        ["perf", "script", "--ns", "-i", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        count = 0
        while block := process.stdout.read(1 << 20):
            count += block.count(b"\n")
    return count


def process_seconds(path: Path) -> list[float]:
    """Wall time of a new process that reads the file: start of Python and imports included."""
    code = (
        "import sys; from pathlib import Path; from foreread.analyzer.ingest import perfdata; "
        "perfdata.read(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", code, str(path)]
    return seconds(lambda: subprocess.run(command, check=True), 5)


def compare(path: Path, repeat: int, peer_repeat: int) -> dict[str, object]:
    trace = perfdata.read(path)
    events = trace.events.rows
    ours = seconds(lambda: perfdata.read(path), repeat)
    lines = perf_script(path)
    peers = seconds(lambda: perf_script(path), peer_repeat)
    rate = events / statistics.median(ours)
    peer_rate = lines / statistics.median(peers)
    return {
        "events": events,
        "lost": sum(trace.lost.values()),
        "bytes": path.stat().st_size,
        "machine": f"{platform.release()}, {os.cpu_count()} CPUs",
        "perf": run("perf", "--version"),
        "foreread_seconds": [round(s, 4) for s in ours],
        "foreread_million_events_per_s": round(rate / 1e6, 2),
        "foreread_process_seconds": [round(s, 3) for s in process_seconds(path)],
        "perf_script_lines": lines,
        "perf_script_seconds": [round(s, 3) for s in peers],
        "perf_script_million_events_per_s": round(peer_rate / 1e6, 3),
        "ratio": round(rate / peer_rate, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="perf.data: foreread against perf script")
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--make", action="store_true", help="record FILE first")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--peer-repeat", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="foreread-bench-") as scratch:
        path = arguments.file or Path(scratch) / "perf.data"
        if arguments.make or arguments.file is None:
            make(path)
        result = compare(path, arguments.repeat, arguments.peer_repeat)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
