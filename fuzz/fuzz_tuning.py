"""Fuzz the readers of TUNING files: columns, JSON and bytes of a campaign's SQLite, changed.

    python fuzz/fuzz_tuning.py SECONDS [SEED]

Anything but a result or an AnalyzerError with a remedy, and any input that takes 60 s, is a
finding; the input is ``fuzz-out/tuning/input``.
"""

from __future__ import annotations

import random
import signal
import sqlite3
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests/support")]

from forged_tunings import VALUES, change_json, columns, json_columns, set_value  # noqa: E402
from tuned_stores import tuned  # noqa: E402

from foreread.analyzer.error import AnalyzerError  # noqa: E402
from foreread.analyzer.tuner.engines.fingerprint import BY_NAME  # noqa: E402
from foreread.analyzer.tuner.findings.plans import learn, read_plans  # noqa: E402
from foreread.analyzer.tuner.findings.results import read_results  # noqa: E402

OUT = ROOT / "fuzz-out/tuning"


def forge(path: Path, chance: random.Random) -> None:
    """Change a store in one or several ways."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        if chance.random() < 0.5:
            change_json(path, *chance.choice(json_columns(path)), chance)
        else:
            place, every = chance.choice(columns(path)), chance.random() < 0.3
            set_value(path, *place, chance.choice(VALUES), every)


def flip(path: Path, chance: random.Random) -> None:
    """Change bytes of the file."""
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 4, 64))):
        data[chance.randrange(len(data))] = chance.randrange(256)
    path.write_bytes(data)


def try_to_read(path: Path) -> bool:
    """Return whether the file could be read, by all that reads it."""
    try:
        read_results(path).to_json()
        read_plans(path)
    except AnalyzerError as error:
        assert str(error) and error.remedy
        return False
    return True


def main() -> None:
    """Forge and read until the time is up."""
    end = time.monotonic() + float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    chance = random.Random(seed)
    OUT.mkdir(parents=True, exist_ok=True)
    sound, path = OUT / "sound", OUT / "input"
    sound.unlink(missing_ok=True)
    tuned(sound, scenarios=("reader", "idle"), runs=40)
    learn(sound, BY_NAME["read-random-small"])
    whole, counts = sound.read_bytes(), {True: 0, False: 0}
    while time.monotonic() < end:
        path.write_bytes(whole)
        try:
            (forge if chance.random() < 0.8 else flip)(path, chance)
        except (TypeError, ValueError, sqlite3.OperationalError):  # no JSON is left to change
            continue
        signal.alarm(60)
        counts[try_to_read(path)] += 1
        signal.alarm(0)
    print(f"{counts[True]} read, {counts[False]} refused, no finding (seed {seed})")


if __name__ == "__main__":
    main()
