"""The studies of IOPerf and of fingerprints count right, on landscapes made up for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from example_modules import imported

from analyzer.tuner.fingerprint import Snapshot
from boards.target import TargetError
from tracer.workload import Done, Workload

STUDY = Path(__file__).parents[2] / "examples" / "tune-study"
MODULES = (
    *("loop_disk", "workload_bench", "fingerprints"),
    *("ioperf_figures", "workload_board", "ioperf"),
)
SNAPSHOTS = {
    "sequential write": Snapshot(writes=100, sectors=800, followers=99),
    "random read": Snapshot(reads=100, sectors=800, followers=99, jumps=99),
    "random write": Snapshot(writes=100, sectors=800, followers=99, jumps=99),
    "sequential read": Snapshot(reads=100, sectors=800, followers=99),
}


@pytest.fixture
def study(monkeypatch):
    with imported(monkeypatch, STUDY, MODULES) as modules:
        yield modules


def landscape(module, rate):
    """Return the space, and a table whose rates a function of workload and chromosome says."""
    over = module.space(
        ("none", "bfq"), {"scheduler": "none", "read_ahead_kb": 128, "max_sectors_kb": 1000}
    )

    def run(name, one):
        return {"transferred_bytes": rate(name, one), "seconds": 1, "requests": 9, "latency_s": 0.1}

    cells = {
        name: {module.key(one): [run(name, one)] for one in over.enumerate()}
        for name in module.WORKLOADS
    }
    data = {"cells": cells, "snapshots": {name: vars(one) for name, one in SNAPSHOTS.items()}}
    return over, module.read_table(json.loads(json.dumps(data)))


def test_a_flat_landscape_has_converged_at_once(study):
    over, table = landscape(study["fingerprints"], lambda name, one: 1000)
    taken = study["fingerprints"].converge(table, over, "genetic-library", seed=1)
    assert set(map(tuple, taken.values())) == {(0, 0)}


def test_what_cannot_be_reached_counts_whole_phases(study, monkeypatch):
    module = study["fingerprints"]
    monkeypatch.setattr(module, "PHASE_GENERATIONS", 2)
    monkeypatch.setattr(module, "CONVERGED", 1.1)
    over, table = landscape(module, lambda name, one: 1000)
    assert module.converge(table, over, "genetic-library", seed=1)["random read"] == [16, 16]


def test_fingerprints_help_where_opposite_workloads_want_opposite_windows(study, monkeypatch):
    module = study["fingerprints"]
    monkeypatch.setattr(module, "SEEDS", 8)
    monkeypatch.setattr(module, "PHASE_GENERATIONS", 15)

    def rate(name, one):
        wanted = 1024 if name.startswith("sequential") else 4
        return 1000 if one["read_ahead_kb"] == wanted else 300

    over, table = landscape(module, rate)
    rows = module.summary(table, over)
    assert {rows[name]["fingerprint"] for name in rows} == {
        "write-sequential-small",
        "read-random-small",
        "write-random-small",
        "read-sequential-small",
    }
    assert rows["random read"]["worst_of_best"] == pytest.approx(0.3)
    changed = [rows["random read"], rows["sequential read"]]  # the others want what was there
    assert sum(row["second_pass"] - row["without"] for row in changed) < 0
    json.dumps(rows)


def done(rate, latency=1.0):
    return {"transferred_bytes": rate, "seconds": 1.0, "requests": 1, "latency_s": latency}


def row(tuned, latency, within, **more):
    return {
        "workload": {"read_share": 100},
        "chromosome": {"scheduler": "bfq", "read_ahead_kb": 256},
        "within_clearance": within,
        "default": done(100),
        "tuned": done(tuned, latency),
        **more,
    }


def test_ioperf_counts_what_improved(study):
    rows = [row(150, 1.1, True, again=done(110)), row(90, 0.8, False)]
    found = study["ioperf_figures"].summary(rows)
    assert found["all"]["workloads"] == 2
    assert found["all"]["productivity_improved"] == 0.5
    assert found["all"]["productivity_gain"] == pytest.approx(0.2)
    assert found["all"]["latency_gain"] == pytest.approx(0.05)
    assert found["all"]["both_improved"] == 0
    assert found["within_clearance"]["productivity_gain"] == pytest.approx(0.5)
    assert found["reads 95-100 %"] == found["all"] and "reads 0-4 %" not in found
    assert found["bfq applied"] == found["window 0-256 KiB applied"] == found["all"]
    assert found["default_again"]["workloads"] == 1
    text = study["ioperf_figures"].table(found)
    assert "| the paper | 1000 | 88.2% | +29.63% |" in text
    assert "| within clearance | 1 | 100.0% | +50.00% " in text


def test_ioperf_tells_what_could_have_been_gained(study):
    def at(rate, **settings):
        return {"set": settings, **done(rate)}

    settings = [
        at(105, scheduler="none", read_ahead_kb="128"),
        at(120, scheduler="none", read_ahead_kb="64"),
        at(90, scheduler="bfq", read_ahead_kb="64"),
        at(110, scheduler="bfq", read_ahead_kb="16"),
        at(99, swappiness="0"),
    ]
    default = {"scheduler": "bfq", "read_ahead_kb": "128", "swappiness": "60"}
    rows = [row(100, 1.0, True, settings=settings), row(150, 1.0, True)]
    found = study["ioperf_figures"].headroom(rows, default)
    assert (found["workloads"], found["tuned"]) == (1, 0)
    assert found["best"] == pytest.approx(0.2)
    assert found["scheduler"] == pytest.approx(0.05)
    assert found["read_ahead_kb"] == pytest.approx(0.1)
    assert found["swappiness"] == 0
    assert found["one_setting"]["setting"] == "scheduler none read_ahead_kb 64"
    assert study["ioperf_figures"].headroom([], default) == {}


class Board:
    """Stands in for a board; ``fails`` so many times before it answers."""

    booted = fails = 0

    def __init__(self, *_):
        Board.booted += 1

    def read_knob(self, path):
        if Board.fails:
            Board.fails -= 1
            raise TargetError("gone", "boot it")
        return f"value of {path}"

    def close(self):
        pass


@pytest.fixture
def boards(study, monkeypatch):
    """Return the module with boards that do any run, which they list."""
    module, runs = study["workload_board"], []

    def run(board, ground, workload, seconds, settings):
        runs.append((workload, tuple(settings)))
        return Done(1000 + len(runs), 1.0, 10, 0.1)

    monkeypatch.setattr(module, "EmulatedTarget", Board)
    monkeypatch.setattr(module, "lay_out", lambda *_: None)
    monkeypatch.setattr(module, "run", run)
    monkeypatch.setattr(module, "_WARMING_RUNS", 0)
    monkeypatch.setattr(Board, "booted", 0)
    return module, runs


WORKLOAD = Workload(1, 50, 50, 64)


def test_a_study_that_was_killed_asks_for_what_is_missing_only(boards, tmp_path):
    module, runs = boards
    raw = tmp_path / "raw.jsonl"
    with module.workload_board(raw, 1.0, str) as board:
        first = [board.run((), WORKLOAD), board.run((), WORKLOAD, repeat=1), board.knob("/a")]
    with raw.open("a") as file:
        file.write('{"asked": {"knob": "/b"}, "ans')  # the kill -9
    with module.workload_board(raw, 1.0, str) as board:
        assert [
            board.run((), WORKLOAD),
            board.run((), WORKLOAD, repeat=1),
            board.knob("/a"),
        ] == first
        assert (Board.booted, len(runs)) == (1, 2)
        assert board.knob("/b") == "value of /b"
    assert Board.booted == 2
    assert [json.loads(line)["answer"] for line in raw.read_text().splitlines()][2:] == [
        "value of /a",
        "value of /b",
    ]


def test_a_board_that_is_lost_is_booted_anew(boards, tmp_path, monkeypatch):
    module, _ = boards
    monkeypatch.setattr(Board, "fails", 2)
    with module.workload_board(tmp_path / "raw", 1.0, str) as board:
        assert board.knob("/a") == "value of /a"
        assert Board.booted == 3
        Board.fails = 3
        with pytest.raises(TargetError):
            board.knob("/b")


def test_every_scheduler_but_none_gets_the_same_queue(boards, tmp_path):
    module, runs = boards
    queue = "/sys/block/slow0/queue/"
    with module.workload_board(tmp_path / "raw", 1.0, str) as board:
        for settings in ((), [(f"{queue}scheduler", "bfq")], [(f"{queue}scheduler", "none")]):
            board.run(settings, WORKLOAD)
    asked = [dict(settings).get(f"{queue}nr_requests") for _, settings in runs]
    assert asked == ["128", "128", None]


def test_ioperf_from_learning_to_json(study, boards, tmp_path, monkeypatch, capsys):
    _, runs = boards
    monkeypatch.setattr(Board, "read_knob", lambda self, path: KNOBS[path.rpartition("/")[2]])
    out = tmp_path / "out.json"
    words = ["--workloads", "4", "--generations", "2", "--exhaustive", "1", "--noise", "2"]
    command = ["ioperf.py", *words, "--raw", str(tmp_path / "raw"), "-o", str(out)]
    monkeypatch.setattr("sys.argv", command)
    study["ioperf"].main()
    first = json.loads(out.read_text())
    made = len(runs)
    assert len(first["population"]) == 50 and len(first["workloads"]) == 4
    assert first["default"] == {"scheduler": "bfq", "read_ahead_kb": 128, "swappiness": 60}
    assert [("again" in one, "settings" in one) for one in first["workloads"]] == [
        (True, True),
        (False, False),
        (True, False),
        (False, False),
    ]
    assert "| the paper |" in capsys.readouterr().out
    study["ioperf"].main()
    assert json.loads(out.read_text()) == first and len(runs) == made


KNOBS = {
    "scheduler": "none [bfq]",
    "read_ahead_kb": "128",
    "swappiness": "60",
    "osrelease": "6.12.0",
}
