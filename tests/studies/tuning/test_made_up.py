"""Landscapes that are made up: what they are made of."""

import pytest

from studies.tuning import made_up


def steps(space):
    """Yield the default with one gene changed."""
    default = space.default()
    for gene in space.genes:
        for allele in gene.alleles:
            changed = space.repair({**default, gene.name: allele})
            if sum(changed[name] != default[name] for name in default) == 1:
                yield changed


def test_a_number_always_makes_the_same_landscape():
    one, same, other = (made_up.made_up(number) for number in (3, 3, 11))
    assert one.landscape.table == same.landscape.table
    assert one.kind == other.kind and one.landscape.table != other.landscape.table


@pytest.mark.parametrize("number", range(48, 56))
def test_its_space_and_noise_are_as_specified(number):
    made = made_up.made_up(number)
    assert made.kind == made_up.KINDS[number % len(made_up.KINDS)]
    assert 150 <= made.landscape.points <= 1000
    assert made.runs_exhaustive % made.landscape.points == 0
    row = made.landscape.table.rows[0]
    runs = sorted(row.values[made_up.SCENARIO])
    middle = made.landscape.medians(dict(zip(made.landscape.space.names, row.alleles, strict=True)))
    assert middle[made_up.SCENARIO] == pytest.approx((runs[11] * runs[12]) ** 0.5, rel=1e-4)
    half = runs[18] / runs[5] - 1  # of a normal distribution ± 0.67 standard deviations
    assert half == pytest.approx(1.35 * made.noise, rel=0.15)
    assert (runs[-1] / runs[-2] - 1 > 2 * made.noise) == made.heavy
    assert (made.predicted is None) == (made.prediction == "none")


@pytest.mark.parametrize("number", [50, 55, 58, 63])
def test_genes_that_help_together_do_not_help_alone(number):
    made = made_up.made_up(number)
    assert made.kind in ("together", "three")
    landscape, default = made.landscape, made.landscape.space.default()
    best = min(map(landscape.regret, steps(landscape.space)))
    assert landscape.regret(default) > 0.06
    assert best > landscape.regret(default) / 3


def test_a_flat_one_is_flat_and_a_cliff_is_high():
    flat, cliff = made_up.made_up(52).landscape, made_up.made_up(54).landscape
    assert max(map(flat.regret, flat.space.enumerate())) < 0.03
    assert max(map(cliff.regret, cliff.space.enumerate())) > 3
