"""Campaigns: what is measured how often, what failures cost, and resuming."""

import random
import signal
from collections import Counter

import pytest
import tuning
from rings import further

from foreread.analyzer.tuner.campaign.attempts import CampaignError
from foreread.analyzer.tuner.campaign.campaign import Campaign, Rules
from foreread.analyzer.tuner.engines.stopping import Budget, Patience
from foreread.analyzer.tuner.evaluation import STATUSES, Attempt, TargetGone, key_of
from foreread.analyzer.tuner.store.store import Store
from studies.tuning.landscape import Landscape

DEFAULT = tuning.SPACE.default()
BEST = key_of(tuning.BEST)
SCENARIOS = ("idle", "reader")
TO_THE_END = Rules(patience=None)


class Scripted:
    """Evaluates on the measured space; ``course`` has what happens instead, by attempt from 1."""

    def __init__(self, course=None, of=None, then=None):
        self.calls = []
        self.course = course or {}
        self.of, self.then = of, then
        self.landscape = Landscape(tuning.table())

    def reseed(self, seed):
        self.landscape.reseed(seed)

    def evaluate(self, chromosome, scenario):
        self.calls.append((key_of(chromosome), scenario))
        happens = self.course.get(len(self.calls))
        if self.of is not None and key_of(self.of) == key_of(chromosome):
            happens = self.then
        if isinstance(happens, BaseException):
            raise happens
        return happens or self.landscape.evaluate(chromosome, scenario)


def campaign(store, evaluator=None, rules=TO_THE_END, on_progress=None):
    engine = tuning.RandomSearch(store.spec.seed)
    return Campaign(store, engine, evaluator or Scripted(), rules, on_progress)


def held(store):
    """All that a store holds but for times and numbers, which withdrawn attempts have too."""
    made = [
        (key_of(one.chromosome), one.scenario, one.repeat, one.seed, one.attempt)
        for one in store.evaluations()
    ]
    return made, store.generations(), store.ended


def run_whole(**changes):
    with Store.in_memory(tuning.spec(**changes)) as store:
        assert campaign(store).run() == "finished"
        return held(store)


def test_the_best_is_found_and_everything_is_stored():
    with Store.in_memory(tuning.spec()) as store:
        evaluator = Scripted()
        run = campaign(store, evaluator)
        assert run.run() == store.ended == "finished"
        assert run.standings.best() == BEST
        made = [(key_of(one.chromosome), one.scenario) for one in store.evaluations()]
        assert made == evaluator.calls
        received = [(key_of(c), fitness) for batch in store.generations() for c, fitness in batch]
        assert {key for key, _ in received} == {key_of(c) for c in tuning.SPACE.enumerate()}
        assert max(received, key=lambda one: one[1])[0] == BEST


def test_the_default_is_measured_first_and_again_and_again():
    made, _, _ = run_whole()
    keys = [key for key, *_ in made]
    default = key_of(DEFAULT)
    assert keys[:10] == [default] * 10 and keys[10] != default  # five repeats, two scenarios
    others = [keys.index(default, at) - at for at in range(11, len(keys)) if default in keys[at:]]
    assert max(others) <= (12 + 1) * 2  # twelve rounds, and one of the best


def test_losers_are_measured_less_often_than_close_ones():
    made, _, _ = run_whole(most=5)
    runs = Counter(key for key, scenario, *_ in made if scenario == "idle")
    assert runs[BEST] >= 3
    slow = [key_of(c) for c in tuning.SPACE.enumerate() if tuning.seconds_of(c, "reader") > 4]
    assert sum(runs[key] == 1 for key in slow) >= 0.7 * len(slow)


def test_fewest_and_most_repeats_bind():
    made, _, _ = run_whole(fewest=2, most=2)
    runs = Counter((key, scenario) for key, scenario, *_ in made)
    assert {n for (key, _), n in runs.items() if key != key_of(DEFAULT)} == {2}


def test_fitness_is_the_geometric_mean_of_default_over_this():
    quiet = Landscape(tuning.table(noise=0.0))
    with Store.in_memory(tuning.spec()) as store:
        run = campaign(store, quiet)
        run.run()
        ratios = [
            tuning.seconds_of(DEFAULT, s) / tuning.seconds_of(tuning.BEST, s) for s in SCENARIOS
        ]
        assert run.standings.fitness(BEST) == pytest.approx((ratios[0] * ratios[1]) ** 0.5)
        assert run.progress().improvement == pytest.approx(1 - (ratios[0] * ratios[1]) ** -0.5)


def test_a_rate_is_better_the_higher_it_is():
    class Rates:
        def evaluate(self, chromosome, scenario):
            return Attempt("ok", 100 / tuning.seconds_of(chromosome, scenario), {"iops": 5.0})

    with Store.in_memory(tuning.spec(objective="rate")) as store:
        run = campaign(store, Rates())
        run.run()
        assert run.standings.best() == BEST
        ratios = [
            tuning.seconds_of(DEFAULT, s) / tuning.seconds_of(tuning.BEST, s) for s in SCENARIOS
        ]
        assert run.standings.fitness(BEST) == pytest.approx((ratios[0] * ratios[1]) ** 0.5)
        assert run.progress().improvement == pytest.approx(run.standings.fitness(BEST) - 1)
        scored = run._engine.received[0]
        assert scored.metrics["iops"] == 5.0
        assert scored.metrics.keys() == {"iops", "value:idle", "value:reader"}


@pytest.mark.parametrize("status", ["warm", "contended", "failed", "hung"])
def test_a_bad_attempt_is_repeated_and_never_averaged_in(status):
    bad = Attempt(status, 1e-9 if status in ("warm", "contended") else None)
    evaluator = Scripted({1: bad, 14: bad, 15: bad})
    with Store.in_memory(tuning.spec()) as store:
        run = campaign(store, evaluator)
        assert run.run() == "finished"
        assert run.standings.best() == BEST
        made = store.evaluations()
        assert [one.number for one in made if one.attempt.status == status] == [1, 14, 15]
        assert evaluator.calls[13] == evaluator.calls[14] == evaluator.calls[15]
        assert run.standings.fitness(key_of(made[13].chromosome)) > 0


@pytest.mark.parametrize(
    ("happens", "attempts", "kept"),
    [
        (Attempt("failed"), 3, "failed"),
        (TargetGone("no answer for 60 s"), 3, "hung"),
        (OSError(5, "I/O error"), 3, "failed"),
        (ZeroDivisionError("a defect"), 3, "failed"),
        (RecursionError(), 3, "failed"),
        (Attempt("refused"), 1, "refused"),
        (Attempt("invalid"), 1, "invalid"),
        (Attempt("contended", 1.0), 3, "contended"),
    ],
)
def test_repeated_failures_affect_only_their_chromosome(happens, attempts, kept):
    evaluator = Scripted(of=tuning.BEST, then=happens)
    with Store.in_memory(tuning.spec()) as store:
        run = campaign(store, evaluator)
        assert run.run() == "finished"
        assert run.standings.fitness(BEST) == 0
        assert [one.attempt.status for one in store.evaluations() if one.chromosome == tuning.BEST]
        assert [call for call in evaluator.calls if call[0] == BEST] == [(BEST, "idle")] * attempts
        bad = [one.attempt for one in store.evaluations() if one.attempt.status != "ok"]
        assert [one.status for one in bad] == [kept] * attempts
        assert run.standings.best() not in (BEST, key_of(DEFAULT))
        received = {key_of(c): fitness for batch in store.generations() for c, fitness in batch}
        assert received[BEST] == 0


def test_the_note_has_the_text_of_the_exception():
    with Store.in_memory(tuning.spec()) as store:
        campaign(store, Scripted({3: TargetGone("rebooted"), 5: KeyError("x" * 9999)})).run()
        notes = [one.attempt.notes for one in store.evaluations() if one.attempt.notes]
        assert notes[0] == ("rebooted",)
        assert notes[1][0].startswith("KeyError: 'xxx") and len(notes[1][0]) == 500


def test_a_default_that_cannot_be_measured_ends_the_campaign():
    with Store.in_memory(tuning.spec()) as store:
        with pytest.raises(CampaignError, match=r"default cannot be measured: refused \(no bfq\)"):
            campaign(store, Scripted({1: Attempt("refused", notes=("no bfq",))})).run()
        assert store.evaluations() == []
        assert campaign(store).run() == "finished"
        assert held(store)[1:] == run_whole()[1:]


def test_a_target_that_is_gone_for_good_costs_no_chromosome():
    """Every attempt from the 30th on hangs; resumed, the campaign ends as if nothing had been."""
    gone = Scripted({n: TargetGone("off") for n in range(30, 99)})
    with Store.in_memory(tuning.spec()) as store:
        with pytest.raises(CampaignError, match="hung") as raised:
            campaign(store, gone).run()
        assert "--resume" in raised.value.remedy
        assert len(gone.calls) == 29 + 3 + 3  # the chromosome, and the default
        assert len(store.evaluations()) == 29
        assert len(store.evaluations(withdrawn=True)) == 35
        assert campaign(store).run() == "finished"
        assert held(store) == run_whole()


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), SystemExit(1), InterruptedError()])
def test_an_interrupted_campaign_goes_on_as_if_it_had_not_been(interrupt):
    with Store.in_memory(tuning.spec()) as store:
        rules = Rules(patience=None, interrupts=(InterruptedError,))
        for at in (1, 7, 7, 12, 2):
            evaluator = Scripted({at: interrupt})
            with pytest.raises(type(interrupt)):
                campaign(store, evaluator, rules).run()
        evaluator = Scripted()
        before = len(store.evaluations())
        assert campaign(store, evaluator).run() == "finished"
        assert len(evaluator.calls) == len(store.evaluations()) - before
        assert held(store) == run_whole()


class Flaky(Scripted):
    """Fails in any way, as the seed says; after some evaluations it is interrupted."""

    def __init__(self, lasts):
        super().__init__()
        self.lasts = lasts

    def reseed(self, seed):
        super().reseed(seed)
        self.seed = seed

    def evaluate(self, chromosome, scenario):
        if len(self.calls) == self.lasts:
            raise KeyboardInterrupt
        good = super().evaluate(chromosome, scenario)
        rng = random.Random(f"{self.seed}{self.calls[-1]}")
        if chromosome == DEFAULT or rng.random() < 0.6:
            return good
        status = rng.choice(STATUSES[1:])
        if status == "hung":
            raise TargetGone("hung")
        return Attempt(status)


@pytest.mark.parametrize("seed", further(range(8), 2))
def test_whatever_fails_and_whenever_it_is_interrupted_the_result_is_the_same(seed):
    with Store.in_memory(tuning.spec(seed=seed)) as whole:
        assert campaign(whole, Flaky(lasts=-1)).run() == "finished"
        expected = held(whole)
    assert {one.status for *_, one in expected[0]} == set(STATUSES)
    rng, interrupted = random.Random(seed), 0
    with Store.in_memory(tuning.spec(seed=seed)) as store:
        for _ in range(1000):
            if store.ended is not None:
                break
            try:
                campaign(store, Flaky(lasts=rng.randrange(1, 20))).run()
            except KeyboardInterrupt:
                interrupted += 1
        assert held(store) == expected
    assert interrupted > 5


def test_a_finished_campaign_measures_nothing_more():
    with Store.in_memory(tuning.spec()) as store:
        campaign(store).run()
        evaluator = Scripted()
        assert campaign(store, evaluator).run() == "finished"
        assert evaluator.calls == []


def test_another_course_is_refused():
    with Store.in_memory(tuning.spec()) as store:
        campaign(store, rules=Rules(Budget(evaluations=40))).run()
        with pytest.raises(CampaignError, match="another course") as raised:
            Campaign(store, tuning.RandomSearch(8), Scripted()).run()
        assert "foreread 0" in raised.value.remedy


def test_a_budget_of_evaluations_is_kept_and_can_be_raised():
    with Store.in_memory(tuning.spec()) as store:
        for budget in (5, 33, 34):
            assert campaign(store, rules=Rules(Budget(evaluations=budget))).run() == "evaluations"
            assert len(store.evaluations()) == budget
            assert store.ended == "evaluations"
        campaign(store).run()
        assert held(store) == run_whole()


def test_a_budget_of_seconds_counts_those_of_earlier_runs():
    with Store.in_memory(tuning.spec()) as store:
        campaign(store, rules=Rules(Budget(evaluations=20))).run()
        spent = sum(one.ended - one.started for one in store.evaluations())
        evaluator = Scripted()
        rules = Rules(Budget(seconds=spent))
        assert campaign(store, evaluator, rules).run() == "seconds"
        assert evaluator.calls == []


def test_it_ends_by_itself_when_the_gain_is_below_the_noise():
    class Endless(tuning.RandomSearch):
        """Proposes windows for ever that are all alike, but for the best at first."""

        def ask(self):
            number = len(self.received)
            return [{**tuning.BEST, "slice_idle": 100 + n} for n in range(number, number + 4)]

    class Alike(Scripted):
        def evaluate(self, chromosome, scenario):
            return self.landscape.evaluate(tuning.BEST, scenario)

    with Store.in_memory(tuning.spec()) as store:
        rules = Rules(patience=Patience(generations=3, chromosomes=20))
        run = Campaign(store, Endless(1), Alike(), rules)
        assert run.run() == store.ended == "noise"
        assert 20 <= run.standings.measured() - 1 <= 60


def test_an_engine_that_repeats_itself_ends():
    class Stuck(tuning.RandomSearch):
        def ask(self):
            return [tuning.BEST]

    with Store.in_memory(tuning.spec()) as store:
        assert Campaign(store, Stuck(1), Scripted(), TO_THE_END).run() == "nothing new"
        runs = Counter(one.chromosome["window"] for one in store.evaluations())
        assert runs[tuning.BEST["window"]] <= 5 * 2


def test_progress_is_reported_after_every_attempt():
    received = []
    with Store.in_memory(tuning.spec()) as store:
        rules = Rules(Budget(evaluations=80))
        campaign(store, rules=rules, on_progress=received.append).run()
    assert [one.evaluations for one in received] == list(range(1, 81))
    assert (
        received[0].best == DEFAULT
        and received[0].improvement == 0
        and received[0].interval is None
    )
    last = received[-1]
    assert last.interval[0] < last.improvement < last.interval[1]
    assert last.seconds_left == 0 < received[10].seconds_left
    assert last.generation > 0 and last.seconds > 0


def test_ctrl_c_reaches_the_caller_from_inside_an_evaluation():
    class Signalled(Scripted):
        def evaluate(self, chromosome, scenario):
            if len(self.calls) == 12:
                signal.raise_signal(signal.SIGINT)
            return super().evaluate(chromosome, scenario)

    with Store.in_memory(tuning.spec()) as store:
        with pytest.raises(KeyboardInterrupt):
            campaign(store, Signalled()).run()
        assert len(store.evaluations()) == 12
