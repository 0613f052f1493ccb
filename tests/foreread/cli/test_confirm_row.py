"""``foreread confirm --advice``: a row of the table, measured on a bench without a machine."""

import json
import shutil
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from row_benches import RowBench

from foreread.analyzer.advise.document import AdviceDocument, LaterWindow, RowTrial
from foreread.analyzer.advise.offer import Offer, trial_of
from foreread.analyzer.confirm.text import stored, stored_changes, windows_text
from foreread.analyzer.ingest.archive import unpack
from foreread.boards.base.document import read_document
from foreread.boards.target import LocalTarget
from foreread.error import ForereadError
from foreread.measuring import confirm as confirm_start
from foreread.measuring.confirm import BY_SCRIPT
from foreread.question import Question
from foreread.tracer import machines
from foreread.tracer.formats.capture import read

EXAMPLE = Path(__file__).parents[3] / "examples/python-start/python-start.capture.tar.xz"


@pytest.fixture
def advice(advice_folder):
    """The advice about the shipped example: a folder of its table and its lists."""
    return advice_folder


@pytest.fixture
def confirming(advice, example_prediction, tmp_path, monkeypatch, run):
    """Return a function that confirms a row, and returns the bench, its options and the output."""
    folder = unpack(EXAMPLE, tmp_path)
    bench = RowBench(read(folder)[0])
    asked = []

    @contextmanager
    def opened(*words):
        asked.append(words[-1])
        yield bench

    monkeypatch.setattr(Question, "predicted", lambda *_: example_prediction)
    monkeypatch.setattr(machines, "trials_here", opened)
    monkeypatch.setattr(
        confirm_start, "open_target", lambda text, identity, tell: nullcontext(LocalTarget())
    )

    def confirming(*words, file=advice / "advice.json", code=0):
        words = ["confirm", str(folder), "--advice", str(file), "--seed", "1", "--json", *words]
        said = run(*words, code=code)
        return (json.loads(said.out), bench, asked[0]) if code == 0 else said.err

    confirming.folder, confirming.bench = folder, bench
    return confirming


def document(advice):
    return read_document(advice / "advice.json", AdviceDocument, ForereadError, "")


def rank(advice, kind):
    rows = enumerate(document(advice).rows, 1)
    return next(str(number) for number, row in rows if row.kind == kind)


def changed(advice, tmp_path, number, **fields):
    """Write the advice with other fields of a row, and return its file."""
    shutil.copytree(advice, tmp_path / "changed", dirs_exist_ok=True)
    found = json.loads((advice / "advice.json").read_text())
    found["rows"][number - 1] |= fields
    file = tmp_path / "changed/advice.json"
    file.write_text(json.dumps(found))
    return file


def test_a_list_is_replayed_in_the_proposed_runs_alone(advice, confirming):
    number = rank(advice, "list")
    found, bench, options = confirming("--row", number)
    assert found["outcome"] == "confirmed"
    row = document(advice).rows[int(number) - 1]
    assert found["change"] == row.what
    assert found["predicted_gain"] == pytest.approx(row.saved / document(advice).seconds)
    assert options.replayer.listing == (advice / "start.list").read_bytes()
    assert options.replayer.kind == "script"
    assert found["notes"] == [BY_SCRIPT]
    with_list = [one for one in bench.made if one.replays]
    assert 2 * len(with_list) == len(bench.made) - 1  # the first is discarded
    assert {one.settings[0][1] for one in bench.made} == {"128"}


def test_a_result_about_a_row_is_none_about_its_window(advice, confirming):
    confirming("--row", rank(advice, "list"))
    capture = read(confirming.folder)[0]
    assert stored(capture) == []
    assert [one.outcome for one in stored_changes(capture)] == ["confirmed"]


def test_a_row_of_a_window_is_a_question_about_that_window(advice, confirming):
    number = rank(advice, "window")
    found, bench, options = confirming("--row", number)
    kb = document(advice).rows[int(number) - 1].trial.read_ahead_kb
    assert (found["change"], found["proposed_kb"]) == ("", kb)
    assert options.replayer is None
    assert {one.settings[0][1] for one in bench.made} == {"128", str(kb)}


def test_windows_in_phases_change_during_the_proposed_runs(advice, confirming, tmp_path):
    trial = {"read_ahead_kb": 32, "later": [{"after_s": 0.25, "read_ahead_kb": 512}]}
    file = changed(advice, tmp_path, 1, trial=trial, what="phases")
    found, bench, options = confirming(file=file)
    (line,) = {one.line for trial in bench.made for one in trial.later}
    assert line == f"0.250\t{bench.windows[0]}\t512\t32"
    assert (found["proposed_kb"], options.replayer) == (32, None)


def test_the_program_given_replays_the_list(advice, confirming, tmp_path):
    program = tmp_path / "foreread-prefetch"
    program.write_bytes(b"\x7fELF and so on")
    words = ("--row", rank(advice, "list"), "--replayer", str(program))
    found, _, options = confirming(*words)
    assert found["notes"] == []
    assert (options.replayer.kind, options.replayer.program) == ("program", program.read_bytes())


def with_advice(path="/usr/share/app.data"):
    one = {"call": "madvise", "advice": "random", "path": path}
    return {"trial": {"advice": [one]}, "what": "MADV_RANDOM"}


def test_the_shim_is_preloaded_in_the_proposed_runs_alone(advice, confirming, tmp_path):
    file, shim = changed(advice, tmp_path, 1, **with_advice()), tmp_path / "own.so"
    shim.write_bytes(b"\x7fELF and so on")
    found, bench, options = confirming("--shim", str(shim), file=file)
    assert found["change"] == "MADV_RANDOM"
    assert options.preload.library == shim.read_bytes()
    listing = b"foreread-advice 1\nmadvise random /usr/share/app.data\n"
    assert options.preload.listing == listing
    preloading = [one for one in bench.made if one.preloads]
    assert 2 * len(preloading) == len(bench.made) - 1  # the first is discarded


@pytest.mark.parametrize("content", [None, b"", b"#!/bin/sh\n"])
def test_without_a_shim_nothing_runs(advice, confirming, tmp_path, content):
    file, shim = changed(advice, tmp_path, 1, **with_advice()), tmp_path / "own.so"
    if content is not None:
        shim.write_bytes(content)
    words = () if content is None else ("--shim", str(shim))
    said = confirming(*words, file=file, code=1)
    assert "cc -std=c11 -O2 -shared -fPIC -o foreread-advice.so" in said
    assert not confirming.bench.made


@pytest.mark.parametrize("path", ["relative", "/new\nfadvise random /other", "/nul\0", ""])
def test_a_path_that_would_add_to_the_list_is_refused(advice, confirming, tmp_path, path):
    file, shim = changed(advice, tmp_path, 1, **with_advice(path)), tmp_path / "own.so"
    shim.write_bytes(b"\x7fELF and so on")
    assert "cannot name" in confirming("--shim", str(shim), file=file, code=1)
    assert not confirming.bench.made


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"trial": {"advice": [{"call": "madvise", "advice": "x", "path": "/"}]}}, "advice.json"),
        ({"trial": None}, "needs another build"),
        ({"trial": {"listing": "../secret"}}, "advice.json"),
        ({"trial": {"listing": "none.list"}}, "does not exist"),
        ({"trial": {"read_ahead_kb": -1}}, "advice.json"),
        ({"trial": {"later": [{"after_s": -1.0, "read_ahead_kb": 4}]}}, "advice.json"),
    ],
)
def test_a_row_that_runs_cannot_have_is_refused(advice, confirming, tmp_path, fields, said):
    assert said in confirming(file=changed(advice, tmp_path, 1, **fields), code=1)


def test_a_damaged_list_is_refused_before_any_run(advice, confirming, tmp_path):
    number = rank(advice, "list")
    file = changed(advice, tmp_path, int(number))
    file.with_name("start.list").write_bytes(b"foreread-prefetch 2\n")
    assert "start.list" in confirming("--row", number, file=file, code=1)


def test_advice_about_another_capture_is_refused(advice, confirming, tmp_path):
    file = changed(advice, tmp_path, 1)
    found = json.loads(file.read_text()) | {"recorded": "2020-01-01T00:00:00+00:00"}
    file.write_text(json.dumps(found))
    number = rank(advice, "list")
    assert "about another capture" in confirming("--row", number, file=file, code=1)


def test_a_row_that_is_not_there_is_refused(confirming):
    said = confirming("--row", "99", code=1)
    assert "has no row 99: it has" in said
    assert "choose another --row N" in said


@pytest.mark.parametrize("row", ["0", "-1", "one", "1.5"])
def test_a_row_is_a_number_from_1(row, run):
    words = ["confirm", str(EXAMPLE), "--advice", "advice.json", f"--row={row}"]
    assert "write the number of a row from 1 to" in run(*words, code=2).err


def test_a_table_without_rows_has_none_to_test(advice, confirming, tmp_path):
    file = changed(advice, tmp_path, 1)
    file.write_text(json.dumps(json.loads(file.read_text()) | {"rows": []}))
    assert "has no row 1: it has 0 rows -- write the advice again" in confirming(file=file, code=1)


def test_the_folder_of_the_advice_stands_for_its_table(advice, confirming):
    found, _, _ = confirming("--row", rank(advice, "window"), file=advice)
    assert found["outcome"] == "confirmed"


def test_a_row_that_needs_a_build_is_refused_with_the_command_that_measures_both(
    advice, confirming
):
    number = rank(advice, "early")
    said = confirming("--row", number, code=1)
    assert "needs another build (a change in the application), which confirm cannot make" in said
    assert "foreread sweep --windows 2560 -o sweep.json" in said
    assert "once with the present build, once with the new one" in said


def test_advice_is_not_measured_on_another_board(advice, confirming):
    confirming.bench.model = "another CPU"
    said = confirming("--row", rank(advice, "list"), code=1)
    assert "this is not the recorded board: its CPU is 'another CPU'" in said
    assert "--force" in said
    assert not confirming.bench.made


def test_a_result_without_a_new_window_names_the_change_first(advice, confirming):
    found, _, _ = confirming("--row", rank(advice, "list"))
    (stored,) = stored_changes(read(confirming.folder)[0])
    assert windows_text(stored) == f"{found['change']}, at 128 KiB,"


@pytest.mark.parametrize(
    "words",
    [
        ["--row", "1"],
        ["--replayer", "x"],
        ["--shim", "x"],
        ["--advice", "a", "--read-ahead-kb", "4"],
    ],
)
def test_options_that_exclude_each_other_are_wrong_usage(words, run):
    assert run("confirm", EXAMPLE, *words, code=2).err


def offer(trial):
    return Offer("window", "window", "", lambda one: one, (), "packaging", "", trial=trial)


def test_combined_changes_are_had_together():
    window = RowTrial(read_ahead_kb=0, later=[LaterWindow(1.0, 64)])
    offers = [offer(one) for one in (window, RowTrial(listing="start.list"), RowTrial())]
    found = trial_of(offers)
    assert found == RowTrial(read_ahead_kb=0, later=[LaterWindow(1.0, 64)], listing="start.list")
    assert trial_of([*offers, offer(None)]) is None
