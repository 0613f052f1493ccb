"""Where scenarios disagree."""

from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.tuner.findings.compare import Run, Runs
from foreread.analyzer.tuner.findings.pareto import Point, disagree, front, points

COSTS = st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6))


@given(st.lists(COSTS, max_size=30))
def test_the_front_has_the_undominated_points(costs):
    found = [Point({"g": i}, tuple(map(float, one))) for i, one in enumerate(costs)]
    on = front(found)
    for point in found:
        beaten = any(
            other.costs != point.costs
            and all(a <= b for a, b in zip(other.costs, point.costs, strict=True))
            for other in on
        )
        assert beaten == (point not in on)


def runs(costs, spread):
    return Runs(
        [
            Run({"g": gene}, scenario, cost * factor)
            for gene, pair in costs.items()
            for scenario, cost in zip(("idle", "reader"), pair, strict=True)
            for factor in (1, 1 + spread)
        ]
    )


def test_scenarios_that_want_different_alleles_disagree():
    opposed = {0: (1.0, 4.0), 1: (2.0, 2.0), 2: (4.0, 1.0), 3: (4.0, 4.0)}
    assert disagree(runs(opposed, 0.01))
    assert {p.chromosome["g"] for p in front(points(runs(opposed, 0.01)))} == {0, 1, 2}


def test_a_difference_within_the_noise_is_not_a_disagreement():
    assert not disagree(runs({0: (1.0, 1.02), 1: (1.02, 1.0)}, 0.2))
    assert not disagree(runs({0: (1.0, 1.0), 1: (2.0, 2.0)}, 0.01))


def test_chromosomes_not_run_in_all_scenarios_are_left_out():
    some = Runs([Run({"g": 0}, "idle", 1.0), Run({"g": 1}, "reader", 1.0)])
    assert points(some) == [] and not disagree(some)
