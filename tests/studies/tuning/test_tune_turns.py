"""The study of scenarios in turn counts right, on a landscape made up for it."""

import json

import pytest

from studies.tuning import turns


def test_a_turn_counts_evaluations_until_children_are_good():
    assert turns.evaluations_until([[1, 1, 0, 0], [1, 1, 1, 1]]) == {"converged": 0, "found": 0}
    assert turns.evaluations_until([[0.9, 0.5, 0, 0], [0.96, 0.9, 0, 0], [0.96, 0.95, 0, 0]]) == {
        "converged": 8,
        "found": 4,
    }
    assert turns.evaluations_until([[0.5, 0.5]] * 3) == {"converged": 6, "found": 6}


@pytest.mark.thorough
def test_genes_that_come_back_are_found_sooner(monkeypatch, tmp_path, capsys):
    out = tmp_path / "out.json"
    monkeypatch.setattr(turns, "SEEDS", 12)
    monkeypatch.setattr("sys.argv", ["turns.py", "-o", str(out)])
    turns.main()
    found = json.loads(out.read_text())["scenarios"]
    for goals in found.values():
        assert {len(passes) for goal in goals.values() for passes in goal.values()} == {4}
    sums = [
        sum(sum(goals["found"][name][1:]) for goals in found.values())
        for name in ("with", "without")
    ]
    assert sums[0] < sums[1]
    assert "| reader |" in capsys.readouterr().out
