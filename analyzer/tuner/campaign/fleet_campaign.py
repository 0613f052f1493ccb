"""A campaign spread over several like boards: the same search, with simultaneous runs.

A generation has as many chromosomes as the boards run twice, so that no board waits long for
another's last run. The default is run on each board: a run's gain is over the default on the same
board. The course depends on the stored attempts alone, whatever their order in time; a resumed
campaign takes the generations that it knows from the store, and makes no run for them.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from foreread.analyzer.tuner.campaign.attempts import Due, failed_for_good
from foreread.analyzer.tuner.campaign.campaign import (
    DEFAULT_EVERY,
    DEFAULT_FIRST,
    Campaign,
    Rules,
)
from foreread.analyzer.tuner.campaign.crew import Boards, Crew, Job
from foreread.analyzer.tuner.campaign.progress import CampaignProgress
from foreread.analyzer.tuner.campaign.standings import TRIES
from foreread.analyzer.tuner.engine import Engine, Wanted
from foreread.analyzer.tuner.evaluation import FINAL, Attempt, chromosome_of, key_of
from foreread.analyzer.tuner.space.genes import Chromosome
from foreread.analyzer.tuner.store.limits import MOST_ATTEMPTS
from foreread.analyzer.tuner.store.records import Ended, Evaluation
from foreread.analyzer.tuner.store.store import Store
from foreread.boards.base.silent import silent

EACH = 2  # chromosomes of a generation by board; runs, if run by run


@dataclass(frozen=True)
class _Placed:
    """A run of a generation; ``only``: the board that has to make it, or None."""

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
        for evaluation in self._recorded:
            self._kept[key_of(evaluation.chromosome), evaluation.scenario].append(evaluation)
        self._recorded = deque()
        self._repeats = Counter({key: len(runs) for key, runs in self._kept.items()})
        self._since = Counter(dict.fromkeys(range(len(self._spec.boards)), 0))
        self._bad = Counter[int]()  # runs in a row, by board
        self._crew = Crew(boards, self._keep_lost, tell)
        self._made: list[Evaluation] = []  # of the generation
        self._spent: Ended | None = None

    def progress(self) -> CampaignProgress:
        """Return the progress of the campaign, with the runs of the generation under way."""
        progress = super().progress()
        return replace(progress, evaluations=progress.evaluations + len(self._made))

    def _at_once(self) -> int:
        return EACH * len(self._spec.boards)

    def _replays(self) -> bool:
        return bool(self._stored)

    def _take_turn(self) -> None:
        """Select the present contest, and measure the default there first, on each board."""
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
        due_defaults = due
        while ours := self._raced(batch):
            before = self._turns.attempts
            self._run_all([*due_defaults, *ours])
            due_defaults = []
            if self._turns.attempts == before:  # the store has no further runs
                return

    def _repeated(self, batch: list[Wanted]) -> list[_Placed]:
        """Return one more run of each chromosome; for a new one, its first runs."""
        placed: list[_Placed] = []
        requested = Counter(
            (key_of(run.chromosome), name) for run in batch for name in self._scenarios_of(run)
        )
        for (key, name), times in requested.items():
            if name not in self.standings.spent(key):
                runs = max(self._spec.fewest - len(self.standings.good(key, name)), times)
                placed += [_Placed(chromosome_of(key), name)] * runs
        return placed

    def _raced(self, batch: list[Wanted]) -> list[_Placed]:
        """Return the next run of each chromosome that is not decided, or of the best."""
        runners = dict.fromkeys(self.standings.next_to_run(key_of(w.chromosome)) for w in batch)
        return [
            placed
            for key in runners
            if key is not None
            for placed in self._in_each_scenario(chromosome_of(key))
        ]

    def _defaults(self, boards: Iterable[int], scenarios: Sequence[str]) -> list[_Placed]:
        return [_Placed(self._spec.default, name, board) for board in boards for name in scenarios]

    def _in_each_scenario(self, chromosome: Chromosome) -> list[_Placed]:
        return [_Placed(chromosome, name) for name in self._contest.spec.scenarios]

    def _run_all(self, placed: list[_Placed]) -> None:
        """Make runs, or take them from the store, and add all to the standings."""
        self._made, failures = [], Counter[tuple[str, str, int | None]]()
        for due in placed:
            self._get(due, failures)
        for job, board, run in self._crew.results():
            evaluation = replace(run, board=board, number=self._store.last_number() + 1)
            self._store.add(evaluation)
            self._made.append(evaluation)
            self._judge(
                _Placed(evaluation.chromosome, evaluation.scenario, job.only), evaluation, failures
            )
            if self._on_progress:
                self._on_progress(self.progress())
        for evaluation in sorted(self._made, key=lambda run: run.number):
            self.standings.add(evaluation)
            default = key_of(evaluation.chromosome) == self.standings.default
            self._since[evaluation.board] = 0 if default else self._since[evaluation.board] + 1
        self._made = []
        if self._spent is not None:
            self._end_by(self._spent)

    def _get(
        self,
        placed: _Placed,
        failures: Counter[tuple[str, str, int | None]],
        avoid: int | None = None,
    ) -> None:
        """Take a run from the store, or queue it."""
        key = key_of(placed.chromosome)
        kept = self._kept[key, placed.scenario]
        for run in kept:
            if placed.only in (None, run.board):
                kept.remove(run)
                self._made.append(run)
                self._judge(placed, run, failures)
                return
        gone = placed.only is not None and placed.only not in self._boards.alive
        if self._replays() or gone or self._is_spent():
            return
        repeat = self._repeats[key, placed.scenario]
        self._repeats[key, placed.scenario] += 1
        due = Due(0, placed.chromosome, placed.scenario, repeat, self._spec.seed)
        self._crew.submit(Job(due, only=placed.only, avoid=avoid))

    def _judge(
        self,
        placed: _Placed,
        evaluation: Evaluation,
        failures: Counter[tuple[str, str, int | None]],
    ) -> None:
        """Repeat a failed run, and check whether the board is the cause.

        Another board repeats it. A board that fails as often in a row as a chromosome may, or where
        such a chromosome failed last, has to run the default. If the default fails as often, the
        board is set aside.
        """
        status = evaluation.attempt.status
        key = key_of(evaluation.chromosome), evaluation.scenario, placed.only
        default = key[0] == self.standings.default
        self._bad[evaluation.board] = (
            0 if status in ("ok", *FINAL) else self._bad[evaluation.board] + 1
        )
        if status == "ok":
            failures[key] = 0
            return
        failures[key] += 1
        if self._bad[evaluation.board] == TRIES and not default:
            self._get(_Placed(self._spec.default, evaluation.scenario, evaluation.board), failures)
        if default and (failures[key] >= TRIES or status in FINAL):
            error = failed_for_good("the default cannot be measured", evaluation.attempt)
            if placed.only is None or len(self._boards.alive) <= 1:
                raise error
            if placed.only in self._boards.alive:
                self._crew.set_aside(placed.only, str(error))
        elif failures[key] < TRIES and status not in FINAL:
            self._get(placed, failures, avoid=evaluation.board)
        elif status not in FINAL and not default:
            self._get(_Placed(self._spec.default, evaluation.scenario, evaluation.board), failures)

    def _is_spent(self) -> bool:
        """Return whether the budget has no further run; the campaign ends after this generation."""
        budget = self._rules.budget
        kept = sum(map(len, self._kept.values()))
        begun = self._turns.attempts + len(self._made) + kept + self._crew.pending
        most = MOST_ATTEMPTS if budget.evaluations is None else budget.evaluations
        if begun >= min(most, MOST_ATTEMPTS):
            self._spent = "evaluations"
        seconds = self._turns.seconds + sum(run.ended - run.started for run in self._made)
        if budget.seconds is not None and seconds / len(self._spec.boards) >= budget.seconds:
            self._spent = "seconds"
        return self._spent is not None

    def _keep_lost(self, board: int, lost: Evaluation) -> None:
        """Store a run that was lost with its board; the run does not count."""
        evaluation = replace(lost, board=board, number=self._store.last_number() + 1)
        self._store.add(evaluation, withdrawn=True)


class Nobody:
    """The evaluator of a campaign with boards that make the runs."""

    def evaluate(self, chromosome: Chromosome, scenario: str) -> Attempt:
        """Raise AssertionError."""
        raise AssertionError("boards make the runs")
