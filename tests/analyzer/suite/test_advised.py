"""Advice for a suite: under the window of the disk, without other windows, weighted."""

from pathlib import Path

import pytest

from foreread.analyzer.suite.advised import advise_suite
from foreread.analyzer.suite.predicted import predict_suite
from foreread.analyzer.suite.read import decode_suite

DATA = Path(__file__).parents[2] / "foreread/data/suite"
TEXT = b"""schema = 1
[[start]]
name = "madplay"
weight = 5
captures = ["arm64-madplay-1.capture.tar.xz"]
"""


@pytest.mark.thorough
def test_rows_are_under_the_answer_s_window_weighted_and_leave_it():
    suite = decode_suite(TEXT, DATA / "suite.toml")
    found = advise_suite(suite, output="out")
    (disk,) = found.document.disks
    (answer,) = predict_suite(suite).boards[0].disks
    table = found.tables["local", "madplay"]
    assert table.read_ahead_kb == disk.verdict.read_ahead_kb == answer.verdict.read_ahead_kb
    assert 5 * table.seconds == pytest.approx(answer.seconds, rel=0.02)
    assert disk.rows
    for one in disk.rows:
        assert one.saved == pytest.approx(5 * one.row.saved)
        assert table.rows[one.rank - 1] == one.row
        assert one.row.kind != "window"
        shared = one.row.trial
        assert shared is None or shared.read_ahead_kb is None or shared.later
    saved = [one.saved for one in disk.rows]
    assert saved == sorted(saved, reverse=True)
    measured = [one.row.measure for one in disk.rows if one.row.trial is not None]
    assert all("--advice out/local/madplay/advice.json --row" in text for text in measured)
