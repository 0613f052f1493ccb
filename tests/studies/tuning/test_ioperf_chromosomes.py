"""IOPerf: Table 1, its equations, clearance, and the population's ranges."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.tuner import make_engine
from foreread.analyzer.tuner.engine import Scored
from foreread.analyzer.tuner.engines.operators import decode, encode
from foreread.analyzer.tuner.engines.patterns import RANGES
from studies.tuning.ioperf_chromosomes import (
    factor,
    fitness,
    make_space,
    nearest,
)
from studies.tuning.study_recipes import load_recipe

SPACE = make_space(("none", "mq-deadline", "kyber", "bfq"), "none", 128, 60)
BASE = {"processes": 4, "read_share": 50, "random_share": 50, "request_kib": 1000}


def test_a_chromosome_has_the_bits_of_table_1():
    code = encode(SPACE, SPACE.default())
    assert len(code) == 3 + 7 + 7 + 11 + 2 + 10 + 7
    bits = [(len(gene.alleles) - 1).bit_length() for gene in SPACE.genes]
    assert bits == [3, 7, 7, 11, 2, 10, 7]


@given(st.text("01", min_size=47, max_size=47))
def test_every_pattern_of_bits_is_a_chromosome_of_table_1(code):
    chromosome = decode(SPACE, code)
    assert SPACE.valid(chromosome)
    assert 1 <= chromosome["processes"] <= 8
    assert 4 <= chromosome["read_ahead_kb"] <= 1023
    assert decode(SPACE, encode(SPACE, chromosome)) == chromosome


def test_values_in_force_beyond_table_1():
    beyond = make_space(("none",), "none", 4096, 200).default()
    assert (beyond["read_ahead_kb"], beyond["swappiness"]) == (1023, 100)
    assert make_space(("none",), "none", 0, 0).default()["read_ahead_kb"] == 4


def test_only_the_solution_is_written():
    chromosome = SPACE.repair({**BASE, "scheduler": "bfq", "read_ahead_kb": 64, "swappiness": 10})
    assert SPACE.settings(chromosome, ["sda"]) == [
        ("/sys/block/sda/queue/scheduler", "bfq"),
        ("/sys/block/sda/queue/read_ahead_kb", "64"),
        ("/proc/sys/vm/swappiness", "10"),
    ]


@pytest.mark.parametrize(
    ("reads", "random", "expected"),
    [(99, 1, 1.0), (100, 0, 1.01**4), (0, 100, 1e-8), (49, 51, 1 / 16)],
)
def test_equation_2(reads, random, expected):
    assert factor(reads, random) == pytest.approx(expected)


def test_equation_1_and_one_over_processes():
    one = {"processes": 1, "read_share": 99, "random_share": 1}
    assert fitness(1000, 0.5, one) == pytest.approx(2000)
    assert fitness(1000, 0.5, one | {"processes": 4}) == pytest.approx(500)
    assert fitness(1000, 0.0, one) == 0


def test_the_nearest_lends_its_settings():
    near = Scored(BASE | {"request_kib": 1100}, 1.0)
    fitter = Scored(BASE | {"request_kib": 1100, "swappiness": 7}, 2.0)
    far = Scored(BASE | {"read_share": 0}, 9.0)
    failed = Scored(BASE, 0.0)
    assert nearest([near, fitter, far, failed], BASE) == fitter.chromosome
    assert nearest([far, failed], BASE) is None
    assert nearest([far, failed], BASE, within=False) == far.chromosome
    assert nearest([], BASE, within=False) is None


def test_the_population_keeps_two_of_each_range_although_others_are_fitter():
    engine = make_engine(load_recipe("ioperf"), SPACE, seed=3)
    for _ in range(4):
        asked = engine.ask()
        engine.tell([Scored(one, fitness(1e6, 0.01, one)) for one in asked])
    population = [one.chromosome for one in engine.pool]
    for reads, random in product(RANGES, RANGES):
        inside = [
            one
            for one in population
            if reads[0] <= one["read_share"] <= reads[1]
            and random[0] <= one["random_share"] <= random[1]
        ]
        assert len(inside) >= 2
    assert len(population) == 50
