"""Any tuner under the rule of start-up: the model repeats, the tuner proposes."""

import math
from random import Random
from statistics import median

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import further
from tuner_spaces import BOARD, spaces

from foreread.analyzer.tuner import RecipeError, Scored, Space, load_recipe, make_engine
from foreread.analyzer.tuner.engine import Believer
from foreread.analyzer.tuner.engines.judged import Judged
from foreread.analyzer.tuner.engines.recipe import decode_recipe
from foreread.analyzer.tuner.engines.start_up import StartUpEngine
from studies.tuning import study_recipes

FOUNDERS = load_recipe("start-up").founders
TUNERS = ("random", "exhaustive", "one-gene", "tpe", "multivariate-tpe", "genetic-library")
SMALL = Space((*BOARD.genes[:2], BOARD.genes[-1]))  # the model considers all of it
KEY = SMALL.key
FEW = settings(max_examples=4, deadline=None)


def judged(name, space=SMALL, seed=1):
    recipe = study_recipes.load_recipe(name)
    return make_engine(msgspec.structs.replace(recipe, judged_by="model"), space, seed)


def fitness(chromosome, space=SMALL):
    places = [
        gene.alleles.index(chromosome[gene.name]) / len(gene.alleles)
        for gene in space.genes
        if chromosome[gene.name] in gene.alleles
    ]
    return 2.0 - sum((place - 0.3) ** 2 for place in places) / len(space.genes)


class Measured:
    """All runs of each chromosome, with noise; ``tell`` gives everything, as a campaign does."""

    def __init__(self, engine, noise=0.02, most=5, space=SMALL):
        self.engine, self.noise, self.most, self.space = engine, noise, most, space
        self.gains, self.rng, self.asked = {}, Random(3), []
        self._run(space.default())

    def step(self):
        """Run what is asked, and return it."""
        (asked,) = self.engine.ask() or [None]
        if asked is not None:
            self._run(asked)
        return asked

    def _run(self, chromosome):
        self.asked.append(chromosome)
        gain = math.log(fitness(chromosome, self.space)) + self.rng.gauss(0, self.noise)
        self.gains.setdefault(self.space.key(chromosome), (chromosome, []))[1].append(gain)
        self.engine.tell([self.scored(*one) for one in self.gains.values()])

    def scored(self, chromosome, gains):
        final = len(gains) >= self.most
        return Scored(chromosome, math.exp(median(gains)), gains={"idle": list(gains)}, final=final)


@pytest.mark.parametrize("name", TUNERS)
def test_it_decides_itself_what_is_best(name):
    engine = judged(name)
    assert isinstance(engine, Believer)
    measured = Measured(engine)
    for _ in range(25):
        measured.step()
    best = max(measured.gains.values(), key=lambda one: fitness(one[0]))[0]
    assert fitness(engine.best()) > 0.93 * fitness(best)


@pytest.mark.parametrize("name", TUNERS)
def test_nothing_is_repeated_before_there_are_as_many_as_founders(name):
    measured = Measured(judged(name), noise=0.2)
    first = [measured.step() for _ in range(FOUNDERS)]
    assert len({KEY(one) for one in [*first, SMALL.default()]}) == FOUNDERS + 1


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["tpe", "random", "genetic-library"])
def test_with_noise_some_are_repeated_but_none_more_often_than_allowed(name):
    most = []
    for seed in range(1, 4):
        measured = Measured(judged(name, seed=seed), noise=0.05, most=3)
        for _ in range(45):
            measured.step()
        counts = [len(gains) for _, gains in measured.gains.values()]
        most.append(max(counts))
        assert len(counts) > FOUNDERS + 10
    assert max(most) == 3


def test_noise_makes_repeats():
    quiet, noisy = (Measured(judged("random"), noise=noise) for noise in (0.0, 0.1))
    for measured in (quiet, noisy):
        for _ in range(40):
            measured.step()
    assert len(quiet.gains) > len(noisy.gains)


def test_the_repeats_are_those_that_start_up_would_make():
    engine = judged("random")
    measured = Measured(engine, noise=0.1)
    twin = StartUpEngine(load_recipe("start-up"), SMALL, 1)
    twin.tell([measured.scored(*one) for one in measured.gains.values()])
    repeated = 0
    for _ in range(40):
        expected = twin.promising() if len(measured.gains) > FOUNDERS else None
        asked = measured.step()
        if expected is not None and twin.knows(expected):
            assert asked == expected
            repeated += 1
        else:
            assert not twin.knows(asked)
        twin.tell([measured.scored(*one) for one in measured.gains.values()])
    assert repeated > 3


class Generations:
    """A tuner with generations of three, all of which it wants results of at once."""

    def __init__(self, batches):
        self.batches, self.received = list(batches), []

    def ask(self):
        return list(self.batches.pop(0)) if self.batches else []

    def tell(self, scored):
        self.received.append([(KEY(one.chromosome), one.fitness) for one in scored])


def chromosomes(count):
    rng = Random(5)
    found = {}
    for _ in range(100 * count):
        one = SMALL.repair({gene.name: rng.choice(gene.alleles) for gene in SMALL.genes})
        found[KEY(one)] = one
    return list(found.values())[:count]


def test_the_tuner_receives_its_whole_generation_known_chromosomes_too():
    a, b, c, d = chromosomes(4)
    tuner = Generations([[a, b, a], [b, c, a], [a, b, c], [d]])
    engine = Judged(tuner, StartUpEngine(load_recipe("start-up"), SMALL, 1))
    measured = Measured(engine, noise=0.0)
    assert [measured.step() for _ in range(4)] == [a, b, c, d]
    keys = [[key for key, _ in batch] for batch in tuner.received]
    assert keys == [[KEY(one) for one in batch] for batch in ([a, b, a], [b, c, a], [a, b, c])]
    received = dict(tuner.received[1])
    assert received[KEY(c)] == pytest.approx(fitness(c))


def test_at_the_end_of_the_tuner_the_model_repeats_until_all_have_all_their_runs():
    some = chromosomes(3)
    engine = Judged(Generations([some]), StartUpEngine(load_recipe("start-up"), SMALL, 1))
    measured = Measured(engine, most=2)
    for _ in range(3 + 4):
        assert measured.step() is not None
    assert engine.ask() == []
    assert {len(gains) for _, gains in measured.gains.values()} == {2}


def test_a_tuner_that_proposes_known_chromosomes_for_ever_is_at_its_end():
    one, *_ = chromosomes(1)
    engine = Judged(Generations([[one]] * 1000), StartUpEngine(load_recipe("start-up"), SMALL, 1))
    measured = Measured(engine, most=1)
    assert measured.step() == one
    assert engine.ask() == []


@pytest.mark.parametrize("name", further(TUNERS, ("random", "one-gene", "genetic-library")))
@given(space=spaces(), seed=st.integers(0, 99))
@FEW
def test_it_is_deterministic_and_stays_valid_in_any_space(name, space, seed):
    def course():
        measured = Measured(judged(name, space, seed), most=2, space=space)
        for _ in range(8):
            measured.step()
        return measured.asked

    asked = course()
    assert asked == course()
    assert all(space.valid(one) for one in asked)


def test_scenarios_in_turn_cannot_be_judged_by_the_model():
    text = (study_recipes.recipe.RECIPES / "fingerprinting.toml").read_text()
    with pytest.raises(RecipeError, match="in turn are judged by the race"):
        decode_recipe(text.replace("turns = 6", 'turns = 6\njudged_by = "model"').encode(), "x")
