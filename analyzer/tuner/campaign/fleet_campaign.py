"""A campaign spread over several like boards: the same search, its runs made at the same time.

A generation is as many chromosomes as the boards run twice, so that none waits long for another's
last run. The default is run on each board: a run's gain is over the default on the same board. The
course depends on the stored attempts alone, whatever their order in time; a resumed campaign takes
the generations that it knows from the store, and makes no run for them.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from analyzer.tuner.campaign.attempts import Due, failed_for_good
from analyzer.tuner.campaign.campaign import (
    DEFAULT_EVERY,
    DEFAULT_FIRST,
    Campaign,
    Rules,
)
from analyzer.tuner.campaign.crew import Boards, Crew, Job
from analyzer.tuner.campaign.progress import CampaignProgress
from analyzer.tuner.campaign.standings import TRIES
from analyzer.tuner.engine import Engine, Wanted
from analyzer.tuner.evaluation import FINAL, Attempt, chromosome_of, key_of
from analyzer.tuner.space.genes import Chromosome
from analyzer.tuner.store.limits import MOST_ATTEMPTS
from analyzer.tuner.store.records import Ended, Evaluation
from analyzer.tuner.store.store import Store
from boards.base.silent import silent

EACH = 2  # chromosomes of a generation by board; runs, run by run


@dataclass(frozen=True)
class _Placed:
    """A run of a generation; ``only``: the board that has to make it."""

    chromosome: Chromosome
    scenario: str
    only: int | None = None


class FleetCampaign(Campaign):
    """Runs the campaign of ``store.spec`` on ``boards``, which are in the order of its boards."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        boards: Boards[Due, Evaluation],
        rules: Rules | None = None,
        on_progress: Callable[[CampaignProgress], None] | None = None,
        turns: int = 0,
        tell: Callable[[str], None] = silent,
    ) -> None:
        super().__init__(store, engine, Nobody(), rules, on_progress, turns, tell)
        self._boards = boards
        self._kept: dict[tuple[str, str], list[Evaluation]] = defaultdict(list)
        for one in self._recorded:
            self._kept[key_of(one.chromosome), one.scenario].append(one)
        self._recorded = deque()
        self._repeats = Counter({key: len(runs) for key, runs in self._kept.items()})
        self._since = Counter(dict.fromkeys(range(len(self._spec.boards)), 0))
        self._bad = Counter[int]()  # runs in a row, by board
        self._crew = Crew(boards, self._keep_lost, tell)
        self._made: list[Evaluation] = []  # of the generation
        self._spent: Ended | None = None

    def progress(self) -> CampaignProgress:
        """Return where the campaign is, with the runs of the generation under way."""
        known = super().progress()
        return replace(known, evaluations=known.evaluations + len(self._made))

    def _at_once(self) -> int:
        return EACH * len(self._spec.boards)

    def _replays(self) -> bool:
        return bool(self._stored)

    def _take_turn(self) -> None:
        """Put in force whose turn it is, and measure the default there first, on each board."""
        self._contest = self._turns.in_force(self._generation)
        if not self.standings.measured():
            rounds = min(self._spec.most, DEFAULT_FIRST) if self._believer else self._spec.most
            boards = range(len(self._spec.boards))
            self._run_all(self._defaults(boards, self._contest.spec.scenarios) * rounds)

    def _measure(self, batch: list[Wanted]) -> None:
        scenarios = self._scenarios_due()
        every = DEFAULT_EVERY * len(scenarios)
        boards = [board for board, runs in self._since.items() if runs >= every]
        due = self._defaults(boards, scenarios)
        if self._believer:
            self._run_all([*due, *self._repeated(batch)])
            return
        wanted = due
        while ours := self._raced(batch):
            before = self._turns.attempts
            self._run_all([*wanted, *ours])
            wanted = []
            if self._turns.attempts == before:  # those of the store are all that there is
                return

    def _repeated(self, batch: list[Wanted]) -> list[_Placed]:
        """Return one more run of each, of a new one as many as each has."""
        placed: list[_Placed] = []
        asked = Counter(
            (key_of(one.chromosome), name) for one in batch for name in self._scenarios_of(one)
        )
        for (key, name), times in asked.items():
            if name not in self.standings.spent(key):
                runs = max(self._spec.fewest - len(self.standings.good(key, name)), times)
                placed += [_Placed(chromosome_of(key), name)] * runs
        return placed

    def _raced(self, batch: list[Wanted]) -> list[_Placed]:
        """Return the next run of each chromosome that is not decided, or of the best."""
        runners = dict.fromkeys(self.standings.next_to_run(key_of(w.chromosome)) for w in batch)
        return [
            wanted
            for key in runners
            if key is not None
            for wanted in self._in_each_scenario(chromosome_of(key))
        ]

    def _defaults(self, boards: Iterable[int], scenarios: Sequence[str]) -> list[_Placed]:
        return [_Placed(self._spec.default, name, board) for board in boards for name in scenarios]

    def _in_each_scenario(self, chromosome: Chromosome) -> list[_Placed]:
        return [_Placed(chromosome, name) for name in self._contest.spec.scenarios]

    def _run_all(self, wanted: list[_Placed]) -> None:
        """Make runs, or take them from the store, and put all into the standings."""
        self._made, failures = [], Counter[tuple[str, str, int | None]]()
        for due in wanted:
            self._get(due, failures)
        for job, board, made in self._crew.results():
            one = replace(made, board=board, number=self._store.last_number() + 1)
            self._store.add(one)
            self._made.append(one)
            self._judge(_Placed(one.chromosome, one.scenario, job.only), one, failures)
            if self._on_progress:
                self._on_progress(self.progress())
        for one in sorted(self._made, key=lambda one: one.number):
            self.standings.add(one)
            default = key_of(one.chromosome) == self.standings.default
            self._since[one.board] = 0 if default else self._since[one.board] + 1
        self._made = []
        if self._spent is not None:
            self._end_by(self._spent)

    def _get(
        self,
        wanted: _Placed,
        failures: Counter[tuple[str, str, int | None]],
        avoid: int | None = None,
    ) -> None:
        """Take a run from the store, or queue it."""
        key = key_of(wanted.chromosome)
        kept = self._kept[key, wanted.scenario]
        for one in kept:
            if wanted.only in (None, one.board):
                kept.remove(one)
                self._made.append(one)
                self._judge(wanted, one, failures)
                return
        gone = wanted.only is not None and wanted.only not in self._boards.alive
        if self._replays() or gone or self._is_spent():
            return
        repeat = self._repeats[key, wanted.scenario]
        self._repeats[key, wanted.scenario] += 1
        due = Due(0, wanted.chromosome, wanted.scenario, repeat, self._spec.seed)
        self._crew.submit(Job(due, only=wanted.only, avoid=avoid))

    def _judge(
        self,
        wanted: _Placed,
        one: Evaluation,
        failures: Counter[tuple[str, str, int | None]],
    ) -> None:
        """Repeat a failed run, and see whether the board is the cause.

        Another board repeats it. A board that fails as often in a row as a chromosome may, or where
        such a chromosome failed last, has to run the default. If that fails as often, the board is
        set aside.
        """
        status = one.attempt.status
        key = key_of(one.chromosome), one.scenario, wanted.only
        default = key[0] == self.standings.default
        self._bad[one.board] = 0 if status in ("ok", *FINAL) else self._bad[one.board] + 1
        if status == "ok":
            failures[key] = 0
            return
        failures[key] += 1
        if self._bad[one.board] == TRIES and not default:
            self._get(_Placed(self._spec.default, one.scenario, one.board), failures)
        if default and (failures[key] >= TRIES or status in FINAL):
            error = failed_for_good("the default cannot be measured", one.attempt)
            if wanted.only is None or len(self._boards.alive) <= 1:
                raise error
            if wanted.only in self._boards.alive:
                self._crew.set_aside(wanted.only, str(error))
        elif failures[key] < TRIES and status not in FINAL:
            self._get(wanted, failures, avoid=one.board)
        elif status not in FINAL and not default:
            self._get(_Placed(self._spec.default, one.scenario, one.board), failures)

    def _is_spent(self) -> bool:
        """Return whether the budget has no further run; the campaign ends after this generation."""
        budget = self._rules.budget
        kept = sum(map(len, self._kept.values()))
        begun = self._turns.attempts + len(self._made) + kept + self._crew.pending
        most = MOST_ATTEMPTS if budget.evaluations is None else budget.evaluations
        if begun >= min(most, MOST_ATTEMPTS):
            self._spent = "evaluations"
        seconds = self._turns.seconds + sum(one.ended - one.started for one in self._made)
        if budget.seconds is not None and seconds / len(self._spec.boards) >= budget.seconds:
            self._spent = "seconds"
        return self._spent is not None

    def _keep_lost(self, board: int, one: Evaluation) -> None:
        """Store a run that was lost with its board; it counts for nothing."""
        made = replace(one, board=board, number=self._store.last_number() + 1)
        self._store.add(made, withdrawn=True)


class Nobody:
    """The evaluator of a campaign whose boards make the runs."""

    def evaluate(self, chromosome: Chromosome, scenario: str) -> Attempt:
        """Fail."""
        raise AssertionError("boards make the runs")
