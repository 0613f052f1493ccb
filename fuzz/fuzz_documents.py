"""Fuzz the readers of JSON and TOML documents: mutated profiles, recipes, catalogues, suites and
sweeps.

    python fuzz/fuzz_documents.py SECONDS [SEED]

Anything but a result, a DocumentError or a SuiteError, and any input that takes 20 s, is a finding;
the input is in ``fuzz-out/documents/input``.
"""

from __future__ import annotations

import random
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from foreread.analyzer.suite.read import SuiteError, decode_suite  # noqa: E402
from foreread.boards.base.document import DocumentError, OtherSchemaError, decode  # noqa: E402
from foreread.boards.base.toml_document import decode_toml, parse_toml  # noqa: E402
from foreread.boards.profile import Profile  # noqa: E402
from foreread.tracer.formats.sweep import Sweep  # noqa: E402

SUITES = "tests/analyzer/suite/data"
INPUT = ROOT / "fuzz-out/documents/input"
WORDS = [b"[", b"{", b"]", b"}", b'"', b"'", b'"""', b"'''", b"\\", b".", b"a.", b"=", b"#", b"\n"]
WORDS += [b"1e999", b"NaN", b"inf", b"9" * 5000, b"\\ud800", b"\xff", b"\0", b'"":', b"0x", b"_"]


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return the text with tokens put in, often many times, and parts cut, copied or changed."""
    text = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        at = chance.randrange(len(text) + 1)
        match chance.randrange(4):
            case 0:
                text[at:at] = chance.choice(WORDS) * chance.choice((1, 1, 3, 40, 5000))
            case 1:
                del text[at : at + chance.randrange(1, 64)]
            case 2:
                text[at : at + 1] = bytes([chance.randrange(256)])
            case 3:
                text[at:at] = text[: chance.randrange(200)] * chance.choice((1, 100))
    return bytes(text)


def main() -> None:
    """Mutate and read until the time is up."""
    end = time.monotonic() + float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    chance = random.Random(seed)
    tomls = [file.read_bytes() for file in sorted(ROOT.glob("[abt]*/**/*.toml"))]
    jsons = [file.read_bytes() for file in sorted(ROOT.glob("examples/*/*.json"))]
    suites = [file.read_bytes() for file in sorted((ROOT / SUITES).glob("*.toml"))]
    INPUT.parent.mkdir(parents=True, exist_ok=True)
    counts = {True: 0, False: 0}
    while time.monotonic() < end:
        is_suite = chance.random() < 0.3
        is_toml = is_suite or chance.random() < 0.6
        text = mutated(chance.choice(suites if is_suite else tomls if is_toml else jsons), chance)
        INPUT.write_bytes(text)
        signal.alarm(20)
        try:
            if is_toml:
                parse_toml(text)
                decode_suite(text, INPUT) if is_suite else decode_toml(text, Profile)
            else:
                decode(text, Sweep)
            counts[True] += 1
        except (DocumentError, OtherSchemaError, SuiteError) as error:
            assert str(error)
            counts[False] += 1
    signal.alarm(0)
    print(f"{counts[True]} read, {counts[False]} refused, no finding (seed {seed})")


if __name__ == "__main__":
    main()
