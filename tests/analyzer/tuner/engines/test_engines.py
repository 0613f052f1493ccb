"""Properties of every engine, over any space."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import further
from tuner_spaces import BOARD, spaces

from foreread.analyzer.tuner import Scored, make_engine, recipe_names
from studies.tuning.study_recipes import load_recipe

REPAIRING = recipe_names()
SAMPLERS = ("random", "exhaustive", "one-gene", "tpe", "multivariate-tpe")
FEW = settings(max_examples=5, deadline=None)


def score(space, chromosome):
    """Give a fitness that depends on all genes, and zero to what is not valid."""
    if not space.valid(chromosome):
        return Scored(chromosome, 0.0)
    places = [
        gene.alleles.index(chromosome[gene.name]) / len(gene.alleles)
        for gene in space.genes
        if chromosome[gene.name] in gene.alleles
    ]
    return Scored(chromosome, 1.0 + sum((place - 0.3) ** 2 for place in places))


def judged(name, judge):
    """Return a recipe whose chromosomes are judged by the race, or by the model."""
    return msgspec.structs.replace(load_recipe(name), judged_by=judge)


def generations(engine, space, count):
    """Return what was asked in ``count`` generations."""
    asked = []
    for _ in range(count):
        asked.append(engine.ask())
        engine.tell([score(space, chromosome) for chromosome in asked[-1]])
    return asked


@pytest.mark.parametrize("name", REPAIRING)
@given(space=spaces(), seed=st.integers(0, 99))
@FEW
def test_everything_asked_is_valid(name, space, seed):
    engine = make_engine(load_recipe(name), space, seed, [space.default()])
    asked = generations(engine, space, 8)
    assert asked[0][0] == space.default()
    assert all(space.valid(chromosome) for batch in asked for chromosome in batch)


@pytest.mark.parametrize("name", REPAIRING)
@given(space=spaces(), seed=st.integers(0, 99))
@FEW
def test_an_engine_fed_the_stored_results_goes_on_as_if_never_stopped(name, space, seed):
    recipe = load_recipe(name)
    straight = generations(make_engine(recipe, space, seed), space, 8)
    resumed = make_engine(recipe, space, seed)
    assert generations(resumed, space, 5) == straight[:5]
    assert generations(resumed, space, 3) == straight[5:]


@pytest.mark.parametrize("name", further(SAMPLERS, 3))
@given(space=spaces(), seed=st.integers(0, 99))
@FEW
def test_raced_samplers_ask_for_each_chromosome_once(name, space, seed):
    engine = make_engine(judged(name, "race"), space, seed)
    keys = [space.key(one) for batch in generations(engine, space, 12) for one in batch]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("name", ["random", "exhaustive", "one-gene"])
@given(space=spaces())
@FEW
def test_samplers_end_with_the_space(name, space):
    engine = make_engine(judged(name, "race"), space, 1)
    keys = set()
    for _ in range(space.size):
        asked = engine.ask()
        keys.update(map(space.key, asked))
        engine.tell([score(space, one) for one in asked])
    assert engine.ask() == []
    assert len(keys) == space.size


@pytest.mark.parametrize("name", ["genetic-library", "storage-v1", "tpe"])
def test_engines_find_what_is_better_than_the_default(name):
    batch = make_engine(load_recipe(name), BOARD, 7)
    received = [score(BOARD, one) for asked in generations(batch, BOARD, 40) for one in asked]
    assert max(one.fitness for one in received) > 1.3 * score(BOARD, BOARD.default()).fitness
