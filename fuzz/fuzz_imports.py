"""Fuzz the readers of Perfetto traces, blktrace, text in all its forms, and lists of inodes.

    python fuzz/fuzz_imports.py SECONDS [SEED]

Mutates the fixtures; anything but a result or an error with a remedy is a finding. The input is in
``fuzz-out/imports/input`` when it is read, so that a crash leaves it there.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from foreread.analyzer.ingest.detect import open_trace
from foreread.analyzer.ingest.inode_list import read_inodes
from foreread.analyzer.ingest.recording import Trace, TraceError
from foreread.tracer.formats.capture import CaptureError
from foreread.tracer.formats.limits import LimitError
from fuzz.fuzz_ftrace import changed, try_to_read

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests/analyzer/ingest/data"
SEEDS = (
    "perfetto/start.pftrace",
    "perfetto/compressed.pftrace",
    "perfetto/sched.pftrace",
    "blktrace/start.bin",
    "blktrace/start.blktrace.0",
    "blktrace/blkparse.txt",
    "brought/blkparse.txt",
    "perf/file.script.txt",
    "perf/mixed.script.txt",
    "brought/draft-format.txt",
    "brought/legacy-systrace.html",
    "brought/pages-of-16-kib.txt",
    "forms/kernel/clock-counter.txt",
    "forms/kernel/fields.txt",
    "forms/kernel/latency.txt",
    "forms/kernel/verbose.txt",
    "forms/perf/deltatime.txt",
    "forms/perf/symbols.txt",
    "foreign/overrun.pftrace",
    "foreign/overwritten.txt",
    "foreign/ra-events.txt",
    "foreign/stacked.txt",
)
LISTED = "foreign/by-task.pftrace"
# The inode of LISTED and others, by find and as a capture's files.json has it.
LISTS = (
    b"65030 30080 163840 /system/lib64/lib a.so\n65030 1 7 /b\n65030 30080 9 /c\nd\n",
    b"65030 30080 163840 /system/lib.so\0" + b"1 18446744073709551615 0 /b\nc\0",
    b'[{"dev": "254:6", "ino": 30080, "path": "/system/lib.so", "size_bytes": 163840}]',
)
OUT = ROOT / "fuzz-out/imports"


def try_to_list(path: Path, trace: Trace) -> bool:
    """Return whether ``path`` could be read as a list of the trace's inodes."""
    try:
        read_inodes(path, trace)
    except (TraceError, LimitError, CaptureError) as error:
        assert str(error) and error.remedy
        return False
    return True


def main() -> None:
    """Run until the time is over, and print how many inputs were read and refused."""
    listed = open_trace(DATA / LISTED)
    end = time.monotonic() + float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns()
    random_ = random.Random(seed)
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "seed").write_text(f"{seed}\n")
    read = refused = 0
    while time.monotonic() < end:
        source = random_.choice((*SEEDS, *LISTS))
        is_list = isinstance(source, bytes)
        data = source if is_list else (DATA / source).read_bytes()
        (OUT / "input").write_bytes(changed(data, random_))
        if try_to_list(OUT / "input", listed) if is_list else try_to_read(OUT / "input"):
            read += 1
        else:
            refused += 1
    print(f"seed {seed}: {read} inputs read, {refused} refused")


if __name__ == "__main__":
    main()
