"""The SWEEP file: what is written comes back, and damaged ones are refused."""

from __future__ import annotations

import json

import pytest

from foreread.tracer.formats.sweep import Point, Sweep, SweepError, read_sweep, write_sweep

POINT = {"read_ahead_kb": 4, "seconds": [1.5], "requests": [7], "pages": [9.5]}


def test_a_sweep_comes_back_as_it_was_written(tmp_path):
    sweep = Sweep(points=[Point(**POINT)], devices=["loop0"], complete=False)
    write_sweep(tmp_path / "s", sweep)
    assert read_sweep(tmp_path / "s") == sweep


@pytest.mark.parametrize(
    "damage",
    [
        {"read_ahead_kb": -4},
        {"read_ahead_kb": 1 << 64},
        {"seconds": [float("nan")]},
        {"seconds": [float("inf")]},
        {"seconds": [-1.0]},
        {"requests": [-1]},
        {"pages": ["9"]},
    ],
)
def test_impossible_measurements_are_refused(damage, tmp_path):
    (tmp_path / "s").write_text(json.dumps({"points": [POINT | damage]}))
    with pytest.raises(SweepError) as error:
        read_sweep(tmp_path / "s")
    assert error.value.remedy
