"""The contest of the search, on a landscape so small that it takes no time."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from foreread.analyzer.tuner import Gene, RecipeError, Scored, Space
from studies.tuning import contest, peers
from studies.tuning.landscape import Landscape, Row, Table

SCHEDULER = Gene(name="scheduler", kind="categorical", choices=("none", "bfq"), default="none")
WINDOW = Gene(
    name="read_ahead_kb", kind="integer", choices=(16, 32, 64, 128, 256, 512), default=128
)
IDLE = Gene(
    name="slice_idle",
    kind="integer",
    choices=(0, 4, 8),
    default=8,
    requires={"scheduler": ("bfq",)},
)
SPACE = Space((SCHEDULER, WINDOW, IDLE))
PLACES = ("idle", "reader")


def seconds(chromosome, scenario):
    window = abs(chromosome["read_ahead_kb"].bit_length() - 6)
    return 1.0 + 0.1 * window + 0.1 * (scenario == "reader" and chromosome["scheduler"] == "none")


@pytest.fixture
def place():
    rows = [
        Row(
            list(one.values()),
            {name: [seconds(one, name) * f for f in (1, 1.001)] for name in PLACES},
        )
        for one in SPACE.enumerate()
    ]
    landscape = Landscape(Table(scenarios=list(PLACES), genes=list(SPACE.genes), rows=rows))
    return contest.Place("small", landscape, (20, 40), 60, {16: 1.0, 32: 0.9, 512: 2.0})


@pytest.mark.parametrize("name", ["start-up", "random", "one-gene"])
def test_a_line_has_the_regrets_of_a_search_and_of_its_confirmation(name, place):
    line = contest.contest(place, name, 1)
    assert list(line["looks"]) == ["20", "40"]
    assert line["looks"]["40"] <= 0.02 and line["confirmed"] <= 0.02
    again = contest.contest(place, name, 1)
    assert {**again, "seconds": 0} == {**line, "seconds": 0}


def test_all_begin_with_the_same_chromosomes(place):
    asked = {}
    for name in ("random", "one-gene"):
        engine = contest.engine_of(name, place, 1)
        engine.inform(dict.fromkeys(PLACES, 1.0), SPACE.default(), ())
        found = []
        for _ in range(6):
            (one,) = engine.ask()
            found.append(one)
            engine.tell([Scored(one, 1.0) for one in found])
        asked[name] = found
    ours = contest.engine_of("start-up", place, 1)
    ours.inform(dict.fromkeys(PLACES, 1.0), SPACE.default(), ())
    assert asked["random"] == [SPACE.default(), *ours.ask()[:5]]
    predicted = SPACE.default() | {"read_ahead_kb": 32}
    assert asked["one-gene"][0] == predicted


@pytest.mark.thorough
def test_a_contest_goes_on_where_it_was_interrupted(place, tmp_path, monkeypatch):
    file = tmp_path / "lines.jsonl"
    monkeypatch.setattr(contest, "places", lambda: iter([("small", lambda: place)]))
    words = ["contest", "--seeds", "2", "--only", "start-up", "-o", str(file)]
    monkeypatch.setattr(sys, "argv", words)
    assert contest.main() == 0
    whole = file.read_text().splitlines()
    file.write_text(whole[1] + "\n")
    assert contest.main() == 0
    seeds = [json.loads(line)["seed"] for line in file.read_text().splitlines()]
    assert seeds == [1, 0]
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert "| small | 0,2/2; " in contest.table(lines)


def test_a_peer_that_is_not_installed_is_left_out_with_a_message(place, monkeypatch):
    def absent(module):
        raise ImportError(module)

    monkeypatch.setattr(peers, "import_module", absent)
    for name in ("cat-cma", "smac"):
        with pytest.raises(RecipeError, match="is not installed"):
            contest.engine_of(name, place, 1)


class Degenerate:
    """Stands for CatCMAwM: proposes the largest numbers and last words, and then fails."""

    population_size = 2
    made = 0

    def __init__(self, seed, z_space=None, mean=None, c_space=None):
        self.z_space, self.mean, self.c_space = z_space, mean, c_space
        Degenerate.made += 1

    def ask(self):
        z = np.array([places[-1] for places in self.z_space])
        return SimpleNamespace(z=z, c=np.eye(2)[[1]])

    def tell(self, solutions):
        assert [cost for _, cost in solutions] == pytest.approx([-np.log(2), -np.log(2)])
        raise np.linalg.LinAlgError


def test_cat_cma_starts_at_the_best_founder_and_again_where_it_degenerates(monkeypatch):
    monkeypatch.setattr(peers, "import_module", lambda _: SimpleNamespace(CatCMAwM=Degenerate))
    better = SPACE.default() | {"read_ahead_kb": 32}
    engine = peers.CatCma(SPACE, 1, [SPACE.default(), better])
    first = engine.ask()
    assert first == [SPACE.default(), better]
    engine.tell([Scored(first[0], 1.0), Scored(first[1], 1.5)])
    assert engine._optimizer.mean.tolist() == [1.0, 2.0]  # places of 32 KiB, and of 8
    proposed = engine.ask()
    assert proposed == [{"scheduler": "bfq", "read_ahead_kb": 512, "slice_idle": 8}] * 2
    engine.tell([Scored(one, 2.0) for one in proposed])
    assert Degenerate.made == 2 and engine._optimizer.mean.tolist() == [5.0, 2.0]


def test_the_figures_have_each_search_once():
    text = (contest.HERE / "figures/contest.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    keys = [(one["place"], one["contestant"], one["seed"]) for one in lines]
    assert len(set(keys)) == len(keys)
