"""IOPerf's normal and learning mode, section 7: patterns of a machine at work, and their settings.

``Observer`` receives the watcher's periods. A lasting pattern outside the clearance of all known
patterns is noted in the TUNING file. In the times that the user allows, ``learn`` searches settings
for it by cold trials of ``tune``: their command simulates the pattern (tracer/remote/simulate.sh),
and the settings are restored after each. The paper simulates with its benchmarks, and writes as
much as a pattern writes. That wears a board, and a board has no benchmark: a shell with dd and awk
simulates, and nothing is written unless the user names a folder.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from pathlib import Path

from foreread.analyzer.tuner.campaign.attempts import CampaignError, DisturbedError
from foreread.analyzer.tuner.campaign.campaign import Campaign, Rules
from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.campaign.feasibility import ExcessLimits
from foreread.analyzer.tuner.engines.make import make_engine
from foreread.analyzer.tuner.engines.patterns import (
    RANGES,
    Pattern,
    nearest,
    pattern_of,
    similarity,
    within_clearance,
)
from foreread.analyzer.tuner.engines.recipe import load_recipe
from foreread.analyzer.tuner.engines.stopping import Budget
from foreread.analyzer.tuner.evaluation import Attempt
from foreread.analyzer.tuner.findings.confirming import ConfirmingRuns
from foreread.analyzer.tuner.findings.plans import INERT, keep_pattern, note_pattern, patterns_in
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.space.genes import Chromosome
from foreread.analyzer.tuner.space.losses import worst_losses
from foreread.analyzer.tuner.store.records import Spec, TopGenes
from foreread.analyzer.tuner.store.store import Store
from foreread.benches.opened import open_bench
from foreread.boards.base.silent import silent
from foreread.error import ArgumentError
from foreread.tracer.remote.watch import Period
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.trials.trial import Scenario
from foreread.tuning.campaign import board_of, trials_of
from foreread.tuning.evaluator import Opening, TrialEvaluator
from foreread.tuning.options import START_UP, TuneOptions

RUNS = 40  # of the search for a pattern, at most; its confirmation comes after
FOUNDERS = 3  # settings of the most similar known patterns that a search begins with
MOST_MIB = 8  # that a simulated run reads and writes
LEAST_S = 60.0  # of allowed time, below which no search begins
_SEARCHING = 0.5  # of the time; the confirmation may take the rest
REST_S = 600.0  # without learning, after the machine was in use
_LIMIT_S = 120.0  # of one run
_IDLE = "idle"


@dataclass
class Observer:
    """Notes new patterns of the watcher's periods, and whether the machine is idle.

    Periods under settings are ignored: settings change the bios. ``patience``: number of periods
    that a pattern must last, and of idle periods after which the machine is idle.
    """

    file: Path
    patience: int
    known: list[Pattern]
    _in_force: bool = False
    _pattern: Pattern | None = None
    _lasted: int = 0
    _idle: int = 0

    @property
    def idle(self) -> bool:
        """Whether the last periods had no workload."""
        return self._idle >= self.patience

    def acted(self, key: str) -> None:
        """Take an action of the watcher."""
        if key in ("applied", "defaults", "measuring", "undone"):
            self._in_force = key == "applied"
            self._pattern = None

    def passed(self, period: Period) -> Pattern | None:
        """Take a period; return the pattern that was noted in it. Raises StoreError."""
        self._idle = 0 if period.fingerprint else self._idle + 1
        pattern = pattern_of({**period.sums, **period.own}) if period.own else None
        if not period.fingerprint or pattern is None or self._in_force:
            return None
        if self._pattern is None or not within_clearance(self._pattern, pattern):
            self._pattern, self._lasted = pattern, 0
        self._lasted += 1
        if self._lasted < self.patience or nearest(self.known, self._pattern) is not None:
            return None
        self.known.append(self._pattern)
        return self._pattern if note_pattern(self.file, self._pattern) else None


@dataclass
class Learning:
    """The patterns to learn: ``target`` is the machine, ``devices`` its disks (else the file's).

    ``folder``: of the target, where simulated writes go; None: patterns that write are not learnt.
    ``risked``: values with which a power cut loses more are tried, too.
    """

    file: Path
    target: str
    identity: Path | None = None
    devices: Sequence[str] = ()
    folder: str | None = None
    risked: bool = False
    wait_s: float = 0.0
    tell: Callable[[str], None] = silent
    clock: Callable[[], float] = field(default=time.monotonic)
    due: list[Pattern] = field(default_factory=list)
    tried: set[Pattern] = field(default_factory=set)  # in the present allowed time
    rests_until_s: float = -math.inf

    def next(self) -> Pattern | None:
        """Return the pattern to learn now; None if none is due."""
        return self.due[0] if self.due and self.clock() >= self.rests_until_s else None

    def try_next(self, pattern: Pattern, seconds: float) -> TopGenes:
        """Learn a pattern (``learn``). One that cannot be learnt waits for the next allowed time;
        one that was disturbed is tried again after a rest.
        """
        self.tried.add(pattern)
        try:
            return self.learn(pattern, seconds)
        except DisturbedError:
            self.tried.discard(pattern)
            self.rests_until_s = self.clock() + REST_S
            raise

    def refresh(self) -> list[Pattern]:
        """Read which patterns are due; return all that are known. Raises StoreError."""
        patterns = patterns_in(self.file)
        self.due[:] = []
        for pattern, genes in patterns.items():
            if genes.fitness <= INERT:
                self.wait_for(pattern)
        return list(patterns)

    def wait_for(self, pattern: Pattern) -> None:
        """Have a pattern learnt in the allowed time, unless it cannot be, or was tried."""
        if pattern not in self.tried and (self.folder or not writes(pattern)):
            self.due.append(pattern)

    def allow_again(self) -> None:
        """Begin a new allowed time: what was tried may be tried again. Raises StoreError."""
        if self.tried:
            self.tried.clear()
            self.refresh()

    def learn(self, pattern: Pattern, seconds: float, opening: Opening | None = None) -> TopGenes:
        """Search settings for a pattern, store them, and return them.

        Raises CampaignError if the time is over before, or if the machine is in use; StoreError,
        GeneError for a file of another board or a damaged one; ArgumentError for values that may
        lose data.
        """
        ends_s = self.clock() + seconds
        with Store.read(self.file) as store:
            spec, setup = store.spec, CampaignSetup.of(store.spec)
        self.check()
        options = self._options(pattern, spec)
        recipe = load_recipe(START_UP)
        campaign = CampaignSetup(recipe, setup.space, limits=ExcessLimits())
        trials = trials_of(options, recipe)
        opened = opening or partial(open_bench, self.target, self.identity, trials, self.tell)
        with TrialEvaluator(opened, tell=self.tell) as evaluator:
            with Store.read(self.file) as store:
                store.check_board(board_of(options, evaluator.bench))
            evaluator.space, evaluator.scenarios = setup.space, {_IDLE: Scenario()}
            search = Spec(
                board=spec.board,
                scenarios=(_IDLE,),
                default=setup.space.default(),
                sampler=START_UP,
                recipe=campaign.recipe_text,
                space=campaign.space_text,
                command=tuple(options.run.command),
            )
            limited = _Until(evaluator, ends_s, self.clock)
            with Store.in_memory(search) as store:
                engine = make_engine(
                    recipe, setup.space, search.seed, founders(patterns_in(self.file), pattern)
                )
                budget = Budget(RUNS, max(_SEARCHING * (ends_s - self.clock()), 1.0))
                Campaign(store, engine, limited, Rules(budget)).run()
                ConfirmingRuns(store, limited).run()
                learnt = _top_genes(Results.of(store))
        keep_pattern(self.file, pattern, learnt)
        return learnt

    def _options(self, pattern: Pattern, spec: Spec) -> TuneOptions:
        """Return the options of the trials."""
        disks = tuple(self.devices) or spec.board.disks
        command = simulation(pattern, disks[0], self.folder)
        return TuneOptions(
            RunOptions(command, allow_warm=True),
            devices=disks,
            target=self.target,
            identity=self.identity,
            limit_s=_LIMIT_S,
            wait_s=self.wait_s,
        )

    def check(self) -> None:
        """Raise ArgumentError if the file's values may lose data; StoreError, GeneError."""
        with Store.read(self.file) as store:
            losses = worst_losses(CampaignSetup.of(store.spec).space)
        if losses and not self.risked:
            raise ArgumentError(
                f"{self.file} tries values that lose data: {losses[0].sentence}",
                "to learn with them anyway, add --allow durability",
            )


class _Until:
    """An evaluator of the allowed time."""

    def __init__(self, trials: TrialEvaluator, ends_s: float, clock: Callable[[], float]) -> None:
        self._trials, self._ends_s, self._clock = trials, ends_s, clock

    def evaluate(self, chromosome: Chromosome, scenario: str) -> Attempt:
        """Make one trial; raises CampaignError when the time is over."""
        if self._clock() >= self._ends_s:
            raise CampaignError("the allowed time is over", "allow a longer time with --learn-at")
        return self._trials.evaluate(chromosome, scenario)


def founders(patterns: dict[Pattern, TopGenes], pattern: Pattern) -> list[Chromosome]:
    """Return the settings of the learnt patterns that are most similar: solutions survive."""
    learnt = [(each, genes) for each, genes in patterns.items() if genes.fitness > INERT]
    learnt.sort(key=lambda pair: -similarity(pair[0], pattern))
    return [genes.chromosome for _, genes in learnt[:FOUNDERS]]


def writes(pattern: Pattern) -> bool:
    """Return whether a pattern writes so much that its simulation must."""
    return pattern.read_share < RANGES[-1][0]


def simulation(pattern: Pattern, disk: str, folder: str | None) -> list[str]:
    """Return the command that simulates a pattern on a disk."""
    text = (resources.files("foreread.tracer.remote") / "simulate.sh").read_text()
    numbers = (pattern.processes, pattern.read_share, pattern.random_share, pattern.request_kib)
    more = [folder] if folder and writes(pattern) else []
    return ["sh", "-c", text, "sh", *map(str, numbers), disk, str(MOST_MIB), *more]


def seconds_left(allowed: Sequence[tuple[int, int]], minute: float) -> float:
    """Return how long learning is allowed from a minute of the day on; 0: not now.

    ``allowed``: minutes of the day from which and until which; a time may go beyond midnight.
    """
    day = 24 * 60
    left = [
        ((until - minute) % day) * 60
        for begin, until in allowed
        if (minute - begin) % day < (until - begin) % day
    ]
    return max(left, default=0.0)


def minute_of_day() -> float:
    """Return the minute of the day here, with its seconds as a fraction."""
    now = time.localtime()
    return now.tm_hour * 60 + now.tm_min + now.tm_sec / 60


def _top_genes(results: Results) -> TopGenes:
    confirmed = results.confirmed
    effect = confirmed.over_default.effect if confirmed.gains and confirmed.over_default else 0.0
    return TopGenes(confirmed.chromosome, math.exp(-math.log1p(effect)))
