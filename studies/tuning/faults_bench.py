"""A board for disturbed campaigns, such a campaign, and the invariants after a fault."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from foreread.analyzer.tuner.evaluation import key_of
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.store.records import Evaluation
from foreread.analyzer.tuner.store.store import Store
from foreread.boards.emulated import live
from foreread.boards.emulated.state import PROCESS
from foreread.boards.target import TargetError

NAME = "tune-faults"
STATE = (Path(__file__).parent / "faults_state.sh").read_text()
PLAY = ["madplay", "-Q", "-o", "null:", "-t", "1", "/sample.mp3"]
# One window is the fastest; the kernel does not take the second swappiness.
GENES = "read_ahead_kb=8:16:32:64:128:256:512:1024,swappiness=60:999"
BACK_S = 900.0
_AWAY_S = 20.0  # how long a board that is gone for good is waited for, where 300 s are not
_SHORTER = (
    "import sys, foreread.tuning.evaluator, foreread.cli.main; "
    "foreread.tuning.evaluator.BACK_S = float(sys.argv.pop(1)); "
    "sys.exit(foreread.cli.main.main())"
)


class Wrong(AssertionError):
    """Something is not as it must be after a fault."""


def must(holds: object, what: str) -> None:
    """Raise Wrong unless it holds."""
    if not holds:
        raise Wrong(what)


@dataclass(frozen=True)
class Seen:
    """The board at one moment: ``uptime_s`` of its clock, and all that faults_state.sh prints."""

    uptime_s: float
    lines: frozenset[str]


@dataclass
class Bench:
    """The board, and where campaigns are written."""

    options: live.LiveOptions
    folder: Path

    def __post_init__(self) -> None:
        self.start()
        self.before = self.seen().lines

    def start(self) -> None:
        """Start the board if it does not run, or has died."""
        for board in live.ended():
            if board.name == NAME:
                board.stop()
        self.board = live.started(NAME) or live.start(self.options, NAME)

    def said(self, script: str) -> str:
        """Return what the board's shell prints."""
        with self.board.target() as target:
            return target.run(["sh", "-c", script], timeout_s=60).stdout.decode()

    def seen(self) -> Seen:
        """Look at it, waiting for one that is away, or short of memory."""
        end = time.monotonic() + BACK_S
        while True:
            with contextlib.suppress(TargetError, ValueError):
                uptime, *lines = self.said(f"cat /proc/uptime\n{STATE}").splitlines()
                return Seen(float(uptime.split()[0]), frozenset(lines))
            must(time.monotonic() < end, "the board is away")
            time.sleep(1)

    def seconds_until_as_before(self, began_s: float) -> float:
        """Wait until the board is as it was; return how long that took of its own time."""
        end = time.monotonic() + BACK_S
        while (now := self.seen()).lines != self.before:
            changed = sorted(now.lines ^ self.before)
            must(time.monotonic() < end, f"the board is not as it was: {changed[:10]}")
            time.sleep(0.2)
        return now.uptime_s - began_s

    def uptime_s(self) -> float:
        """Return the board's uptime, once it answers."""
        return self.seen().uptime_s

    def signal(self, number: int) -> None:
        """Send a signal to QEMU."""
        os.kill(int((self.board.folder / PROCESS).read_text().split()[0]), number)


class Tuning:
    """One campaign of ``foreread tune``."""

    def __init__(
        self,
        bench: Bench,
        path: Path,
        *words: str,
        genes: str = GENES,
        repeats: int = 3,
        command: Sequence[str] = PLAY,
    ) -> None:
        self.bench, self.path, self.command = bench, path, command
        self.words = ["--genes", genes, "--repeats", f"{repeats}:{repeats}", *words]

    def start(self, *more: str, patient: bool = True) -> subprocess.Popen[str]:
        """Start it, or go on with it; not ``patient`` with a board that is gone for good."""
        program = ["-m", "foreread"] if patient else ["-c", _SHORTER, str(_AWAY_S)]
        line = [sys.executable, *program, "tune", "--target", NAME, "-o", str(self.path)]
        line += ["--sampler", "exhaustive", *self.words, *more]
        line += ["--resume"] if self.path.exists() else []
        null, pipe = subprocess.DEVNULL, subprocess.PIPE
        return subprocess.Popen([*line, "--", *self.command], stdout=null, stderr=pipe, text=True)

    def made(self) -> list[Evaluation]:
        """Return every attempt that is stored, in order; checks that each is there once."""
        if not self.path.exists():
            return []
        with Store.read(self.path) as store:
            stages = [
                store.evaluations(withdrawn=True, stage=s) for s in ("search", "confirmation")
            ]
        evaluations = [evaluation for stage in stages for evaluation in stage]
        must(
            [evaluation.number for evaluation in evaluations]
            == list(range(1, len(evaluations) + 1)),
            "a run is missing",
        )
        return evaluations

    def results(self) -> Results:
        """Return the result."""
        with Store.read(self.path) as store:
            return Results.of(store)

    def wait_for_run(self, process: subprocess.Popen[str], number: int) -> None:
        """Wait until so many runs are stored."""
        while len(self.made()) < number and process.poll() is None:
            time.sleep(0.2)

    def must_have_found(self, read_ahead_kb: int) -> None:
        """Check the window that the confirmed chromosome has."""
        window_kb = self.results().confirmed.chromosome["read_ahead_kb"]
        must(window_kb == read_ahead_kb, f"the window {window_kb} was found, not {read_ahead_kb}")


def compared(mine: Results, other: Results) -> dict[str, object]:
    """Check that a campaign came to the same end as one without faults; return what differs.

    The default is measured again after each run that failed, and a run that was lost again: those
    are more. All else is the same, but for the seconds, which are measured.
    """
    must(mine.ended == other.ended and not mine.confirmed.to_run, "it has not ended")
    batches = [[key_of(chromosome) for chromosome, _ in batch] for batch in mine.generations]
    must(
        batches == [[key_of(chromosome) for chromosome, _ in batch] for batch in other.generations],
        "asked else",
    )
    default, good = (
        key_of(mine.spec.default),
        [_good(campaign.search) for campaign in (mine, other)],
    )
    must([*good[0]] == [*good[1]], "good runs of other chromosomes, or in another order")
    for key in good[0].keys() - {default}:
        must(len(good[0][key]) == len(good[1][key]), f"other runs of {key}")
    refused = [
        {key_of(a.chromosome) for a in campaign.search if a.attempt.status == "refused"}
        for campaign in (mine, other)
    ]
    must(refused[0] == refused[1], "others were refused")
    turns = Counter((key_of(a.chromosome), a.scenario, a.repeat) for a in mine.search)
    must(max(turns.values()) == 1, "a run was made twice")
    must(mine.confirmed.chromosome == other.confirmed.chromosome, "another result")
    both = [(median(good[0][key]), median(good[1][key])) for key in good[0]]
    return {
        "chromosomes": len(good[0]),
        "good_runs": [sum(map(len, seconds.values())) for seconds in good],
        "default_runs": [len(seconds[default]) for seconds in good],
        "found": mine.confirmed.chromosome,
        "same_winner_of_search": mine.winner == other.winner,
        "equal_medians": sum(a == b for a, b in both),
        "medians_differ_by_at_most": max(abs(a / b - 1) for a, b in both),
        "runs_of_one_differ_by_at_most": max(
            max(seconds) / min(seconds) - 1 for seconds in good[1].values()
        ),
    }


def _good(search: Iterable[Evaluation]) -> dict[str, list[float]]:
    """Return the seconds of good runs by chromosome, in the order in which they first came."""
    by_chromosome: dict[str, list[float]] = {}
    for evaluation in search:
        if evaluation.attempt.status == "ok" and evaluation.attempt.value is not None:
            by_chromosome.setdefault(key_of(evaluation.chromosome), []).append(
                evaluation.attempt.value
            )
    return by_chromosome
