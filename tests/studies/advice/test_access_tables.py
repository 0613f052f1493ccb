"""The study of advice for single files: its table, and its page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studies.advice import access

FOLDER = Path(access.__file__).parent
RAW = sorted((FOLDER / "raw/files").glob("*.json"))


def row(what, kb, predicted, *seconds):
    return {"what": what, "read_ahead_kb": kb, "predicted": predicted, "seconds": seconds}


def document(folder, kernel, rows):
    file = folder / f"{kernel}.json"
    file.write_text(json.dumps({"start": "terms", "kernel": f"{kernel}.1-cloud", "rows": rows}))
    return file


def test_kernels_stand_beside_each_other(tmp_path):
    old = [row("-", 128, 1.0, 1.0), row("random madvise /a", 128, 0.5, 0.4, 0.6)]
    new = [row("-", 128, 2.0, 1.6, 1.6), row("random madvise /a", 64, 0.9, 1.0)]
    files = [document(tmp_path, "6.12", old), document(tmp_path, "7.2", new)]
    assert access.table(files).splitlines()[2:] == [
        "| terms | - | 128 | 1.000 | 1.000 | +0.0 | 2.000 | 1.600 | +25.0 |",
        "| terms | random madvise /a | 128 | 0.500 | 0.500 | +0.0 | – | – | – |",
        "| terms | random madvise /a | 64 | – | – | – | 0.900 | 1.000 | -10.0 |",
    ]


def test_only_savings_by_advice_have_errors(tmp_path):
    """Saved is 0.5, and predicted 0.4 of it, of 0.8 s: an error of an eighth."""
    rows = [
        row("-", 128, 1.2, 1.2),
        row("-", 64, 0.1, 1.0),
        row("random madvise /a", 128, 0.8, 0.7),
    ]
    assert access.deviation([document(tmp_path, "6.12", rows)]).startswith(
        "1 savings: deviation 12.50 %, largest 12.50 %"
    )


def test_the_page_has_the_table_and_the_deviation_of_the_raw_figures():
    page = (FOLDER / "README.md").read_text()
    assert access.table(RAW) in page
    assert access.deviation(RAW).split(",")[0] in page


def test_predictions_of_both_kernels_are_near_what_was_measured():
    """Six rows with advice at least of each of three programs, on two kernels."""
    kernels, starts = set(), {}
    for file in RAW:
        found = json.loads(file.read_text())
        kernels.add(found["kernel"].split("-")[0])
        for one in found["rows"]:
            seconds = sorted(one["seconds"])[len(one["seconds"]) // 2]
            assert one["predicted"] == pytest.approx(seconds, rel=0.05)
            starts.setdefault(found["start"], []).append(one["what"])
    assert len(kernels) == 2
    assert {name for name, rows in starts.items() if len(rows) >= 6} >= {"terms", "media"}


def test_queries_and_programs_are_those_of_the_starts():
    assert {start.split("-")[0] for start in access.STARTS} == {"sqlite", "terms", "media"}
    for name in ("terms", "media"):
        assert (access.PROGRAMS / f"{name}.c").exists()
