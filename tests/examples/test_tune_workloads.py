"""The studies of IOPerf and of fingerprints count right, on landscapes made up for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from example_modules import imported

from analyzer.tuner.fingerprint import Snapshot

STUDY = Path(__file__).parents[2] / "examples" / "tune-study"
MODULES = ("loop_disk", "workload_bench", "ioperf", "fingerprints")
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


def test_ioperf_counts_what_improved(study):
    def row(tuned, again, latency):
        return {
            "productivity": {"tuned": tuned, "again": again},
            "latency": {"tuned": latency, "again": 0.0},
        }

    lost = {"productivity": None, "latency": None}
    figures = study["ioperf"].summary([row(0.5, 0.1, -0.1), row(-0.1, 0.0, 0.2), lost])
    assert (figures["workloads"], figures["not_measured"]) == (2, 1)
    assert figures["productivity_improved"] == 0.5
    assert figures["productivity_gain"] == pytest.approx(0.2)
    assert figures["latency_improved"] == 0.5
    assert figures["both_improved"] == 0
    assert figures["default_again"]["productivity_improved"] == 0.5
    assert study["ioperf"].summary([lost]) == {"workloads": 0}
