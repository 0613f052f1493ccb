"""The made-up board that has every gene of the catalogue."""

from random import Random

import pytest

from foreread.analyzer.tuner.engines.operators import mutate, random_child
from foreread.analyzer.tuner.space.catalogue import entries
from studies.tuning.whole_catalogue import WholeCatalogue, board_space

SPACE = board_space()


def test_it_has_every_gene_but_the_dangerous_one():
    assert set(SPACE.names) == {entry.name for entry in entries() if not entry.asked}
    assert not SPACE.left_out
    assert len(SPACE.names) == 37


@pytest.mark.parametrize("number", range(4))
def test_nothing_is_better_than_the_optimum(number):
    landscape, rng = WholeCatalogue(number), Random(number)
    best = landscape.optimum
    assert SPACE.valid(best)
    assert landscape.regret(best) == pytest.approx(0.0)
    for _ in range(500):
        assert landscape.regret(random_child(SPACE, rng)) > 0
    for gene in SPACE.genes:
        for allele in gene.alleles:
            assert landscape.regret(SPACE.repair({**best, gene.name: allele})) >= -1e-9
    for _ in range(1000):  # two or three genes at once
        other = dict(best)
        for gene in rng.sample(SPACE.genes, 3):
            other[gene.name] = mutate(gene, other[gene.name], rng)
        assert landscape.regret(SPACE.repair(other)) >= -1e-9


@pytest.mark.parametrize("number", range(4))
def test_few_genes_matter(number):
    landscape = WholeCatalogue(number)
    default = SPACE.default()
    changed = [
        name
        for name in SPACE.names
        if landscape.regret(SPACE.repair({**landscape.optimum, name: default[name]})) > 0.01
    ]
    assert 2 <= len(changed) <= 12
    assert landscape.regret(default) > 0.1


def test_runs_differ_by_noise_and_the_same_seed_draws_the_same():
    landscape, same, other = WholeCatalogue(1), WholeCatalogue(1), WholeCatalogue(2)
    default = SPACE.default()
    values = []
    for seed in range(50):
        landscape.reseed(seed)
        same.reseed(seed)
        values.append(landscape.evaluate(default, "made up").value)
        assert values[-1] == same.evaluate(default, "made up").value
    assert 0.01 < max(values) / min(values) - 1 < 0.15
    assert other.cost(default) != landscape.cost(default)
