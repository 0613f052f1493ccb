"""A board on which campaigns are disturbed, and such a campaign: what must hold after a fault."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analyzer.tuner.evaluation import key_of
from analyzer.tuner.records import Evaluation
from analyzer.tuner.results import Results
from analyzer.tuner.store import Store
from boards.emulated import live
from boards.emulated.state import PROCESS
from boards.target import TargetError

NAME = "tune-faults"
KNOBS = "/sys/block/slow0/queue/read_ahead_kb /sys/block/slow0/queue/scheduler"
KNOBS += " /sys/block/slow0/queue/nr_requests /proc/sys/vm/swappiness"
# What foreread and its loads have there: jobs, instances, a file; processes by their names. The
# script of a killed one stays in memory, until the next foreread removes it.
LEFT = (
    "ls -d /run/foreread*/owner /run/foreread.lock /sys/kernel/tracing/instances/* /.foreread-load;"
    "pidof dd yes madplay sleep"
)
PLAY = ["madplay", "-Q", "-o", "null:", "-t", "1", "/sample.mp3"]
# The first window is faster; the kernel does not take the second swappiness.
GENES = "read_ahead_kb=64:128,swappiness=60:999"
BACK_S = 600.0


class Wrong(AssertionError):
    """Something is not as it must be after a fault."""


def must(holds: object, what: str) -> None:
    """Raise Wrong unless it holds."""
    if not holds:
        raise Wrong(what)


@dataclass
class Bench:
    """The board, and where campaigns are written."""

    board: live.LiveBoard
    folder: Path
    before: str = ""

    def said(self, script: str) -> str:
        """Return what the board's shell prints."""
        with self.board.target() as target:
            return target.run(["sh", "-c", script], timeout_s=60).stdout.decode()

    def state(self) -> str:
        """Return settings, and what foreread has left there."""
        return self.said(f"cat {KNOBS}; ({LEFT}) 2>/dev/null")

    def seconds_until_as_before(self) -> float:
        """Wait until the board is as it was; return how long that took of its own time."""
        began, end = self.uptime_s(), time.monotonic() + BACK_S
        while (now := self.state()) != self.before:
            must(time.monotonic() < end, f"the board is not as it was: {now!r}")
            time.sleep(0.5)
        return self.uptime_s() - began

    def uptime_s(self) -> float:
        """Return the board's uptime, waiting for one that is away."""
        end = time.monotonic() + BACK_S
        while True:
            with contextlib.suppress(TargetError, ValueError):
                return float(self.said("cat /proc/uptime").split()[0])
            must(time.monotonic() < end, "the board is away")
            time.sleep(1)

    def signal(self, number: int) -> None:
        """Send a signal to QEMU."""
        os.kill(int((self.board.folder / PROCESS).read_text().split()[0]), number)


class Tuning:
    """One campaign of ``foreread tune``."""

    def __init__(
        self, bench: Bench, path: Path, *words: str, command: Sequence[str] = PLAY
    ) -> None:
        self.bench, self.path, self.words, self.command = bench, path, words, command

    def start(self) -> subprocess.Popen[str]:
        """Start it, or go on with it."""
        line = [sys.executable, "-m", "foreread", "tune", "--target", NAME, "-o", str(self.path)]
        line += ["--sampler", "exhaustive", "--genes", GENES, "--repeats", "3:3", *self.words]
        line += ["--resume"] if self.path.exists() else []
        null, pipe = subprocess.DEVNULL, subprocess.PIPE
        return subprocess.Popen([*line, "--", *self.command], stdout=null, stderr=pipe, text=True)

    def finish(self) -> str:
        """Let it come to its end; return what it said on the way."""
        _, said = (process := self.start()).communicate()
        must(process.returncode == 0, said)
        return said

    def made(self) -> list[Evaluation]:
        """Return every attempt that is stored, in order; checks that each is there once."""
        if not self.path.exists():
            return []
        with Store.read(self.path) as store:
            stages = [
                store.evaluations(withdrawn=True, stage=s) for s in ("search", "confirmation")
            ]
        made = [one for stage in stages for one in stage]
        must([one.number for one in made] == list(range(1, len(made) + 1)), "a run is missing")
        return made

    def results(self) -> Results:
        """Return what came out."""
        with Store.read(self.path) as store:
            return Results.of(store)

    def wait_for_run(self, process: subprocess.Popen[str], number: int) -> None:
        """Wait until so many runs are stored."""
        while len(self.made()) < number and process.poll() is None:
            time.sleep(0.2)

    def must_have_found(self, read_ahead_kb: int) -> None:
        """Check the window that the confirmed chromosome has."""
        found = self.results().confirmed.chromosome["read_ahead_kb"]
        must(found == read_ahead_kb, f"the window {found} was found, not {read_ahead_kb}")

    def must_end_as(self, whole: Tuning) -> None:
        """Check that it has ended as ``whole`` did, and no run of it twice."""
        mine, other = self.results(), whole.results()
        must(mine.ended == other.ended and not mine.confirmed.to_run, "it has not ended")
        for one, its in ((mine.search, other.search), (mine.confirmation, other.confirmation)):
            must({key_of(a.chromosome) for a in one} >= {key_of(a.chromosome) for a in its}, "lost")
            turns = Counter((key_of(a.chromosome), a.scenario, a.repeat) for a in one)
            must(max(turns.values()) == 1, "a run was made twice")
        must(mine.confirmed.chromosome == other.confirmed.chromosome, "another result")
