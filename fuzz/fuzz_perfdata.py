"""Fuzz the perf.data reader from Python: mutated golden files, read in this process.

    python fuzz/fuzz_perfdata.py SECONDS [SEED]

Anything but a Trace or a TraceError with a remedy is a finding. Each input is written to
``fuzz-out/perfdata/input`` before it is read, a directory of perf record --threads to
``fuzz-out/perfdata/directory``. fuzz/run.sh runs it over an extension built with
-fsanitize=address,undefined.
"""

from __future__ import annotations

import lzma
import random
import sys
import tarfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from foreread.analyzer.ingest import perfdata  # noqa: E402
from foreread.analyzer.ingest.recording import TraceError  # noqa: E402
from foreread.tracer.formats.limits import LimitError  # noqa: E402

GOLDEN = ROOT / "tests/analyzer/ingest/data/perf"
BROUGHT = ROOT / "tests/analyzer/ingest/data/brought"
INPUT = ROOT / "fuzz-out/perfdata/input"
DIRECTORY = ROOT / "fuzz-out/perfdata/directory"
EDGES = (0, 1, 7, 8, 0x7F, 0x80, 0xFF)


def mutated(chance: random.Random, seeds: list[bytes]) -> bytes:
    """Return a seed with bytes changed, words set to extremes, or parts cut, copied, dropped."""
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.randint(1, 6)):
        # headers, attributes and pipe records lie in the first part
        limit = len(data) if chance.random() < 0.5 else min(len(data), 6000)
        at, width = chance.randrange(max(limit, 1)), chance.choice((1, 2, 4, 8, 64))
        kind = chance.randrange(6)
        if kind == 0:
            data[at : at + 1] = bytes([chance.randrange(256)])
        elif kind == 1:
            data[at : at + width] = bytes([chance.choice(EDGES)]) * width
        elif kind == 2:
            data[at : at + 8] = chance.randrange(1 << 16).to_bytes(8, "little")
        elif kind == 3:
            data = data[:at] if chance.random() < 0.3 else data
        elif kind == 4:
            source = chance.randrange(len(data) + 1)
            data[at : at + width] = data[source : source + width]
        else:
            del data[at : at + width]
    return bytes(data)


def files_of(archive: Path) -> dict[str, bytes]:
    """Return the files of a packed perf.data directory by name."""
    with tarfile.open(archive) as packed:
        members = [member for member in packed if member.isfile()]
        return {Path(m.name).name: packed.extractfile(m).read() for m in members}


def next_input(
    chance: random.Random, seeds: list[bytes], directories: list[dict[str, bytes]]
) -> Path:
    """Write a mutated file, or a directory with one of its files mutated; return its path."""
    if chance.random() < 0.8:
        INPUT.write_bytes(mutated(chance, seeds))
        return INPUT
    files = chance.choice(directories)
    victim = chance.choice(sorted(files))
    for name, content in files.items():
        changed = mutated(chance, [content]) if name == victim else content
        (DIRECTORY / name).write_bytes(changed)
    return DIRECTORY


def read(path: Path) -> bool:
    """Read all there is to read; return False if the file is refused as it should be."""
    try:
        trace = perfdata.read(path)
        perfdata.mappings(path)
        assert trace.read_fields is not None
        trace.read_fields(min(trace.event_names), ("common_pid",))
    except (TraceError, LimitError) as error:
        assert error.remedy
        return False
    return True


def main() -> None:
    """Mutate and read until the time is up; print how many inputs were read, and refused."""
    end = time.monotonic() + float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    chance = random.Random(seed)
    packed = [*sorted(GOLDEN.glob("*.data.xz")), *sorted(BROUGHT.glob("simpleperf*.xz"))]
    seeds = [lzma.decompress(path.read_bytes()) for path in packed]
    directories = [files_of(path) for path in sorted(BROUGHT.glob("perf-directory*.tgz"))]
    counts = {True: 0, False: 0}
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    while time.monotonic() < end:
        path = next_input(chance, seeds, directories)
        try:
            counts[read(path)] += 1
        except Exception:
            traceback.print_exc()
            sys.exit(f"finding: {path} (seed {seed})")
    print(f"{counts[True]} read, {counts[False]} refused, none crashed (seed {seed})")


if __name__ == "__main__":
    main()
