"""False and lost savings, by the noise of each chromosome and by the pooled one."""

import json
import math

import pytest

from foreread.analyzer.tuner.space.genes import Gene
from studies.tuning import confirmation_noise
from studies.tuning.confirmation_noise import confirmed, counted, winner_of
from studies.tuning.landscape import Landscape, Row, Table

GENES = [
    Gene(name="bfq", kind="boolean", default=0),
    Gene(name="requests", kind="integer", choices=(2, 64), default=2),
    Gene(name="useless", kind="boolean", default=0),
]
NOISE = tuple(math.exp(0.01 * off) for off in (-1, -0.3, 0, 0.3, 1))
WINNER = {"bfq": 1, "requests": 64, "useless": 0}


def seconds(bfq, requests):
    """bfq saves a tenth with 64 requests; with its 2 it takes 1.6 s or more than 20."""
    if bfq and requests == 2:
        return [1.6, 4.0, 20.0]
    return [(0.9 if bfq else 1.0) * one for one in NOISE]


@pytest.fixture
def landscape():
    rows = [
        Row([bfq, requests, useless], {"reader": seconds(bfq, requests)})
        for bfq in (0, 1)
        for requests in (2, 64)
        for useless in (0, 1)
    ]
    return Landscape(Table(scenarios=["reader"], genes=GENES, rows=rows))


def test_the_pooled_noise_loses_what_the_own_one_shows(landscape):
    counts = counted(landscape, WINNER, "optimum", range(4))
    assert counts["own"].lost == 0 and counts["own"].shown == 4
    assert counts["pooled"].lost == 4 and counts["pooled"].shown == 0
    assert counts["own"].row()["regret"] == pytest.approx(0.0)
    assert counts["pooled"].row()["regret"] == pytest.approx(1 / 0.9 - 1)
    assert all(count.false == 0 for count in counts.values())


def test_a_false_saving_is_counted(landscape, monkeypatch):
    monkeypatch.setattr(confirmation_noise, "_saving", lambda *_: -0.01)
    counts = counted(landscape, WINNER, "optimum", range(2))
    assert (counts["own"].false, counts["own"].lost) == (2, 0)


def test_the_rules_get_the_same_runs(landscape):
    drawn = winner_of("searched", landscape, WINNER, 3)
    one, two = (confirmed(landscape, *drawn, 3, "own") for _ in range(2))
    assert one == two
    assert confirmed(landscape, *drawn, 4, "own") != one


def test_a_useless_winner_saves_nothing(landscape):
    for seed in range(5):
        winner, _ = winner_of("useless", landscape, WINNER, seed)
        assert landscape.regret(winner) >= landscape.regret(landscape.space.default())
        assert winner != landscape.space.default()


def test_where_everything_saves_there_is_no_useless_winner():
    rows = [Row([bfq], {"reader": [2.0 - bfq, 2.0 - bfq]}) for bfq in (0, 1)]
    landscape = Landscape(Table(scenarios=["reader"], genes=GENES[:1], rows=rows))
    assert winner_of("useless", landscape, {"bfq": 1}, 0) is None
    assert counted(landscape, {"bfq": 1}, "useless", [0])["own"].confirmations == 0


def test_a_study_writes_its_figures(landscape, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        confirmation_noise, "grounds", lambda _: iter([("made up 1: some", landscape, WINNER)])
    )
    out = tmp_path / "out.json"
    monkeypatch.setattr("sys.argv", ["confirmation_noise.py", "--seeds", "2", "-o", str(out)])
    assert confirmation_noise.main() == 0
    document = json.loads(out.read_text())
    winners = [one["winner"] for one in document["found"]]
    assert winners == ["optimum", "searched", "useless"]
    assert document["found"][0]["pooled"]["lost"] == 2
    assert "pooled: 0 false, 2 lost of 2" in capsys.readouterr().out


def test_simulated_campaigns_count_what_is_false(landscape, monkeypatch, capsys):
    places = [("made up 1: some", landscape, WINNER)]
    counts = confirmation_noise.simulated(7, places)
    assert sum(one["campaigns"] for one in counts.values()) == 7
    assert counts["useless"]["campaigns"] == 3
    assert counts["useless"]["false"] == counts["useless"]["shown"]
    assert all(one["false_genes"] <= one["genes"] for one in counts.values())
    monkeypatch.setattr(confirmation_noise, "grounds", lambda _: iter(places))
    monkeypatch.setattr("sys.argv", ["confirmation_noise.py", "--campaigns", "2"])
    assert confirmation_noise.main() == 0
    assert json.loads(capsys.readouterr().out)["simulated"]["searched"]["campaigns"] == 1


def test_a_saving_that_is_shown_and_is_none_is_false(landscape, monkeypatch):
    monkeypatch.setattr(confirmation_noise, "_saving", lambda *_: 0.0)
    counts = confirmation_noise.simulated(6, [("made up 1: some", landscape, WINNER)])
    assert counts["searched"]["false"] == counts["searched"]["shown"] > 0
