"""A start with changes made to it, and its seconds by the timed replay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Protocol

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.predict.bands import SEED
from foreread.analyzer.predict.start import Start
from foreread.analyzer.prefetch.replayed import (
    GIVES_WAY_NS,
    Row,
    application_ns,
    beside,
    with_replayer,
)
from foreread.analyzer.program.added_steps import new_steps, with_added
from foreread.emulator.linux.steps import CpuCost, Run, Timed
from foreread.emulator.linux.timed_windows import Case, timed_cases

# A process beside the start takes an unknown time to begin: so much at most, in random draws.
LATEST_NS = 20e6
# A step computes so much of its recorded time, and the replayer so much of the expected time.
JITTER = (0.0, 2.0)
REPLAYER = (0.5, 3.0)
AT_ONCE = 8  # replays: their steps are in memory
Moved = Mapping[int, int]  # pages of a file: the new one by the old one


@dataclass(frozen=True)
class Cost:
    """The seconds of a variant, and the bytes that its threads and its list read."""

    seconds: float
    read_bytes: int


@dataclass(frozen=True)
class Replayed:
    """Nanoseconds of a start, and pages that it reads."""

    ns: float
    pages: int


class OtherImage(Protocol):
    """Another image of the files that a start reads."""

    def replayed(self, variant: Variant, draw: int | None) -> Replayed:
        """Replay a variant of the start on it, on the device of a random draw if there is one."""


@dataclass(frozen=True, eq=False)
class Variant:
    """A start with a window (pages), with changes in its run, and with a list beside it.

    ``recorded`` is the replay of the recorded run, with the rows of the changed run's steps.
    ``threads`` are the application's. ``moved`` has the pages, by row of the file, that have
    another place in it; ``ranges`` are read by a replayer that begins with the start. ``link`` is
    the number of a random link of relinked files, None for the expected one.
    ``second`` are the sectors of pages that are read a second time; ``wasted`` (first, number) are
    unused sectors that the replayer reads. ``image`` has the files, if not the
    present one.
    """

    start: Start
    window: int
    recorded: Timed
    threads: tuple[int, ...]
    moved: Mapping[int, Moved] = field(default_factory=dict)
    link: int | None = None
    ranges: tuple[Row, ...] = ()
    second: frozenset[int] = frozenset()
    wasted: tuple[tuple[int, int], ...] = ()
    image: OtherImage | None = None

    @property
    def run(self) -> Run:
        """The run, without the list."""
        return self.start.run

    @property
    def linking(self) -> np.random.Generator | None:
        """Return the random numbers of the link; None for the expected one."""
        return None if self.link is None else np.random.default_rng((SEED, self.link))

    def with_run(self, run: Run, recorded: Timed | None = None) -> Variant:
        """Return the variant with another run, which has the steps of ``recorded``."""
        start = replace(self.start, run=run)
        return replace(self, start=start, recorded=recorded or self.recorded)

    def with_window(self, window: int) -> Variant:
        """Return the variant under another window (pages); what is ready to replay serves both."""
        changed = replace(self, window=window)
        vars(changed)["_ready"] = self._ready  # the cache of the property
        return changed

    def cost(self, draw: int | None = None) -> Cost:
        """Replay the variant; with ``draw``, on the random device and processor of that number."""
        return next(costs([(self, draw)]))

    def replayed(self, draw: int | None = None) -> Replayed:
        """Replay the variant on the present image."""
        return self.outcome(self.timed(draw)[0])

    def outcome(self, timed: Timed) -> Replayed:
        """Return the time of the application, and the pages that were read."""
        ns = application_ns(self._ready.run, timed, self.threads)
        return Replayed(ns, int(timed.work[:, 1].sum()))

    def without_costs(self) -> Variant:
        """Return the variant on the present image, with reads that need no computing."""
        start = replace(self.start, cpu=CpuCost(), cpu_samples=None, unplugged_ns=0.0)
        return replace(self, start=start, image=None)

    def timed(self, draw: int | None = None) -> tuple[Timed, Run]:
        """Return the replay, and the run with the replayer of the list."""
        return timed_cases([self.case(draw)])[0], self._ready.run

    def case(self, draw: int | None = None) -> Case:
        """Return what is replayed for the variant on the present image."""
        return self._ready.case(self.window, draw)

    @cached_property
    def _ready(self) -> _Ready:
        """The variant ready to be replayed, under any window and for any random draw."""
        if not self.ranges and not self.wasted:
            return _Ready(self.start, self.run, self.recorded)
        run, host = self.run, self.start.recording.capture.host
        cpus = host.cpu_count if host else 1
        listed = with_replayer(run, self.ranges, cpus, self.start.opening)
        listed = _with_reads(listed, len(listed.steps) - len(run.steps), self.wasted)
        return _Ready(self.start, listed, beside(self.recorded, listed))


@dataclass(frozen=True, eq=False)
class _Ready:
    """A run of a start with the replayer of a list, if it has one, ready for any window."""

    start: Start
    run: Run
    recorded: Timed

    def case(self, window: int, draw: int | None) -> Case:
        """Return what is replayed under a window (pages), for a random draw if there is one."""
        rng = None if draw is None else np.random.default_rng((SEED, draw))
        own = len(self.run.steps) - len(self.start.run.steps)
        run = self.run if rng is None or not own else raced(self.run, own, rng)
        start = self.start if rng is None else self.start.drawn(rng)
        if not window:
            return Case(run, window, start.device, start.cpu, self.recorded)
        reads = self._plugged if run is self.run else start.plugged(run, self.recorded)
        return Case(reads, window, start.device, start.spared(start.cpu), self.recorded)

    @cached_property
    def _plugged(self) -> Run:
        """The run under any window but 0, the same for all of them."""
        return self.start.plugged(self.run, self.recorded)


def _with_reads(run: Run, own: int, sectors: Sequence[tuple[int, int]]) -> Run:
    """Return a run with a replayer (its first ``own`` steps) that then reads sectors, too."""
    if not sectors:
        return run
    added = new_steps(len(sectors))
    added["sector"], added["sectors"] = np.array(sectors).T
    added["bios"] = 1
    added["thread"] = run.steps["thread"][0] if own else run.steps["thread"].max() + 1
    steps = run.steps.copy()
    for name in ("waits_for", "woken_by"):
        steps[name] += np.where(steps[name] >= own, len(added), 0)
    return replace(run, steps=np.insert(steps, own, added))


def raced(run: Run, own: int, rng: np.random.Generator) -> Run:
    """Return a run with random times of its replayer, which has the first ``own`` steps.

    Which of two processes comes first, to the disk's queue or to a page, depends on how long each
    computes before it. So each step computes a random time; all steps of the start together
    compute as long as they did. The replayer also begins at a random time. Of two that look the
    same name up, the second waits for the first (d_alloc_parallel), which then goes on: in half of
    all cases the replayer waits, and its open is done when the start begins to compute.
    """
    steps = run.steps.copy()
    computed = steps["cpu_ns"] * rng.uniform(*JITTER, len(steps))
    if computed[own:].any():
        computed[own:] *= steps["cpu_ns"][own:].sum() / computed[own:].sum()
    computed[:own] *= rng.uniform(*REPLAYER)
    looks_up_first = (steps["sleep_ns"][:own] == GIVES_WAY_NS) & (rng.random(own) < 0.5)
    computed[:own][looks_up_first] = 0.0
    steps["sleep_ns"][:own][looks_up_first] = 0.0
    steps["cpu_ns"] = computed
    steps["sleep_ns"][0] += rng.uniform(0, LATEST_NS)
    return replace(run, steps=steps)


def costs(replays: Iterable[tuple[Variant, int | None]]) -> Iterator[Cost]:
    """Replay variants, each with a random draw or None, AT_ONCE at the same time."""
    left = iter(replays)
    while part := list(islice(left, AT_ONCE)):
        cases = [variant.case(draw) for variant, draw in part if variant.image is None]
        timed = iter(timed_cases(cases))
        for variant, draw in part:
            image = variant.image
            own = variant.outcome(next(timed)) if image is None else image.replayed(variant, draw)
            yield Cost(own.ns / 1e9, own.pages * variant.run.machine.page_size)


def variant_of(start: Start, window: int) -> Variant:
    """Return a start without changes, under ``window`` (pages)."""
    threads = tuple(np.unique(start.run.steps["thread"]).tolist()) or (0,)
    return Variant(start, window, start.timed([0])[0], threads)


def with_steps(
    variant: Variant, rows: Sequence[int], added: Array, operations: Array | None = None
) -> Variant:
    """Return a variant with further steps: ``added`` (STEP), each before a row of its own.

    ``operations`` are appended to those of the program; added steps refer to them by their rows
    there.
    """
    run = variant.run
    merged, at = with_added(run.steps, rows, added)
    program = run.program
    if operations is not None:
        program = replace(program, operations=np.concatenate((program.operations, operations)))
    work = np.insert(variant.recorded.work, at, 0, axis=0)
    recorded = replace(variant.recorded, work=work)
    return variant.with_run(replace(run, program=program, steps=merged), recorded)
