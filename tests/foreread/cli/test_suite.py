"""Suites on the command line: predict, what record would make, and the errors of both."""

import json
import shutil
from pathlib import Path

import pytest

import foreread
from foreread.cli.main import main
from foreread.recording import suite as suite_recording
from foreread.recording.suite import run_of
from foreread.tracer.formats.capture import METADATA

DATA = Path(__file__).parents[1] / "data/suite"
SUITE = str(DATA / "one-board.toml")


def run(capsys, *words, code=0):
    assert main(list(words)) == code
    return capsys.readouterr()


@pytest.mark.thorough
def test_the_text_has_each_start_the_verdict_and_the_other_ways(capsys):
    said = run(capsys, "predict", SUITE).out
    lines = said.splitlines()
    assert lines[0] == "verdict: set read_ahead_kb=96 (slow0 of arm64)"
    assert [line.split()[0] for line in lines[5:8]] == ["python", "perl", "madplay"]
    for what in (
        "saves ",
        "worst start: madplay",
        "a window for each start",
        "4 captures of arm64",
    ):
        assert f"  {what}" in said or f"rests on: {what}" in said
    assert len(lines) <= 25
    assert "F² + G², summed" in run(capsys, "predict", SUITE, "--verbose").out


@pytest.mark.thorough
def test_json_is_the_library_s_result(capsys):
    document = json.loads(run(capsys, "predict", SUITE, "--json").out)
    found = foreread.predict_suite(foreread.read_suite(SUITE))
    assert document == json.loads(found.to_json())


@pytest.mark.thorough
def test_windows_are_of_each_board_s_pages(capsys):
    said = run(capsys, "predict", SUITE, "--windows", "64k,128k", "--json").out
    (disk,) = json.loads(said)["boards"][0]["disks"]
    assert disk["windows_kb"] == [0, 64, 128]


@pytest.mark.parametrize(
    "words",
    [
        ("predict", SUITE, SUITE),
        ("predict", SUITE, "--pid", "all"),
        ("predict", SUITE, "--page-size", "16k"),
        ("record", "--suite", SUITE, "-o", "x"),
        ("record", "--suite", SUITE, "--", "true"),
        ("record", "--suite", SUITE, "--target", "arm64"),
        ("record", "--", "true"),
        ("confirm",),
        ("confirm", "--suite", SUITE, "app.capture"),
        ("confirm", "--suite", SUITE, "--resume"),
    ],
)
def test_what_makes_no_sense_with_a_suite_is_wrong_usage(words, capsys):
    said = run(capsys, *words, code=2)
    assert said.out == ""
    assert said.err.startswith(f"foreread {words[0]}: ")


def test_advice_is_written_for_each_start(tmp_path, capsys):
    suite = tmp_path / "suite.toml"
    capture = DATA / "arm64-madplay-1.capture.tar.xz"
    suite.write_text(f'schema = 1\n[[start]]\nname = "player"\ncaptures = ["{capture}"]\n')
    said = run(capsys, "advise", str(suite), "-v", "-o", str(tmp_path / "out")).out
    assert said.startswith("slow0 of local: set read_ahead_kb=")
    assert "  measure player, " in said
    table = json.loads((tmp_path / "out/local/player/advice.json").read_text())
    assert table["rows"]
    document = json.loads(run(capsys, "advise", str(suite), "--json").out)
    assert document["disks"][0]["rows"][0]["start"] == "player"
    alone = (("--image", "x"), ("--board", "arm64"), ("--pid", "all"), ("--page-size", "16k"))
    for words in alone:
        said = run(capsys, "advise", str(suite), *words, code=2).err
        assert f"not for a suite: remove {words[0]}" in said


def copied(tmp_path):
    shutil.copytree(DATA, tmp_path / "suite")
    return tmp_path / "suite"


def test_nothing_is_recorded_where_nothing_is_missing(tmp_path, capsys):
    folder = copied(tmp_path)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    said = run(capsys, "record", "--suite", str(folder / "one-board.toml"))
    assert "0 captures recorded, 4 were there" in said.err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    document = run(capsys, "record", "--suite", str(folder / "one-board.toml"), "--json").out
    assert json.loads(document)["recorded"] == []


def test_a_missing_capture_is_named_with_the_command_that_makes_it(tmp_path, capsys):
    folder = copied(tmp_path)
    (folder / "arm64-perl-1.capture.tar.xz").unlink()
    said = run(capsys, "predict", str(folder / "one-board.toml"), code=1).err
    assert "not recorded: " in said
    assert "arm64-perl-1.capture.tar.xz -- record what is missing: foreread record --suite" in said
    said = run(capsys, "record", "--suite", str(folder / "one-board.toml"), code=1).err
    assert "start 'perl' has no command" in said
    assert not (folder / "arm64-perl-1.capture.tar.xz").exists()


def test_an_interrupted_capture_counts_as_missing(tmp_path, capsys):
    suite = tmp_path / "suite.toml"
    suite.write_text('schema = 1\n[[start]]\nname = "one"\n')
    capture = tmp_path / "captures/local/one-1"
    (capture / "trace").mkdir(parents=True)
    assert "not recorded: " in run(capsys, "predict", str(suite), code=1).err
    (capture / METADATA).write_text("{}")
    assert "missing required field" in run(capsys, "predict", str(suite), code=1).err


def test_every_place_is_checked_before_the_first_recording(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(suite_recording, "record", lambda *_, **__: pytest.fail("recorded"))
    suite = tmp_path / "suite.toml"
    starts = (f'[[start]]\nname = "{n}"\ncommand = ["true"]\ncaptures = ["{n}/1"]\n' for n in "ab")
    suite.write_text(f"schema = 1\n{''.join(starts)}")
    (tmp_path / "b").touch()
    said = run(capsys, "record", "--suite", str(suite), code=1).err
    remedy = f"give another folder with captures = [...] in {suite}"
    assert said == f"foreread: {tmp_path}/b is not a folder -- {remedy}\n"
    assert not (tmp_path / "a").exists()


def test_a_hostile_suite_is_escaped_and_runs_nothing(tmp_path, capsys):
    """Words of a command are words: no shell reads them, and predict does not run them at all."""
    suite = tmp_path / "a\x1b[31m\n.toml"
    mark = tmp_path / "mark"
    suite.write_text(
        f'schema = 1\n[[start]]\nname = "one"\ncommand = ["sh", "-c", "touch {mark}"]\n'
        'captures = ["../\\u001b]0;x\\u0007"]\n'
    )
    said = run(capsys, "predict", str(suite), code=1).err
    assert "\x1b" not in said
    assert said.count("\n") == 1
    assert not mark.exists()


def test_a_start_is_run_as_the_suite_says(tmp_path):
    suite = tmp_path / "suite.toml"
    suite.write_text(
        'schema = 1\n[[start]]\nname = "one"\ncommand = ["sh", "-c", "a; b"]\nduration_s = 5\n'
        'until_output = "ready"\nuser = "kiosk"\n'
    )
    (board,) = foreread.read_suite(suite).boards
    options = run_of(board.cases[0].start)
    assert options.command == ["sh", "-c", "a; b"]
    assert (options.ending.duration_s, options.ending.output) == (5, "ready")
    assert options.user == "kiosk"
