"""``foreread advise``: the table, its JSON, the lists it writes, and what it refuses."""

import json
import shlex
from pathlib import Path

import pytest
from json_outputs import validator

import foreread
from foreread.cli.main import main

ROOT = Path(__file__).parents[3]
CAPTURE = str(ROOT / "examples/python-start/python-start.capture.tar.xz")
BLIND = str(ROOT / "tests/foreread/data/no-scheduler/no-scheduler.capture.tar.xz")


@pytest.fixture
def found(example_advice):
    """The advice about the shipped example."""
    return example_advice


@pytest.fixture
def made(found, monkeypatch):
    """The command has that advice, which it does not compute again."""
    monkeypatch.setattr("foreread.cli.commands.advise.advise", lambda *_, **__: found)


def rows(found, *kinds):
    return [row for row in found.document.rows if not kinds or row.kind in kinds]


def test_rows_are_ranked_by_predicted_seconds_and_save_more_than_their_band(found):
    seconds = [row.seconds for row in rows(found)]
    assert seconds == sorted(seconds)
    for row in rows(found):
        assert row.saved == pytest.approx(found.document.seconds - row.seconds)
        assert row.saved > row.band > 0, row.what


def test_seconds_are_those_of_predict_and_of_prefetch(found):
    start = foreread.load(CAPTURE)
    prediction = foreread.predict(start)
    known = prediction.total.known_seconds
    assert found.document.seconds == pytest.approx(known[2560])
    (window,) = rows(found, "window")
    assert window.seconds == pytest.approx(known[prediction.verdict.read_ahead_kb])
    cases = {case.name: case for case in foreread.prefetch(start, prediction=prediction).cases}
    (listed,) = rows(found, "list")
    assert listed.seconds == pytest.approx(cases["list"].seconds, rel=0.02)


def test_at_most_ten_rows_are_about_files_and_processes(found):
    assert 1 <= len(rows(found, "early", "order", "beside", "metadata", "again", "access")) <= 10


def test_every_row_says_what_to_type_what_it_costs_and_what_can_go_wrong(found):
    for row in rows(found):
        assert row.how
        assert row.effort
        assert row.risk
        assert row.image_bytes == 0
    (listed,) = rows(found, "list")
    assert listed.flash_bytes > 1000
    (early, *_) = rows(found, "early")
    assert early.ranges
    assert all(part.length > 0 for part in early.ranges)


def test_what_the_capture_cannot_show_is_said(found):
    assert any("stat(2), access(2) and readlink(2)" in note for note in found.document.notes)
    assert any(note.startswith("metadata: the start waits for") for note in found.document.notes)


def test_the_command_prints_and_writes_the_document_of_the_library(found, advice_folder):
    printed = json.loads(advice_folder.with_suffix(".json").read_text())
    validator("advise").validate(printed)
    assert json.loads((advice_folder / "advice.json").read_text()) == printed
    assert json.loads(found.document.to_json()) == printed
    for row in printed["rows"]:
        words = shlex.split(row["measure"], comments=True)
        if row["trial"] is None:  # a build, which confirm cannot make
            assert words[:2] == ["foreread", "sweep"]
        else:
            assert words[words.index("--advice") + 1] == "advice/advice.json"
    assert any(row["trial"] for row in printed["rows"])
    assert {path.name for path in advice_folder.iterdir()} == {"advice.json", *found.lists}


def test_the_text_is_the_answer_and_one_table(found, made, run):
    lines = run("advise", CAPTURE).out.splitlines()
    assert lines[0].startswith("now: 1.301 s predicted at 2,560 KiB, ")
    assert lines[1].startswith("best: 0.854 s, 34 % less, by row 1: prefetch list of ")
    assert len(lines) <= 25
    assert not [line for line in lines if "try: " in line or "note: " in line]
    assert lines[-1].startswith("more: --row N")


def test_verbose_has_every_row_in_full_and_commands_that_exist(found, made, run):
    said = run("advise", CAPTURE, "--verbose").out
    unbroken = " ".join(said.split())
    for rank, row in enumerate(rows(found), 1):
        assert f" {rank}. {row.what} try: " in unbroken
    tried = [line.partition("try: ")[2] for line in said.splitlines() if "try: foreread " in line]
    assert len(tried) > 2
    assert {shlex.split(line)[1] for line in tried} <= {"prefetch", "script", "advise", "sweep"}


@pytest.mark.parametrize("columns", [80, 120])
def test_the_table_and_prose_fit_the_terminal_and_commands_are_whole(
    columns, found, made, run, monkeypatch
):
    monkeypatch.setenv("COLUMNS", str(columns))
    said = run("advise", CAPTURE, "-v").out
    commands = [line for row in rows(found) for line in (*row.how, row.measure)]
    assert all(command in said for command in commands)
    table, *details = said.partition("\n\n")[2].split("\n\n")
    assert all(len(line) <= columns for line in table.splitlines())
    assert table.splitlines()[0].endswith("change")
    assert "image" not in table.splitlines()[0]  # no row changes the image
    starts = ("risk: ", "effort: ", "1. ")
    prose = [line for part in details for line in part.splitlines() if line.lstrip()[:6] in starts]
    assert all(len(line) <= columns for line in prose)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([BLIND], 1, "no advice without seconds"),
        ([CAPTURE, "--board", "arm64", "--device-model", "arm64"], 2, "give one of them"),
        ([CAPTURE, "--root", "/nowhere"], 2, "not a folder"),
        ([CAPTURE, "--board", "no-such-board"], 1, "no-such-board"),
        ([CAPTURE, BLIND], 2, "differs from the first capture's"),
        (["/nowhere"], 1, "does not exist"),
    ],
)
def test_what_cannot_be_advised_is_refused_with_a_remedy(words, code, said, run):
    error = run("advise", *words, code=code).err.splitlines()[-1]
    assert said in error


def test_the_fixed_model_has_no_seconds(run):
    assert "predicts no seconds" in run("advise", CAPTURE, "--model", "fixed", code=2).err


def test_the_table_that_measuring_reads_has_to_be_written_first(made, run):
    assert "; -o advice (all files, to measure a row)" in run("advise", CAPTURE).out


def test_a_row_alone_is_printed_in_full(found, made, run):
    said = run("advise", CAPTURE, "--row", "2").out
    assert said.startswith("2. readahead window of 32 KiB instead of 2,560 KiB\n")
    assert said.count("try: ") == len(rows(found)[1].how)


def test_the_file_of_a_row_is_written(found, made, tmp_path):
    kinds = [row.kind for row in rows(found)]
    for kind in ("list", "early"):
        rank, output = kinds.index(kind) + 1, tmp_path / kind
        assert main(["advise", CAPTURE, "--row", str(rank), "-o", str(output)]) == 0
        (name,) = rows(found)[rank - 1].lists
        assert output.read_bytes() == found.lists[name]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--row", "2", "-o", "FILE"], "row 2 needs no file: readahead window of 32 KiB"),
        (["--row", "99"], "there is no row 99: the table has "),
        (["--row", "1", "-o", "."], ". is a folder"),
    ],
)
def test_a_row_without_a_file_is_refused(words, said, made, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said in run("advise", CAPTURE, *words, code=1).err
    assert not [*tmp_path.iterdir()]
