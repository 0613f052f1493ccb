"""Injects the faults that can happen during tuning, on an emulated board that stays up.

`foreread tune` runs as a user runs it, is disturbed in the middle of a trial, and goes on, or is
resumed. After every fault all that can be read of the board (faults_state.sh) must be what it was;
no run that was stored may be lost, made twice or counted twice; and the campaign must end with the
result of one that nothing disturbed.

    python -m studies.tuning.faults [-o FILE] [--times N] [--board NAME] [CAMPAIGN ...]

FILE keeps the figures of other boards and campaigns.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from statistics import median

from foreread.boards.emulated import live
from studies.tuning.faults_bench import NAME, PLAY, Bench, Tuning, compared, must
from studies.tuning.faults_made import (
    QUICK,
    SLOW,
    Observed,
    board_gone,
    ended,
    observed,
    reset_words,
)

FEW = "read_ahead_kb=64:128,swappiness=60:999"  # of a campaign that is disturbed once


def disturbed(bench: Bench, times: int) -> Iterator[Observed]:
    """One campaign with a fault in nearly every run; another one without any."""
    with small_disk(bench.folder / "small") as small:
        tuning = Tuning(bench, small / "disturbed.tuning", "--limit", "30")
        for number in range(times):
            for fault in (*QUICK, *SLOW):
                yield fault(tuning)
            yield board_gone(number == 0, tuning)
        yield finished("the end of that campaign", tuning)
        whole = Tuning(bench, bench.folder / "whole.tuning", "--limit", "30")
        yield finished("a campaign without faults", whole)
        same = compared(tuning.results(), whole.results())
        yield Observed("both", "", 0, 0, compared=same)


def finished(what: str, tuning: Tuning) -> Observed:
    """Let it come to its end."""
    observation = observed(what, tuning, tuning.start())
    must(observation.code == 0, observation.said)
    return observation


def quick(bench: Bench, times: int) -> Iterator[Observed]:
    """The faults that pass quickly, in a campaign that is not ended."""
    with small_disk(bench.folder / "quick") as small:
        tuning = Tuning(bench, small / "quick.tuning", repeats=5)
        for _ in range(times):
            yield from (fault(tuning) for fault in QUICK)


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a disk of 2 MiB."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def loads(bench: Bench, times: int) -> Iterator[Observed]:
    """Kill -9 while a load runs on the board."""
    for scenario in ("memory:16", "writer", "reader") * times:
        path = bench.folder / f"{scenario.partition(':')[0]}.tuning"
        tuning = Tuning(bench, path, "--scenario", scenario, genes=FEW)
        what = f"SIGKILL in the scenario {scenario}"
        yield ended(what, tuning, lambda process: process.kill())
        path.unlink()


def endless(bench: Bench, times: int) -> Iterator[Observed]:
    """Let a command never end at one allele."""
    yield from hanging(bench, times, "a command that never ends at one allele", "sleep 1000")


def stuck(bench: Bench, times: int) -> Iterator[Observed]:
    """Freeze the file system at one allele: every write to it, and every sync, blocks for ever.

    Then only a restart can end the command and restore its changes.
    """
    what, frozen = "the root is frozen at one allele; with --reset", "fsfreeze --freeze /; echo >/x"
    yield from hanging(bench, times, what, frozen, *reset_words(bench))


def hanging(bench: Bench, times: int, what: str, hang: str, *words: str) -> Iterator[Observed]:
    """Let the command hang at the faster window: the other one is what is found."""
    window = "[ $(cat /sys/block/slow0/queue/read_ahead_kb) = 128 ]"
    command = ["sh", "-c", f"{window} || {{ {hang}; }}; {' '.join(PLAY)}"]
    path = bench.folder / "hanging.tuning"
    for _ in range(times):
        limited = ("--limit", "20", *words)
        tuning = Tuning(bench, path, *limited, genes=FEW, repeats=1, command=command)
        yield finished(what, tuning)
        tuning.must_have_found(128)
        path.unlink()


CAMPAIGNS = {
    "disturbed": disturbed,
    "quick": quick,
    "loads": loads,
    "endless": endless,
    "stuck": stuck,
}


def reset(options: live.LiveOptions) -> None:
    """Switch the board off, if it runs or has died, and on."""
    switch_off()
    live.start(options, NAME)


def switch_off() -> None:
    """End the board and forget it, if there is one."""
    for board in [*live.running(), *live.ended()]:
        if board.name == NAME:
            board.stop()


def summary(observations: list[Observed]) -> list[dict[str, object]]:
    """Return the results of each fault: medians and worst over all its repeats."""
    first: dict[str, int] = {}
    for observation in observations:
        first.setdefault(observation.what, len(first))
    rows = []
    for what, group in groupby(
        sorted(observations, key=lambda observation: first[observation.what]), lambda o: o.what
    ):
        ones = list(group)
        seconds = sorted(observation.back_s for observation in ones)
        rows.append(
            {
                "what": what,
                "times": len(ones),
                "codes": sorted({observation.code for observation in ones}),
                "back_s": {"median": round(median(seconds), 2), "worst": seconds[-1]},
                "lost": [observation.lost for observation in ones],
                "said": ones[0].said,
                **({"compared": ones[0].compared} if ones[0].compared else {}),
            }
        )
    return rows


def main() -> int:
    """Run the campaigns asked for, all of them by default."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="CAMPAIGN", help=", ".join(CAMPAIGNS))
    parser.add_argument("-o", "--output", type=Path, default=Path("faults.json"), metavar="FILE")
    parser.add_argument("--times", type=int, default=5, metavar="N", help="each fault (5)")
    parser.add_argument("--board", default="x86_64", metavar="NAME", help="which one (x86_64)")
    parser.add_argument("--reset", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    options = live.LiveOptions(args.board)
    if args.reset:
        reset(options)
        return 0
    for name in set(args.names) - set(CAMPAIGNS):
        parser.error(f"no campaign {name!r}: say {', '.join(CAMPAIGNS)}")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a job of the background
    figures = json.loads(args.output.read_text()) if args.output.exists() else {}
    with tempfile.TemporaryDirectory(prefix="foreread-faults-") as folder:
        bench = Bench(options, Path(folder))
        try:
            for name in args.names or CAMPAIGNS:
                observations: list[Observed] = []
                for observation in CAMPAIGNS[name](bench, args.times):
                    observations.append(observation)
                    figures.setdefault(args.board, {})[name] = summary(observations)
                    args.output.write_text(json.dumps(figures, indent=1) + "\n")
        finally:
            switch_off()
    return 0


if __name__ == "__main__":
    sys.exit(main())
