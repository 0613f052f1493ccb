"""A campaign: the engine proposes chromosomes, they are run, and the engine gets their fitness.

The course of a campaign depends only on its spec and on the measured values. To resume a campaign,
its course is repeated from the beginning with a new engine of the same seed, and attempts come from
the store while it has some. So the random stream is the same, and nothing is measured twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NoReturn

from foreread.analyzer.tuner.campaign.attempts import CampaignError, Due, evaluated, failed_for_good
from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.campaign.left_out import LeftOut
from foreread.analyzer.tuner.campaign.progress import CampaignProgress, progress_of
from foreread.analyzer.tuner.campaign.standings import Standings
from foreread.analyzer.tuner.campaign.turns import Contest, Turns
from foreread.analyzer.tuner.campaign.weights import weighted_mean
from foreread.analyzer.tuner.engine import Believer, Engine, Informed, RunByRun, Scored, Wanted
from foreread.analyzer.tuner.engines.reintroduction import Fingerprinting
from foreread.analyzer.tuner.engines.stopping import Budget, Patience, Stage, gained_too_little
from foreread.analyzer.tuner.evaluation import FINAL, Evaluator, chromosome_of, key_of
from foreread.analyzer.tuner.space.genes import Chromosome, Space
from foreread.analyzer.tuner.store.limits import MOST_ATTEMPTS
from foreread.analyzer.tuner.store.records import Ended, Evaluation
from foreread.analyzer.tuner.store.store import Store
from foreread.boards.base.silent import silent

DEFAULT_FIRST = 3  # first rounds of the default, where the engine can request more
DEFAULT_EVERY = 12  # rounds of other chromosomes between two of the default; runs, if run by run
IDLE_GENERATIONS = 100  # without a new attempt: the engine repeats its proposals


class _Spent(Exception):
    """The budget is used up."""

    def __init__(self, ended: Ended) -> None:
        self.ended = ended


@dataclass(frozen=True)
class Rules:
    """The conditions that end a campaign.

    ``patience``: None continues whatever the noise. ``interrupts``: exceptions of the evaluator
    that are not failures of an evaluation (a signal's); they end the campaign, as Ctrl-C does.
    """

    budget: Budget = field(default_factory=Budget)
    patience: Patience | None = field(default_factory=Patience)
    interrupts: tuple[type[BaseException], ...] = ()


class Campaign:
    """Runs the campaign of ``store.spec``, continuing the store.

    ``engine`` must be new, made of the spec's recipe, space and seed; ``turns`` is the recipe's
    (turns.py). ``on_progress`` is called after every new attempt; ``tell`` is called with the genes
    that are left out of the search since they cannot act, and with the genes that return.
    """

    def __init__(
        self,
        store: Store,
        engine: Engine,
        evaluator: Evaluator,
        rules: Rules | None = None,
        on_progress: Callable[[CampaignProgress], None] | None = None,
        turns: int = 0,
        tell: Callable[[str], None] = silent,
    ) -> None:
        self._store = store
        self._spec = store.spec
        self._engine = engine
        self._evaluator = evaluator
        self._rules = rules or Rules()
        self._on_progress = on_progress
        self._turns = Turns(store.spec, turns)
        self._contest = self._turns.in_force(0)
        self._recorded = deque(store.evaluations())
        self._stored = deque(store.generations())
        self._number = store.last_number()
        self._generation = 0
        self._since_default = 0
        self._believer = engine if isinstance(engine, Believer) else None
        self._run_by_run = engine if isinstance(engine, RunByRun) else None
        genes = CampaignSetup.of(self._spec).space if self._spec.space else Space(())
        self._left_out = LeftOut(genes, tell)

    @property
    def standings(self) -> Standings:
        """The standings in the present scenarios."""
        return self._contest.standings

    def run(self) -> Ended:
        """Continue until the engine or the budget ends, or the gain is below the noise.

        Return the reason of the end. Raises CampaignError when the default cannot be measured
        (DisturbedError when other processes are the cause), when the store holds another course, or
        when the evaluator raises one. StoreError when an attempt cannot be stored.
        KeyboardInterrupt and ``interrupts`` pass through. The campaign can be resumed after any of
        them.
        """
        try:
            ended = self._search()
        except _Spent as spent:
            ended = spent.ended
        if self._store.ended != ended:
            self._store.end(ended)
        return ended

    @property
    def best(self) -> str:
        """The best chromosome so far."""
        return self._contest.best

    def progress(self) -> CampaignProgress:
        """Return the progress of the campaign."""
        returned = self._engine.returned if isinstance(self._engine, Fingerprinting) else None
        boards = len(self._spec.boards)
        return progress_of(self._turns, self._generation, self._rules.budget, returned, boards)

    def _search(self) -> Ended:
        idle = 0
        while idle < IDLE_GENERATIONS:
            before = self._turns.attempts
            self._take_turn()
            self._inform_of_mechanisms()
            batch = self._ask()
            if not batch:
                return "finished"
            self._measure(batch)
            self._tell(batch)
            idle = idle + 1 if self._turns.attempts == before else 0
            if self._gained_too_little():
                return "noise"
        return "nothing new"

    def _ask(self) -> list[Wanted]:
        if self._run_by_run:
            return self._run_by_run.ask_runs(self._at_once())
        return list(map(Wanted, self._engine.ask()))

    def _at_once(self) -> int:
        """Return the number of simultaneous runs."""
        return 1

    def _measure(self, batch: list[Wanted]) -> None:
        """Make the runs of a generation."""
        for run in batch:
            if self._believer:
                self._repeat(run)
            else:
                self._race(run.chromosome)

    def _replays(self) -> bool:
        """Return whether attempts come from the store."""
        return bool(self._recorded)

    def _take_turn(self) -> None:
        """Select the present contest, and measure the default there first."""
        before, self._contest = self._contest, self._turns.in_force(self._generation)
        if not self.standings.measured():
            most = self._spec.most
            self._measure_default(min(most, DEFAULT_FIRST) if self._believer else most)
        elif self._contest != before:
            self._measure_default(1)

    def _inform_of_mechanisms(self) -> None:
        """Report the absent mechanisms to the engine, also before its first generation."""
        if not isinstance(self._engine, Informed):
            return
        had_runs = self._left_out.known
        if self._left_out.update(self.standings.metrics()) or not had_runs:
            self._engine.inform(self.standings.weights, self._spec.default, self._left_out.absent)

    def _tell(self, batch: list[Wanted]) -> None:
        scored = [self._scored(run.chromosome) for run in batch]
        stored = self._stored.popleft() if self._stored else None
        if stored is not None:
            replayed = [(key_of(chromosome), fitness) for chromosome, fitness in stored]
            if replayed != [(key_of(score.chromosome), score.fitness) for score in scored]:
                raise self._another_course()
        self._inform(scored)
        if stored is None:
            top = self._engine.known if isinstance(self._engine, Fingerprinting) else {}
            self._store.add_generation(self._generation, scored, top, self._contest.believed)
        self._generation += 1
        self._contest.stages.append(Stage(self.best, self.standings.measured()))

    def _inform(self, scored: list[Scored]) -> None:
        """Pass a generation's results to the engine; all results if the engine ranks itself."""
        if self._believer is None:
            self._engine.tell(scored)
            return
        everyone = map(chromosome_of, self.standings.chromosomes())
        self._believer.tell([self._scored(chromosome) for chromosome in everyone])
        self._contest.believed = key_of(self._believer.best())

    def _gained_too_little(self) -> bool:
        patience = self._rules.patience
        if patience is None or self._replays():
            return False
        return all(self._ends(contest, patience) for contest in self._turns.contests)

    def _ends(self, contest: Contest, patience: Patience) -> bool:
        """Return whether a contest gained too little, by its runs or by the engine's estimate.

        An estimate uses all runs together, so it has no noise that hides a gain of single runs.
        """
        patience = patience.of(self._left_out.genes_left, len(contest.spec.scenarios))
        believer, standings = self._believer, contest.standings
        if believer is None:
            gain: Callable[[str], float] = standings.gain
            noise = standings.best_from_second
        else:
            gain, noise = lambda key: believer.gain(chromosome_of(key)), lambda: 0.0
        return gained_too_little(contest.stages, patience, gain, noise)

    def _scored(self, chromosome: Chromosome) -> Scored:
        """Return fitness and metrics: medians of good attempts, weighted over scenarios."""
        key, by_name = key_of(chromosome), dict[str, list[tuple[float, float]]]()
        for scenario, weight in self.standings.weights.items():
            good = self.standings.good(key, scenario)
            for name in {name: None for attempt in good for name in attempt.metrics}:
                values = [attempt.metrics[name] for attempt in good if name in attempt.metrics]
                by_name.setdefault(name, []).append((median(values), weight))
            values = [attempt.value for attempt in good if attempt.value is not None]
            if values:
                by_name[f"value:{scenario}"] = [(median(values), weight)]
        metrics = {
            name: weighted_mean(*map(list, zip(*pairs, strict=True)))
            for name, pairs in by_name.items()
        }
        fitness, gains = self.standings.fitness(key), self.standings.gains_by_scenario(key)
        final, spent = self.standings.exhausted(key), self.standings.spent(key)
        return Scored(chromosome, fitness, metrics, gains, final, spent)

    def _race(self, chromosome: Chromosome) -> None:
        """Measure a chromosome as often as useful, and the chromosome that it is compared with."""
        key = key_of(chromosome)
        while (runner := self.standings.next_to_run(key)) is not None:
            if self._default_due():
                self._run_best()
            self._since_default += 1
            self._run(chromosome if runner == key else chromosome_of(runner))

    def _repeat(self, run: Wanted) -> None:
        """Measure a chromosome once more; a new one as often as the spec's ``fewest``."""
        key = key_of(run.chromosome)
        scenarios = self._scenarios_of(run)
        good_runs = min(len(self.standings.good(key, scenario)) for scenario in scenarios)
        for _ in range(max(self._spec.fewest - good_runs, 1)):
            remaining = [
                scenario for scenario in scenarios if scenario not in self.standings.spent(key)
            ]
            if len(remaining) < len(scenarios):
                return
            self._default_due()
            self._since_default += len(scenarios) if self._run_by_run else 1
            self._run(run.chromosome, scenarios)

    def _scenarios_of(self, run: Wanted) -> Sequence[str]:
        return self._contest.spec.scenarios if run.scenario is None else [run.scenario]

    def _default_due(self) -> bool:
        """Measure the default if it is due; return whether it was."""
        due = self._since_default >= DEFAULT_EVERY
        if due:
            self._measure_default(1, self._scenarios_due())
        return due

    def _scenarios_due(self) -> Sequence[str]:
        """Return the scenarios for the default's next run: run by run, the least-run scenario."""
        scenarios = self._contest.spec.scenarios
        if not self._run_by_run:
            return scenarios
        runs = self.standings.tried
        return [min(scenarios, key=lambda scenario: runs(self.standings.default, scenario))]

    def _run_best(self) -> None:
        """Repeat the best until it has all its repeats: it may be the best by chance."""
        best = self.standings.best()
        if not self.standings.exhausted(best):
            self._run(chromosome_of(best))

    def _run(self, chromosome: Chromosome, scenarios: Sequence[str] = ()) -> None:
        status = self._round(chromosome, scenarios)
        if status not in (None, *FINAL):
            self._measure_default(1, scenarios)  # to find out whether the machine is the cause

    def _measure_default(self, rounds: int, scenarios: Sequence[str] = ()) -> None:
        """Measure the default; raise CampaignError if it cannot be measured."""
        self._since_default = 0
        for _ in range(rounds):
            status = self._round(self._spec.default, scenarios)
            if status is not None:
                raise self._default_failed()

    def _round(self, chromosome: Chromosome, scenarios: Sequence[str] = ()) -> str | None:
        """Make a good attempt in each scenario, by default in all present ones.

        Return None, or the status of the failure.
        """
        key = key_of(chromosome)
        for scenario in scenarios or self._contest.spec.scenarios:
            status = self._attempt(chromosome, scenario)
            while status != "ok" and not self.standings.given_up(key, scenario):
                status = self._attempt(chromosome, scenario)
            if status != "ok":
                return status
        return None

    def _attempt(self, chromosome: Chromosome, scenario: str) -> str:
        if self._recorded:
            evaluation = self._recorded.popleft()
            if (key_of(evaluation.chromosome), evaluation.scenario) != (
                key_of(chromosome),
                scenario,
            ):
                raise self._another_course()
            self.standings.add(evaluation)
            return evaluation.attempt.status
        self._check_budget()
        evaluation = self._evaluate(chromosome, scenario)
        self._store.add(evaluation)
        self.standings.add(evaluation)
        if self._on_progress:
            self._on_progress(self.progress())
        return evaluation.attempt.status

    def _evaluate(self, chromosome: Chromosome, scenario: str) -> Evaluation:
        repeat = self.standings.tried(key_of(chromosome), scenario)
        self._number += 1
        due = Due(self._number, chromosome, scenario, repeat, self._spec.seed)
        return evaluated(self._evaluator, due, self._rules.interrupts)

    def _check_budget(self) -> None:
        budget, turns = self._rules.budget, self._turns
        limit = MOST_ATTEMPTS if budget.evaluations is None else budget.evaluations
        most = min(limit, MOST_ATTEMPTS)
        if turns.attempts >= most:
            self._end_by("evaluations")
        if budget.seconds is not None and turns.seconds >= budget.seconds:
            self._end_by("seconds")

    def _end_by(self, ended: Ended) -> NoReturn:
        """End the search: its budget is used up."""
        raise _Spent(ended)

    def _default_failed(self) -> CampaignError:
        """Withdraw attempts that failed together with the default: the target was the cause."""
        attempts = self._store.evaluations()
        self._store.withdraw_after(max(map(self._shown_sound, attempts), default=0))
        return failed_for_good("the default cannot be measured", attempts[-1].attempt)

    def _shown_sound(self, evaluation: Evaluation) -> int:
        """Return the number of an attempt if the target worked in it, else 0."""
        refused = evaluation.attempt.status in FINAL and evaluation.chromosome != self._spec.default
        return evaluation.number if evaluation.attempt.status == "ok" or refused else 0

    def _another_course(self) -> CampaignError:
        made_by = self._spec.foreread or "that made it"
        return CampaignError(
            f"{self._store.name} holds another course than this campaign's",
            f"resume it with the recipe it was begun with, and the foreread {made_by}",
        )
