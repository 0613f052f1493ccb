"""Landscapes that are made up: what they are made of, and that samplers can compete on them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from study_modules import imported

FOLDER = Path(__file__).parents[3] / "studies/tuning"


@pytest.fixture
def modules(monkeypatch):
    with imported(FOLDER, ["made_up", "compete_made_up"]) as found:
        yield found


@pytest.fixture
def made_up(modules):
    return modules["made_up"]


def steps(space):
    """Yield the default with one gene changed."""
    default = space.default()
    for gene in space.genes:
        for allele in gene.alleles:
            changed = space.repair({**default, gene.name: allele})
            if sum(changed[name] != default[name] for name in default) == 1:
                yield changed


def test_a_number_always_makes_the_same_landscape(made_up):
    one, same, other = (made_up.made_up(number) for number in (3, 3, 11))
    assert one.landscape.table == same.landscape.table
    assert one.kind == other.kind and one.landscape.table != other.landscape.table


@pytest.mark.parametrize("number", range(48, 56))
def test_its_space_and_noise_are_as_specified(made_up, number):
    made = made_up.made_up(number)
    assert made.kind == made_up.KINDS[number % len(made_up.KINDS)]
    assert 150 <= made.landscape.points <= 1000
    assert made.runs_exhaustive % made.landscape.points == 0
    row = made.landscape.table.rows[0]
    runs = sorted(row.values[made_up.SCENARIO])
    middle = made.landscape.medians(dict(zip(made.landscape.space.names, row.alleles, strict=True)))
    assert middle[made_up.SCENARIO] == pytest.approx((runs[11] * runs[12]) ** 0.5, rel=1e-4)
    half = runs[18] / runs[5] - 1  # of a normal distribution ± 0.67 standard deviations
    assert half == pytest.approx(1.35 * made.noise, rel=0.15)
    assert (runs[-1] / runs[-2] - 1 > 2 * made.noise) == made.heavy
    assert (made.predicted is None) == (made.prediction == "none")


@pytest.mark.parametrize("number", [50, 55, 58, 63])
def test_genes_that_help_together_do_not_help_alone(made_up, number):
    made = made_up.made_up(number)
    assert made.kind in ("together", "three")
    landscape, default = made.landscape, made.landscape.space.default()
    best = min(map(landscape.regret, steps(landscape.space)))
    assert landscape.regret(default) > 0.06
    assert best > landscape.regret(default) / 3


def test_a_flat_one_is_flat_and_a_cliff_is_high(made_up):
    flat, cliff = made_up.made_up(52).landscape, made_up.made_up(54).landscape
    assert max(map(flat.regret, flat.space.enumerate())) < 0.03
    assert max(map(cliff.regret, cliff.space.enumerate())) > 3


def test_a_competition_from_a_number_to_json(modules, tmp_path, capsys, monkeypatch):
    compete, out = modules["compete_made_up"], tmp_path / "out.json"
    words = ["compete_made_up.py", "--first", "8", "--landscapes", "1", "--seeds", "2"]
    monkeypatch.setattr("sys.argv", [*words, "--only", "start-up,random", "-o", str(out)])
    assert compete.main() == 0
    document = json.loads(out.read_text())
    (found,) = document["found"]
    assert (found["number"], found["kind"], found["points"]) == (8, "additive", 196)
    names = ("start-up (model)", "random (model)", "random (race)")
    assert {name: len(found[name]["0.1"]) for name in names} == dict.fromkeys(names, 2)
    assert document["landscapes"] == 1 and names[2] in document["median_no_worse_than"]
    assert document["made"][0]["command"].startswith("python -m studies.tuning.compete_made_up")
    assert "| all | 1 |" in capsys.readouterr().out


def test_cells_and_aims_are_those_of_the_regrets(modules):
    compete = modules["compete_made_up"]

    def outcome(ours, theirs):
        regrets = {"start-up": {"0.1": ours}, "random": {"0.1": theirs}}
        landscape = {"kind": "flat", "noise": 0.03, "prediction": "none", "heavy": False}
        return compete.Outcome(landscape, regrets)

    found = [outcome([0.0, 0.01], [0.0, 0.3]), outcome([0.2, 0.02], [0.3, 20.0])]
    lines = compete.table(found, ("start-up", "random")).splitlines()
    assert lines[2] == "| all | 2 | 75 %, 5.8 % | 25 %, 40.0 % |"
    assert lines[-1].startswith("| prediction: none | 2 |")
    assert compete.aims(found, ("start-up", "random")) == {
        "landscapes": 2,
        "close_in_nine_of_ten": {"start-up": 1, "random": 0},
        "median_no_worse_than": {"random": 2},
    }
