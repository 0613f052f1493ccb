"""studies/accuracy: starts beside loads are compared with sweeps, and their table."""

import json
from pathlib import Path

import pytest

from studies.accuracy import load_tables, on_loads, tables
from studies.accuracy.store import Cell

CAPTURE = Path(__file__).parents[3] / "examples/php-start/php-start.capture.tar.xz"


def sweep(scenario, seconds):
    points = [
        {"read_ahead_kb": kb, "seconds": [value], "requests": [1], "pages": [1.0]}
        for kb, value in seconds.items()
    ]
    return json.dumps({"schema": 1, "scenario": scenario, "points": points})


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cell")
    (folder / "capture").symlink_to(CAPTURE)
    seconds = dict(zip(on_loads.WINDOWS_KB, (0.8, 0.5, 0.6, 0.7, 1.0), strict=True))
    (folder / "idle.sweep.json").write_text(sweep("idle", seconds))
    beside = dict(zip(on_loads.WINDOWS_KB, (4.0, 2.3, 1.7, 1.6, 2.0), strict=True))
    (folder / "direct.sweep.json").write_text(sweep("reader", beside))
    return on_loads.judge(folder)["beside"]


@pytest.mark.thorough
def test_each_load_is_compared_with_its_own_sweep(judged):
    assert [row["load"] for row in judged] == ["idle", "direct"]
    for row in judged:
        assert [point["read_ahead_kb"] for point in row["points"]] == list(on_loads.WINDOWS_KB)
        for point in row["points"]:
            assert point["error"] == pytest.approx(point["predicted"] / point["measured"] - 1)
    idle, beside = (row["points"][2]["predicted"] for row in judged)
    assert beside > 1.5 * idle


def test_the_regret_is_that_of_the_window_predicted_to_be_the_fastest(judged):
    for row in judged:
        by_kb = {point["read_ahead_kb"]: point for point in row["points"]}
        fastest = min(by_kb, key=lambda kb: by_kb[kb]["predicted"])
        best = min(point["measured"] for point in row["points"])
        lost = by_kb[fastest]["measured"] - best
        assert row["regret"] == pytest.approx(lost / by_kb[on_loads.DEFAULT_KB]["measured"])


def test_the_idle_window_is_compared_with_the_default_beside_each_load(judged):
    sign = judged[1]["sign"]
    assert (sign["kb"], sign["right"]) == (32, True)
    assert sign["measured"] == pytest.approx(2.3 / 1.7 - 1)


def test_the_table_has_a_row_for_each_load_and_a_line_over_all(judged):
    cell = Cell("loads", "loop-php", "title", dict)
    text = "\n".join(load_tables.lines([(cell, {"beside": judged})]))
    assert text.count("| loop-php |") == 2
    assert "32 KiB: " in text
    assert "- all loads: error " in text
    assert "sign right in 1 of 1" in text
    skipped = tables.text([(cell, {"beside": judged}), (cell, {"skipped": "no root"})])
    assert "- loop-php skipped: no root" in skipped
