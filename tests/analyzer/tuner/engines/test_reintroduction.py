"""Genes come back with their workload, and what was a mere spike is forgotten."""

import msgspec
import pytest
from tuner_spaces import BOARD

from foreread.analyzer.tuner import load_recipe, make_engine
from foreread.analyzer.tuner.engine import Scored
from foreread.analyzer.tuner.engines import operators
from foreread.analyzer.tuner.engines.fingerprint import BY_NAME, FINGERPRINTS, Snapshot
from foreread.analyzer.tuner.engines.genetic import GeneticEngine
from foreread.analyzer.tuner.engines.reintroduction import Fingerprinting
from foreread.analyzer.tuner.store.records import TopGenes

READ = BY_NAME["read-sequential-small"]
WRITE = BY_NAME["write-sequential-small"]
SNAPSHOTS = {READ: Snapshot(reads=10), WRITE: Snapshot(writes=10)}


@pytest.fixture
def engine():
    return make_engine(load_recipe("fingerprinting"), BOARD, seed=1)


def generation(engine, fingerprint, fitness=1.0):
    """Have a generation live under a workload; return it."""
    metrics = SNAPSHOTS[fingerprint].metrics() if fingerprint else {}
    asked = engine.ask()
    engine.tell([Scored(one, fitness, metrics) for one in asked])
    return asked


def test_the_recipe_makes_it(engine):
    assert isinstance(engine, Fingerprinting)
    assert set(engine.top) == set(FINGERPRINTS)
    assert {top.fitness for top in engine.top.values()} == {0.0}


def test_top_genes_are_the_average_of_the_best_generation(engine):
    generation(engine, READ, fitness=2.0)
    best = engine.top[READ]
    assert BOARD.valid(best.chromosome)
    assert best.fitness == pytest.approx(2.0 * 0.95)
    generation(engine, READ, fitness=1.0)
    assert engine.top[READ].chromosome == best.chromosome
    assert engine.top[WRITE] == TopGenes(BOARD.default(), 0.0)


def test_top_fitness_decays_until_a_spike_is_forgotten(engine):
    generation(engine, READ, fitness=2.0)
    spike = engine.top[READ].chromosome
    generations = 1
    while engine.top[READ].chromosome == spike and generations < 100:
        generation(engine, READ, fitness=1.0)
        generations += 1
    assert 2.0 * 0.95 ** (generations - 1) < 1.0 <= 2.0 * 0.95 ** (generations - 2)


def test_genes_come_back_when_the_workload_does(engine):
    for _ in range(3):
        generation(engine, READ, fitness=5.0)
    kept = engine.top[READ].chromosome
    generation(engine, WRITE)
    assert engine.ask()[0] == BOARD.default()  # nothing was known of writes
    generation(engine, READ)
    assert engine.ask()[0] == kept


def test_nothing_comes_back_while_the_workload_stays_or_nothing_happens(engine):
    inner = GeneticEngine(load_recipe("fingerprinting"), BOARD, seed=1)
    for fingerprint in (READ, READ, None, READ):
        assert generation(engine, fingerprint) == inner.ask()
        inner.tell([Scored(one, 1.0) for one in inner.ask()])
    assert engine.fingerprint == READ


def test_the_fingerprint_is_that_of_all_children(engine):
    asked = engine.ask()
    reads, writes = Snapshot(reads=30).metrics(), Snapshot(writes=1).metrics()
    metrics = [reads, *[writes] * (len(asked) - 1)]
    engine.tell([Scored(one, 1.0, two) for one, two in zip(asked, metrics, strict=True)])
    assert engine.fingerprint == READ


def published_engine():
    recipe = load_recipe("fingerprinting")
    kept = msgspec.structs.replace(recipe.fingerprints, published=True)
    return make_engine(msgspec.structs.replace(recipe, fingerprints=kept), BOARD, seed=1)


def test_as_published_top_genes_are_updated_before_they_come_back():
    """A generation's own average comes back if it beats the decayed top, of a new workload too."""
    engine = published_engine()
    for _ in range(3):
        generation(engine, READ, fitness=5.0)
    kept = engine.top[READ].chromosome
    writing = generation(engine, WRITE)
    assert engine.ask()[0] == operators.average(BOARD, writing, values=True) != BOARD.default()
    generation(engine, READ, fitness=1.0)
    assert engine.ask()[0] == kept
    generation(engine, WRITE, fitness=0.5)
    better = generation(engine, READ, fitness=6.0)
    assert engine.ask()[0] == operators.average(BOARD, better, values=True)
