"""SWEEP files that are damaged, or none at all."""

import json
import os

import pytest

from foreread.tracer.formats.sweep import Point, Sweep, SweepError, read_sweep, write_sweep

GOOD = Point(read_ahead_kb=4, seconds=[1.0], requests=[2], pages=[3.0])


def test_written_data_are_read_back(tmp_path):
    sweep = Sweep(points=[GOOD])
    write_sweep(tmp_path / "sweep", sweep)
    assert read_sweep(tmp_path / "sweep") == sweep


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seconds": [float("nan")]}, "NaN is not a number"),
        ({"seconds": [float("inf")]}, "Infinity is not a number"),
        ({"seconds": [-1.0]}, r"points\[0\]"),
        ({"requests": [1 << 70]}, "more than 64 bits"),
        ({"read_ahead_kb": -4}, r"points\[0\]"),
    ],
)
def test_numbers_that_measure_nothing_are_damage(tmp_path, change, message):
    write_sweep(tmp_path / "sweep", Sweep(points=[GOOD]))
    document = json.loads((tmp_path / "sweep").read_text())
    document["points"][0] |= change
    (tmp_path / "sweep").write_text(json.dumps(document))
    with pytest.raises(SweepError, match=message):
        read_sweep(tmp_path / "sweep")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SweepError, match="not a regular file"):
        read_sweep(tmp_path / "pipe")
