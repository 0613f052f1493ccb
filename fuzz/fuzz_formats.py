"""Fuzz the formats of events, which libtraceevent parses in a process with limits.

    python fuzz/fuzz_formats.py SECONDS [SEED]

Anything but a layout or a TraceError with a remedy is a finding, and is left in
``fuzz-out/formats/input``. A crash of libtraceevent is such an error, and is counted.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from foreread.analyzer.ingest.formats import Formats  # noqa: E402
from foreread.analyzer.ingest.recording import TraceError  # noqa: E402
from foreread.analyzer.ingest.tracedat_layout import parse  # noqa: E402

SEED = ROOT / "tests/analyzer/ingest/data/ftrace/v7-none.trace.dat"
INPUT = ROOT / "fuzz-out/formats/input"
NAME = "fuzz:format"
PRINT = b"\nprint fmt: "
ALL_KINDS = b"""\
name: kinds
ID: 9
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;

\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;
\tfield:__rel_loc cpumask_t * mask;\toffset:12;\tsize:4;\tsigned:0;
\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;
\tfield:char span[(((32)-1) | (4-1)) > 128 ? 128 : (8&~1)];\toffset:64;\tsize:8;\tsigned:0;
\tfield:const struct sockaddr * addr;\toffset:72;\tsize:8;\tsigned:0;
"""
PIECES = [
    *(b"\0", b"\n", b"[", b"]", b";", b"(", b'"', b"*", b" ", b"-1", b"99999999999", b"\xff"),
    *(b"field:", b"__data_loc ", b"offset:", b"size:", b"signed:1;", b"ID: ", b"name: "),
]


def damaged(text: bytes, chance: random.Random) -> bytes:
    """Return a text with pieces inserted, and parts of it dropped or copied."""
    data = bytearray(text)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        at, length = chance.randrange(len(data) + 1), chance.choice((1, 4, 16, 64))
        match chance.randrange(4):
            case 0:
                data[at:at] = chance.choice(PIECES)
            case 1:
                data[at : at + 1] = bytes([chance.randrange(256)])
            case 2:
                del data[at : at + length]
            case 3:
                data[at:at] = data[length : 2 * length]
    return bytes(data) + chance.choice((PRINT, PRINT + b'"%s"\n', b""))


def outcome(text: bytes) -> str:
    """Return what became of a text."""
    try:
        Formats({NAME: text}, byte_order="little", long_size=8).event(NAME)
    except TraceError as error:
        assert error.remedy
        return "crashed" if "crashed" in str(error) else "refused"
    return "parsed"


def main() -> None:
    """Damage and parse until the time is up; print how many texts were parsed, and refused."""
    end = time.monotonic() + float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    chance = random.Random(seed)
    texts = parse(memoryview(SEED.read_bytes())).texts.values()
    seeds = [*(text.partition(PRINT)[0] for text in texts), ALL_KINDS]
    counts: Counter[str] = Counter()
    INPUT.parent.mkdir(parents=True, exist_ok=True)
    while time.monotonic() < end:
        text = damaged(chance.choice(seeds), chance)
        INPUT.write_bytes(text)
        counts[outcome(text)] += 1
    print(f"{dict(counts)} (seed {seed})")


if __name__ == "__main__":
    main()
