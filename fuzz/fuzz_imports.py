"""Fuzz the readers of Perfetto traces, of blktrace and of text in all its forms from Python.

    python fuzz/fuzz_imports.py SECONDS [SEED]

Mutates the fixtures; anything but a result or an error with a remedy is a finding. The input is in
``fuzz-out/imports/input`` when it is read, so that a crash leaves it behind.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

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
)
OUT = ROOT / "fuzz-out/imports"


def main() -> None:
    """Run until the time is over, and print how many inputs were read and refused."""
    end = time.monotonic() + float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns()
    random_ = random.Random(seed)
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "seed").write_text(f"{seed}\n")
    read = refused = 0
    while time.monotonic() < end:
        source = DATA / random_.choice(SEEDS)
        (OUT / "input").write_bytes(changed(source.read_bytes(), random_))
        if try_to_read(OUT / "input"):
            read += 1
        else:
            refused += 1
    print(f"seed {seed}: {read} inputs read, {refused} refused")


if __name__ == "__main__":
    main()
