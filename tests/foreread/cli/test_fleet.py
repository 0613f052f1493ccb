"""``foreread fleet``: text, JSON, exit codes, and other files than captures."""

import json
import os
from pathlib import Path

import pytest
from fleet_captures import copies, damaged
from fleet_rows import analysed, store_of
from special_files import special_files

from foreread.cli.main import main

DATA = Path(__file__).parents[2] / "analyzer"
FOREIGN = [
    "apply/data/foreign-disk/start.pftrace",
    pytest.param("ingest/data/perf/file.script.txt", marks=pytest.mark.thorough),
]


def run(capsys, *words, code=0):
    assert main(["fleet", *map(str, words)]) == code
    return capsys.readouterr()


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("captures")
    copies(folder, 2)
    damaged(folder, ["\x1b[31m<b>"])
    (folder / "notes").touch()
    return folder


@pytest.mark.thorough
def test_the_text_says_what_was_added_and_what_to_type_next(captures, tmp_path, capsys):
    said = run(capsys, "analyse", captures, "-o", tmp_path / "store", "--jobs", "1")
    lines = said.out.splitlines()
    assert lines[0].startswith("3 captures listed, 0 in the store before, 3 added in ")
    assert lines[0].endswith(" a second, 1 worker)")
    assert lines[1:] == [
        "1 added capture could not be analysed: see the report",
        "1 other file left out",
        f"the report: foreread fleet report {tmp_path}/store -o DIR",
    ]
    text = run(capsys, "analyse", captures, "-o", tmp_path / "store").out
    assert text.startswith("3 captures listed, 3 in the store before, 0 added\n")
    again = json.loads(run(capsys, "analyse", captures, "-o", tmp_path / "store", "--json").out)
    assert (again["stored_before"], again["analysed"], again["left"]) == (3, 0, 0)


@pytest.mark.parametrize("trace", FOREIGN)
def test_a_trace_without_names_of_board_and_command_is_reported(trace, tmp_path, capsys):
    run(capsys, "analyse", DATA / trace, "-o", tmp_path / "store", "--jobs", "1")
    run(capsys, "report", tmp_path / "store", "-o", tmp_path / "report", "--json")
    figures = json.loads((tmp_path / "report/fleet.json").read_text())
    assert (figures["captures"], figures["errors"]) == (1, 0)
    assert figures["start_rows"][0]["board_name"] == "unknown"
    assert figures["start_rows"][0]["command"] == "unknown"


def test_a_folder_without_captures_names_no_report(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    said = run(capsys, "analyse", tmp_path / "empty", "-o", tmp_path / "store").out.splitlines()
    assert said[0] == "0 captures listed, 0 in the store before, 0 added"
    assert said[1].startswith("nothing to report: ")


def test_a_report_has_what_was_analysed(captures, tmp_path, capsys):
    run(capsys, "analyse", captures, "-o", tmp_path / "store")
    said = run(capsys, "report", tmp_path / "store", "-o", tmp_path / "report", "--json").out
    files = json.loads(said)
    figures = json.loads((tmp_path / "report/fleet.json").read_text())
    assert (figures["captures"], figures["errors"], figures["boards"]) == (3, 1, 2)
    page = (tmp_path / "report/index.html").read_text()
    assert files["html"] == str(tmp_path / "report/index.html")
    assert "\x1b" not in page
    assert "<b>.capture" not in page
    text = run(capsys, "report", tmp_path / "store", "-o", tmp_path / "report").out
    lines = text.splitlines()
    assert "start" in lines[0]
    assert "  doubt: 1 capture could not be analysed" in lines
    assert lines[-1] == f"more: the report: {tmp_path}/report/index.html"
    assert "\x1b" not in text


def test_a_capture_that_is_left_out_exits_with_1(captures, tmp_path, capsys, monkeypatch):
    inner = os.scandir

    def scandir(path):
        if str(path).endswith("board-1"):
            raise PermissionError(13, "Permission denied", str(path))
        return inner(path)

    monkeypatch.setattr(os, "scandir", scandir)
    said = run(capsys, "analyse", captures, "-o", tmp_path / "store", code=1).out
    assert "not in the store: 1" in said
    assert "Permission denied" in said
    assert said.endswith("to try these again, repeat the command\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--jobs", "0"), "'0': write a number from 1"),
        (("--batch", "x"), "'x': write a number from 1"),
        (("--jobs", "1", "--dask", "tcp://h:1"), "not allowed with argument"),
    ],
)
def test_arguments_that_make_no_sense_are_wrong_usage(words, said, tmp_path, capsys):
    with pytest.raises(SystemExit) as error:
        main(["fleet", "analyse", "x", "-o", str(tmp_path / "store"), *words])
    assert error.value.code == 2
    assert said in capsys.readouterr().err


def test_errors_are_one_line_with_what_to_do(tmp_path, capsys):
    store_of(tmp_path / "empty")
    for words, said in (
        (["analyse", tmp_path / "nowhere", "-o", tmp_path / "store"], "nowhere does not exist -- "),
        (["report", tmp_path / "store", "-o", tmp_path], "store is not a store: "),
        (["report", tmp_path / "empty", "-o", tmp_path], "empty has no capture -- add some: "),
    ):
        lines = run(capsys, *words, code=1).err.splitlines()
        assert [said in line for line in lines][-1]
        assert not any("Traceback" in line for line in lines)
    assert not (tmp_path / "store").exists()


def test_without_the_extra_its_package_is_named(tmp_path, capsys, monkeypatch):
    store_of(tmp_path / "store", analysed())
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    said = run(capsys, "report", tmp_path / "store", "-o", tmp_path, code=1).err
    assert 'duckdb is not installed -- type: pip install "foreread[fleet]"' in said


@pytest.mark.thorough
def test_files_that_are_no_plain_data_are_rows_or_left_out(tmp_path, outcomes):
    """Nothing waits for a pipe, and nothing reads a device."""
    with special_files(tmp_path):
        names = ("pipe", "held-pipe", "zero", "terminal", "socket", "unreadable", "empty")
        calls = [["fleet", "analyse", f"{name}.toml", "-o", f"out-{name}"] for name in names]
        seen = dict(zip(names, outcomes(calls, tmp_path), strict=True))
    assert {name for name, one in seen.items() if one.code == 0} == {"empty"}
    assert "1 added capture could not be analysed" in seen["empty"].stdout
    for name in ("pipe", "held-pipe", "zero", "terminal", "socket", "unreadable"):
        assert seen[name].code == 1, (name, seen[name])
        assert "Traceback" not in seen[name].stderr
