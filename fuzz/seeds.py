"""Write seeds for one fuzz target into a directory: ``python fuzz/seeds.py TARGET DIRECTORY``."""

from __future__ import annotations

import lzma
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "analyzer" / "ingest" / "data"
RECORDS = 24 * 1024


def perf_walk() -> Iterator[bytes]:
    """Records of the golden perf.data files behind each choice of layout."""
    for path in sorted((GOLDEN / "perf").glob("*.data.xz")):
        data = lzma.decompress(path.read_bytes())
        (size,) = struct.unpack_from("<Q", data, 8)
        start = 16 if size == 16 else struct.unpack_from("<Q", data, 40)[0]
        for choice in range(8):
            yield bytes([choice, choice]) + data[start : start + RECORDS]


def formats() -> Iterator[bytes]:
    """Format texts out of a golden perf.data file, plain and with more kinds of fields."""
    data = lzma.decompress((GOLDEN / "perf" / "file.data.xz").read_bytes())
    start = 0
    while (start := data.find(b"name: ", start)) >= 0:
        end = data.find(b"name: ", start + 1)
        text = data[start : end if end >= 0 else len(data)]
        stop = text.find(b"\n", text.find(b"print fmt"))
        yield text[: stop + 1]
        start += 1


def main() -> None:
    """Write the seeds of the target named."""
    target, directory = sys.argv[1], Path(sys.argv[2])
    seeds = {"perf_walk": perf_walk, "formats": formats}.get(target)
    for i, seed in enumerate(seeds() if seeds else ()):
        (directory / f"seed-{i}").write_bytes(seed)


if __name__ == "__main__":
    main()
