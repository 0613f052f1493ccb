"""Mutate golden perf.data files and read them, in this process, for a number of seconds.

    python fuzz/mutate_perfdata.py SECONDS DIRECTORY [EXTENSION]

EXTENSION is a ``_readers`` built with -fsanitize=address,undefined (fuzz/run.sh makes it); the
sanitizer's library must be preloaded. Each input is written to DIRECTORY/input before it is read;
anything but a Trace or a TraceError with a remedy ends the run with exit code 1.
"""

from __future__ import annotations

import importlib.util
import lzma
import random
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
GOLDEN = ROOT / "tests" / "analyzer" / "ingest" / "data" / "perf"
EDGES = (0, 1, 7, 8, 0x7F, 0x80, 0xFF)


def use_extension(path: str) -> None:
    """Make ``analyzer.ingest._readers`` the extension at ``path``."""
    name = "analyzer.ingest._readers"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


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


def main() -> None:
    """Mutate and read until the time is up; print how many inputs were read, and refused."""
    seconds, directory = float(sys.argv[1]), Path(sys.argv[2])
    if len(sys.argv) > 3:
        use_extension(sys.argv[3])
    from analyzer.ingest import perfdata  # noqa: PLC0415  # after the extension is chosen
    from analyzer.ingest.recording import TraceError  # noqa: PLC0415

    seed = int(time.time())
    chance = random.Random(seed)
    seeds = [lzma.decompress(path.read_bytes()) for path in sorted(GOLDEN.glob("*.data.xz"))]
    counts = {"read": 0, "refused": 0}
    path = directory / "input"
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        path.write_bytes(mutated(chance, seeds))
        try:
            trace = perfdata.read(path)
            perfdata.mappings(path)
            assert trace.read_fields is not None
            trace.read_fields(min(trace.event_names), ("common_pid",))
            counts["read"] += 1
        except TraceError as error:
            assert error.remedy
            counts["refused"] += 1
        except Exception:
            traceback.print_exc()
            sys.exit(f"finding: {path} (random seed {seed})")
    print(f"{counts['read']} read, {counts['refused']} refused, none crashed")


if __name__ == "__main__":
    main()
