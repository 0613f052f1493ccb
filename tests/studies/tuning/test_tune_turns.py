"""The study of scenarios in turn counts right, on a landscape made up for it."""

import json
from pathlib import Path

import pytest
from study_modules import imported

FOLDER = Path(__file__).parents[3] / "studies/tuning"


@pytest.fixture
def study(monkeypatch):
    with imported(FOLDER, ("turns",)) as modules:
        yield modules


def test_a_turn_counts_evaluations_until_children_are_good(study):
    taken = study["turns"].taken
    assert taken([[1, 1, 0, 0], [1, 1, 1, 1]]) == {"converged": 0, "found": 0}
    assert taken([[0.9, 0.5, 0, 0], [0.96, 0.9, 0, 0], [0.96, 0.95, 0, 0]]) == {
        "converged": 8,
        "found": 4,
    }
    assert taken([[0.5, 0.5]] * 3) == {"converged": 6, "found": 6}


def test_genes_that_come_back_are_found_sooner(study, monkeypatch, tmp_path, capsys):
    module, out = study["turns"], tmp_path / "out.json"
    monkeypatch.setattr(module, "SEEDS", 12)
    monkeypatch.setattr("sys.argv", ["turns.py", "-o", str(out)])
    module.main()
    found = json.loads(out.read_text())["scenarios"]
    for goals in found.values():
        assert {len(passes) for goal in goals.values() for passes in goal.values()} == {4}
    sums = [
        sum(sum(goals["found"][name][1:]) for goals in found.values())
        for name in ("with", "without")
    ]
    assert sums[0] < sums[1]
    assert "| reader |" in capsys.readouterr().out
