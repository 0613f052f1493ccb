"""Engines compete at equal attempts, and their regret is that of their believed best."""

import numpy as np
import pytest
import tuning

from studies.tuning.competition import compete
from studies.tuning.landscape import Landscape

LANDSCAPE = Landscape(tuning.table(noise=0.01))


class Knowing(tuning.RandomSearch):
    """Asks for the best at once, and for nothing else."""

    def ask(self):
        return [] if self.received else [tuning.BEST]


def run(engines, attempts=150, seeds=range(4), **changes):
    return {one.name: one for one in compete(LANDSCAPE, engines, seeds, attempts, **changes)}


def test_regrets_begin_with_the_default_and_end_with_the_optimum():
    found = run({"random": tuning.RandomSearch, "knowing": Knowing})
    default = LANDSCAPE.regret(tuning.SPACE.default())
    for curve in found.values():
        assert curve.regrets.shape == (4, 150)
        assert np.all(curve.regrets[:, :10] == pytest.approx(default))
        assert np.all(curve.regrets >= 0)
    assert found["knowing"].median(12) == 0
    assert found["knowing"].reached(0.0, 150) == 4
    assert found["random"].median(12) > 0.1
    assert found["random"].reached(0.02, 150) >= 3


def test_seeds_differ_and_the_same_seed_does_not():
    one, other = (run({"random": tuning.RandomSearch})["random"].regrets for _ in range(2))
    assert np.array_equal(one, other)
    assert len({tuple(row) for row in one}) > 1


def test_every_engine_gets_the_same_number_of_attempts():
    class Counting(Landscape):
        drawn = 0

        def evaluate(self, chromosome, scenario):
            self.drawn += 1
            return super().evaluate(chromosome, scenario)

    landscape = Counting(LANDSCAPE.table)
    compete(landscape, {"random": tuning.RandomSearch}, seeds=[1], attempts=37)
    assert landscape.drawn == 37
