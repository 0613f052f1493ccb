from tuner_spaces import BOARD

from foreread.analyzer.tuner.engine import Scored
from foreread.analyzer.tuner.engines.phenotypes import Phenotype, general_fitness, weighted
from foreread.analyzer.tuner.engines.recipe import load_recipe

REAL_TIME = Phenotype(name="real-time", uid=1, figures=("rt_delay",), better="less")
TOTAL_DELAY = Phenotype(name="total-delay", uid=2, figures=("delay",), better="less", weight=3)
GENERAL = Phenotype(name="general", uid=7)


def children(**figures):
    columns = zip(*figures.values(), strict=True)
    rows = [dict(zip(figures, column, strict=True)) for column in columns]
    return [Scored(BOARD.default(), 1.0, row) for row in rows]


def test_the_papers_example_is_22():
    assert weighted([1, 7], [1, 3]) == 22
    eight = children(rt_delay=[9, 1, 2, 3, 4, 5, 6, 7], delay=[2, 1, 3, 4, 5, 6, 7, 8])
    assert general_fitness([REAL_TIME, TOTAL_DELAY, GENERAL], eight)[0] == 22


def test_a_mask_holds_those_that_affect_it():
    assert REAL_TIME.affects(GENERAL) and TOTAL_DELAY.affects(GENERAL)
    assert not GENERAL.affects(REAL_TIME) and not REAL_TIME.affects(TOTAL_DELAY)
    assert not Phenotype(name="other", uid=8).affects(GENERAL)


def test_rates_and_whether_less_is_better_count():
    rate = Phenotype(name="rate", uid=1, figures=("ios",), per=("seconds",))
    assert general_fitness([rate, GENERAL], children(ios=[90, 80], seconds=[9, 4])) == [1, 2]


def test_a_failed_child_comes_last_whatever_it_measured():
    failed = Scored(BOARD.default(), 0.0, {"rt_delay": 0, "delay": 0})
    fitness = general_fitness(
        [REAL_TIME, TOTAL_DELAY, GENERAL], [failed, *children(rt_delay=[5], delay=[5])]
    )
    assert fitness == [4, 8]


def test_without_any_figure_the_given_fitness_counts():
    received = [Scored(BOARD.default(), fitness) for fitness in (2.0, 5.0)]
    assert general_fitness([REAL_TIME, GENERAL], received) == [2, 5]
    assert general_fitness([], received) == [2, 5]


def test_the_io_component_measures_operations_throughput_and_latency():
    recipe = load_recipe("genetic-library")
    general = recipe.phenotypes[-1]
    assert [each.name for each in recipe.phenotypes if each.affects(general)] == [
        "num_ops",
        "throughput",
        "latency",
    ]
