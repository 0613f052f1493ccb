"""`import foreread`: what it imports, what it offers, and how it refuses wrong arguments."""

import ast
import doctest
import inspect
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

import foreread
from foreread.analyzer.predict.choice import ChoiceError
from foreread.analyzer.report.write import ReportFiles
from foreread.boards.base.outputs import OutputError
from foreread.error import ERRORS, ArgumentError

ROOT = Path(__file__).parents[2]
CAPTURE = ROOT / "examples/python-start/python-start.capture.tar.xz"
SWEEP = ROOT / "examples/python-start/python-start.sweep.json"
ROOMS = tuple(f"foreread.{room}" for room in ("analyzer", "boards", "emulator", "tracer"))
HEAVY = ("numpy", "matplotlib", "msgspec", "jinja2", *ROOMS)


@pytest.fixture(scope="module")
def start():
    return foreread.load(CAPTURE)


def _printed(code):
    words = [sys.executable, "-c", code]
    return subprocess.run(words, capture_output=True, check=True, text=True, cwd=ROOT).stdout


def test_import_loads_nothing_heavy():
    code = f"import sys, foreread; print([m for m in {HEAVY} if m in sys.modules])"
    assert _printed(code) == "[]\n"


def test_reading_a_capture_does_not_load_matplotlib():
    code = (
        f"import sys, foreread; foreread.predict(foreread.load({str(CAPTURE)!r}), model='fixed'); "
        "print([m for m in ('matplotlib', 'jinja2', 'pyarrow') if m in sys.modules])"
    )
    assert _printed(code) == "[]\n"


def test_type_checkers_see_every_name_where_it_is_imported_from():
    tree = ast.parse(Path(foreread.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {
        alias.asname: (node.module, alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    lazy = {}
    for name, place in foreread._EXPORTS.items():
        module, _, called = place.partition(":")
        lazy[name] = (module, called or name)
    assert typed == lazy
    assert set(foreread.__all__) == {*lazy, "__version__"}


@pytest.mark.parametrize("name", foreread.__all__)
def test_every_public_name_is_there_and_documented(name):
    found = getattr(foreread, name)
    assert name in dir(foreread)
    if inspect.isfunction(found) or inspect.isclass(found):
        assert inspect.getdoc(found)
    page = (ROOT / "docs/reference/python.md").read_text()
    assert f"`{name}" in page or name == "__version__"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nosuch"):
        _ = foreread.nosuch


@pytest.mark.parametrize(
    "page", ["foreread/__init__.py", "foreread/README.md", "docs/reference/python.md"]
)
def test_examples_give_what_they_show(
    page, monkeypatch, tmp_path, example_advice, example_report, suite_prediction
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "suite").symlink_to(ROOT / "tests/foreread/data/suite")
    report = ReportFiles(example_report / "index.html", example_report / "report.pdf", None, ())
    monkeypatch.setattr(foreread.Start, "advise", lambda _start: example_advice)
    monkeypatch.setattr(foreread.Start, "report", lambda *_, **__: report)
    monkeypatch.setattr(foreread, "report", lambda *_, **__: report)
    monkeypatch.setattr(foreread, "predict_suite", lambda _suite: suite_prediction)
    if page.endswith(".py"):
        done = doctest.testmod(foreread)
    else:
        done = doctest.testfile(str(ROOT / page), module_relative=False)
    assert done.attempted > 3
    assert done.failed == 0


@pytest.mark.parametrize("measure", [foreread.sweep, foreread.tune])
def test_a_file_that_exists_is_refused_before_any_run(measure, tmp_path):
    (tmp_path / "there").write_text("mine")
    with pytest.raises(OutputError, match="there exists already"):
        measure(["touch", str(tmp_path / "was-run")], tmp_path / "there")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert (tmp_path / "there").read_text() == "mine"


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f.load(CAPTURE, None),
        lambda f: f.load(None),
        lambda f: f.record("true", "/tmp/never"),
        lambda f: f.record([], "/tmp/never"),
        lambda f: f.record(["true"], None),
        lambda f: f.record(["true"], "/tmp/never", read_ahead_kb=-1),
        lambda f: f.record(["true"], "/tmp/never", target=""),
        lambda f: f.sweep(["true"], "/tmp/never", windows_kib=[]),
        lambda f: f.sweep(["true"], "/tmp/never", windows_kib=["8"]),
        lambda f: f.sweep(["true"], "/tmp/never", repeat=0),
        lambda f: f.sweep(None, "/tmp/never"),
        lambda f: f.confirm(None),
        lambda f: f.confirm(CAPTURE, f.ConfirmOptions(runs=0)),
        lambda f: f.calibrate(""),
        lambda f: f.tune(7, "/tmp/never"),
        lambda f: f.tune(["true"], ""),
        lambda f: f.tune(f.TuneOptions(f.RunOptions(["true"]), repeats=(3, 1)), "/tmp/never"),
        lambda f: f.tune(f.TuneOptions(f.RunOptions(["true"]), genes={"wings": []}), "/tmp/never"),
        lambda f: f.read_sweep("/tmp/never"),
        lambda f: f.read_tuning("/tmp/never"),
        lambda f: f.table("text"),
        lambda f: f.open_target(""),
        lambda f: f.load_board("nosuch"),
    ],
)
def test_wrong_arguments_are_refused_with_a_remedy(call):
    with pytest.raises(ERRORS) as error:
        call(foreread)
    assert error.value.remedy
    assert "\n" not in str(error.value)
    assert not Path("/tmp/never").exists()


def test_an_unknown_criterion_is_refused(start):
    with pytest.raises(ArgumentError, match="criterion is 'luck', not one of 'seconds', 'pub"):
        foreread.predict(start, criterion="luck")


def test_recordings_of_different_starts_are_refused(start):
    other = replace(start, capture=structs.replace(start.capture, command=["other"]))
    with pytest.raises(ChoiceError, match="its command differs"):
        foreread.predict(start, more=[other])


def test_results_are_frozen(start, example_prediction):
    for one, field in (
        (start, "path"),
        (example_prediction, "notes"),
        (example_prediction.total, "tap"),
    ):
        with pytest.raises(AttributeError):
            setattr(one, field, None)


def test_the_criterion_decides_the_verdict(start, example_prediction):
    published = foreread.predict(start, criterion="published")
    assert published.verdict == example_prediction.published != example_prediction.verdict


def test_a_prediction_is_validated_reported_and_scripted(
    start, example_prediction, tmp_path, text_only
):
    measured = foreread.read_sweep(str(SWEEP))
    validation = foreread.validate(example_prediction, measured, start.capture)
    assert not any("command of the sweep differs" in note for note in validation.notes)
    steps = []
    files = foreread.report(
        start,
        str(tmp_path / "report"),
        prediction=example_prediction,
        sweep=measured,
        step=steps.append,
    )
    assert files.html.exists() and files.json.exists() and steps
    written = foreread.script(example_prediction, tmp_path / "boot", capture=start.capture)
    assert written.plan.settings[0].value == "32"
    assert written.files[0].read_text().startswith("#!/bin/sh")


def test_a_start_is_listed_and_written(start, example_prediction, tmp_path):
    compared = foreread.prefetch(start, prediction=example_prediction)
    assert [case.name for case in compared.cases] == ["neither", "window", "list", "both"]
    foreread.write_listing(tmp_path / "list", compared.found.listing)
    assert (tmp_path / "list").read_bytes().startswith(b"foreread-prefetch 1\n")


def test_boards_are_listed():
    assert "arm64" in {board.name for board in foreread.known_boards()}


def test_errors_of_arguments_are_wrong_usage():
    assert issubclass(ArgumentError, foreread.ForereadError)
    assert issubclass(ArgumentError, ValueError)
