"""Fuzz the ftrace readers (trace.dat, tracefs pages, tracefs text) from Python.

    python fuzz/fuzz_ftrace.py SECONDS [SEED]

Mutates the fixtures; anything but a result or an error with a remedy is a finding. Each input is
written to ``fuzz-out/ftrace/`` before it is read, so that a crash leaves it there. Worth most with
the extension built with -fsanitize=address,undefined (see fuzz/README.md).
"""

from __future__ import annotations

import random
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from foreread.analyzer.ingest.detect import open_trace
from foreread.analyzer.ingest.recording import TraceError
from foreread.tracer.formats.limits import LimitError

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests/analyzer/ingest/data/ftrace"
OUT = ROOT / "fuzz-out/ftrace"
NUMBERS = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 1 << 31, (1 << 32) - 1, 1 << 63, 2**64 - 1)


def mutate(data: bytearray, random_: random.Random) -> None:
    """Change ``data`` in place in one of several ways."""
    at = random_.randrange(len(data))
    match random_.randrange(7):
        case 0 | 1:
            data[at] ^= 1 << random_.randrange(8)
        case 2:
            data[at] = random_.randrange(256)
        case 3:
            del data[at:]
        case 4:
            size = random_.choice((1, 2, 4, 8))
            order = random_.choice(("little", "big"))
            number = random_.choice(NUMBERS) & ((1 << 8 * size) - 1)
            data[at : at + size] = number.to_bytes(size, order)
        case 5:
            length = random_.randrange(1, 64)
            del data[at : at + length]
        case 6:
            source = random_.randrange(len(data))
            data[at:at] = data[source : source + random_.randrange(1, 64)]


def changed(data: bytes, random_: random.Random) -> bytes:
    """Return a mutant; mostly in the first part, where a container's structure is."""
    mutant = bytearray(data)
    for _ in range(random_.choice((1, 1, 1, 2, 4, 8))):
        if mutant:
            mutate(mutant, random_)
    return bytes(mutant)


def try_to_read(path: Path) -> bool:
    """Return whether ``path`` could be read; also fetch fields on demand."""
    try:
        trace = open_trace(path)
        if trace.read_fields is not None:
            trace.read_fields("sched:sched_process_exec", ("filename", "pid"))
    except (TraceError, LimitError) as error:
        assert str(error) and error.remedy
        return False
    return True


def input_of(seed: Path, random_: random.Random) -> Path:
    """Write one mutant of ``seed`` below OUT and return its path."""
    if seed.is_file():
        target = OUT / "input"
        target.write_bytes(changed(seed.read_bytes(), random_))
        return target
    target = OUT / "pages"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(seed, target)
    victim = random_.choice([path for path in sorted(target.rglob("*")) if path.is_file()])
    victim.write_bytes(changed(victim.read_bytes(), random_))
    return target


def main() -> None:
    """Fuzz for the time that the command line gives."""
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    random_ = random.Random(seed)
    OUT.mkdir(parents=True, exist_ok=True)
    seeds = [*sorted(FIXTURES.glob("*.trace.dat")), *sorted(FIXTURES.glob("*.txt"))]
    seeds.append(FIXTURES / "pages")
    tried = read = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        tried += 1
        read += try_to_read(input_of(random_.choice(seeds), random_))
    print(f"{tried} inputs, {read} of them read, the rest refused; no finding (seed {seed})")


if __name__ == "__main__":
    main()
