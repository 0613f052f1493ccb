"""Rows of advice for single files, from the capture of a real program that maps an index."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from statistics import median

import pytest

from foreread.analyzer.advise.document import AdviceDocument
from foreread.boards.base.document import read_document
from foreread.cli.main import main
from foreread.error import ForereadError
from foreread.improving.job import by_script

ROOT = Path(__file__).parents[3]
CAPTURE = ROOT / "tests/foreread/data/indexed/indexed.capture.tar.xz"
SOURCE = ROOT / "studies/advice/programs/terms.c"
MEASURED = ROOT / "studies/advice/raw/files/6.12-terms.json"
LARGEST_ERROR = 0.03


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What ``advise -o`` writes with the program's source."""
    folder = tmp_path_factory.mktemp("advice") / "advice"
    assert main(["advise", str(CAPTURE), "--source", str(SOURCE), "-o", str(folder)]) == 0
    return folder


@pytest.fixture
def rows(folder):
    return json.loads((folder / "advice.json").read_text())["rows"]


def alone(rows):
    return [row for row in rows if row["kind"] == "access"]


def test_random_is_ranked_for_each_mapping(rows):
    changes = {row["what"] for row in alone(rows)}
    assert changes == {f"MADV_RANDOM for mappings of /app/terms.{end}" for end in ("doc", "tim")}
    assert all("MADV_POPULATE_READ" in row["risk"] for row in alone(rows))


def test_predictions_are_what_was_measured(rows):
    """The seconds of each row alone, and of both together, on the board."""
    measured = {
        row["what"]: median(row["seconds"])
        for row in json.loads(MEASURED.read_text())["rows"]
        if row["read_ahead_kb"] == 128
    }
    compared = 0
    for row in rows:
        advice = (row["trial"] or {}).get("advice", [])
        trial = row["trial"] or {}
        if advice and trial["read_ahead_kb"] is None and not trial["settings"]:
            words = sorted(f"{one['advice']} {one['call']} {one['path']}" for one in advice)
            seconds = measured[" + ".join(words)]
            assert row["seconds"] == pytest.approx(seconds, rel=LARGEST_ERROR)
            compared += 1
    assert compared == 3


def test_each_row_has_its_list_its_lines_its_patch_and_the_shim(folder, rows, tmp_path):
    for row in alone(rows):
        number = rows.index(row) + 1
        path = row["trial"]["advice"][0]["path"]
        listing = (folder / f"row-{number}.advice").read_text()
        assert listing == f"foreread-advice 1\nmadvise random {path}\n"
        names = {Path(name).suffix for name in row["lists"]}
        assert names == {".advice", ".c", ".patch", ".txt"}
        assert all((folder / name).exists() for name in row["lists"])
        assert f"--row {number} --shim foreread-advice.so" in row["measure"]
        (patch,) = (name for name in row["lists"] if name.endswith(".patch"))
        changed = tmp_path / "terms.c"
        changed.write_bytes(SOURCE.read_bytes())
        words = ["patch", "-p1", "-i", str(folder / patch)]
        subprocess.run(words, cwd=tmp_path, check=True)
        subprocess.run(["cc", "-Wall", "-Werror", "-o", tmp_path / "terms", changed], check=True)
        assert "madvise(at, *size, MADV_RANDOM);" in changed.read_text()


def test_a_combination_has_one_list_of_all_its_files(folder, rows):
    (number,) = (
        at
        for at, row in enumerate(rows, 1)
        if row["kind"] == "combination" and len((row["trial"] or {}).get("advice", [])) == 2
    )
    lines = (folder / f"row-{number}.advice").read_text().splitlines()
    assert sorted(lines[1:]) == ["madvise random /app/terms.doc", "madvise random /app/terms.tim"]


def test_the_boot_script_cannot_apply_it(folder):
    """So ``improve`` does not try it: it has no library for the target."""
    rows = read_document(folder / "advice.json", AdviceDocument, ForereadError, "").rows
    with_advice = [row for row in rows if row.trial is not None and row.trial.advice]
    assert len(with_advice) >= 3
    assert not any(by_script(row) for row in with_advice)
    assert any(by_script(row) for row in rows)


def test_a_source_that_is_none_is_refused_before_any_work(run, tmp_path):
    said = run("advise", str(CAPTURE), "--source", str(tmp_path), code=1).err
    assert "is a directory, not a regular file" in said
    assert "predicting" not in said
