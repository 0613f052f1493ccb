"""Wrong arguments of every public function: an error that says what to give instead."""

import dataclasses
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from rings import further

import foreread
from foreread.error import ArgumentTypeError, FileError

ROOT = Path(__file__).parents[2]
CAPTURE = ROOT / "examples/python-start/python-start.capture.tar.xz"
SWEEP = CAPTURE.with_name("python-start.sweep.json")
FUNCTIONS = sorted(name for name in foreread.__all__ if inspect.isfunction(getattr(foreread, name)))
OPTIONS = (
    "Budget",
    "ConfirmOptions",
    "Ending",
    "Question",
    "RunOptions",
    "SuiteQuestion",
    "TuneOptions",
)
NOWHERE = "/nonexistent/of-foreread"


def parameters(name):
    return inspect.signature(getattr(foreread, name)).parameters


CASES = [(name, parameter) for name in FUNCTIONS for parameter in parameters(name)]


@pytest.fixture(scope="module")
def start():
    return foreread.load(CAPTURE)


@pytest.fixture(scope="module")
def prediction(start):
    return start.predict(windows_kib=[0, 32])


@pytest.fixture(scope="module")
def right(start, prediction, tmp_path_factory):
    """Return an argument of the right type for each required parameter, by its annotation."""
    boot = tmp_path_factory.mktemp("boot")
    with foreread.open_target("local") as machine:
        return {
            "self": start,
            "Recording": start,
            "Sequence[Recording]": [start],
            "Recording | Results": start,
            "Prediction": prediction,
            "Prediction | Results": prediction,
            "Sweep": foreread.read_sweep(SWEEP),
            "Suite": foreread.read_suite(ROOT / "tests/foreread/data/suite/suite.toml"),
            "Patch": foreread.read_patch(ROOT / "examples/rules/within-mapping.toml"),
            "Target": machine,
            "StrPath": NOWHERE,
            "Sequence[StrPath]": [NOWHERE],
            "Sequence[str]": [NOWHERE],
            "Command": ["true"],
            "Command | StrPath": ["true"],
            "TuneOptions": foreread.TuneOptions(foreread.RunOptions(["true"])),
            "TuneOptions | Command": ["true"],
            "str | os.PathLike[str]": NOWHERE,
            "str": "nowhere",
            "int": 1,
            "float": 1.0,
            "Format": "csv",
            "Sequence[Ordered]": [],
            "Listing": foreread.prefetch(start, prediction=prediction).found.listing,
            "ApplyPlan": foreread.script(prediction, boot, capture=start.capture).plan,
        }


class Nothing:
    """Fits no annotation."""


def call_with(name, right, **wrong):
    required = {
        key: right.get("self" if key == "self" else one.annotation)
        for key, one in parameters(name).items()
        if one.default is inspect.Parameter.empty
    }
    return getattr(foreread, name)(**{**required, **wrong})


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_an_argument_of_a_wrong_type_is_refused_by_name(name, parameter, right):
    if parameters(name)[parameter].annotation == "object":
        return
    with pytest.raises(ArgumentTypeError) as error:
        call_with(name, right, **{parameter: Nothing()})
    what = "the start" if parameter == "self" else parameter
    assert str(error.value).startswith(f"{name}: {what} is a Nothing, not ")
    assert error.value.remedy and "\n" not in f"{error.value}{error.value.remedy}"
    assert "typing." not in f"{error.value}{error.value.remedy}"
    assert isinstance(error.value, (foreread.ForereadError, TypeError))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_unknown_argument_is_refused_with_those_there_are(name, right):
    with pytest.raises(ArgumentTypeError, match="nosuch") as error:
        call_with(name, right, nosuch=1)
    assert error.value.remedy.startswith(("give arguments by name: ", "give no arguments"))


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_a_wrong_type_are_refused_by_the_name_of_the_field(name, right):
    kind = getattr(foreread, name)
    uses = {
        "Ending": lambda one: foreread.record(foreread.RunOptions(["true"], one), NOWHERE),
        "RunOptions": lambda one: foreread.record(one, NOWHERE),
        "Budget": lambda one: foreread.tune(
            foreread.TuneOptions(foreread.RunOptions(["true"]), budget=one), NOWHERE
        ),
        "TuneOptions": lambda one: foreread.tune(one, NOWHERE),
        "ConfirmOptions": lambda one: foreread.confirm(CAPTURE, one),
        "Question": lambda one: foreread.confirm(CAPTURE, foreread.ConfirmOptions(question=one)),
        "SuiteQuestion": lambda one: foreread.predict_suite(right["Suite"], one),
    }
    given = {"RunOptions": [["true"]], "TuneOptions": [foreread.RunOptions(["true"])]}
    for field in dataclasses.fields(kind):
        options = kind(*given.get(name, []))
        object.__setattr__(options, field.name, Nothing())
        with pytest.raises(ArgumentTypeError, match=rf"\.{field.name} is a Nothing, not "):
            uses[name](options)


@pytest.mark.parametrize(
    "call",
    [
        lambda f, s: f.load(NOWHERE),
        lambda f, s: f.load(CAPTURE, inodes=NOWHERE),
        lambda f, s: f.read_sweep(NOWHERE),
        lambda f, s: f.read_suite(NOWHERE),
        lambda f, s: f.read_tuning(NOWHERE),
        lambda f, s: f.load_board(NOWHERE),
        lambda f, s: f.row_of_advice(NOWHERE, 1),
        lambda f, s: f.diff(NOWHERE, CAPTURE),
        lambda f, s: f.confirm(NOWHERE),
        lambda f, s: f.confirm_suite(NOWHERE),
        lambda f, s: f.record_suite(NOWHERE),
        lambda f, s: f.fleet_confirm(NOWHERE, ["ssh://a.invalid", "ssh://b.invalid"]),
        lambda f, s: f.fleet_report(NOWHERE, f"{NOWHERE}.report"),
        lambda f, s: f.sweep(NOWHERE, "/tmp/never"),
        lambda f, s: f.layout([s], NOWHERE),
        lambda f, s: s.predict(device_model=NOWHERE),
        lambda f, s: s.advise(root=NOWHERE),
        lambda f, s: s.report(f"{CAPTURE}/below-a-file"),
        lambda f, s: f.export(s, f"{NOWHERE}/x.csv", "csv"),
        lambda f, s: f.view(NOWHERE),
    ],
)
def test_a_missing_file_is_refused_with_a_remedy(call, start):
    with pytest.raises(foreread.ERRORS) as error:
        call(foreread, start)
    assert error.value.remedy and "\n" not in str(error.value)
    assert not Path(NOWHERE).exists() and not Path("/tmp/never").exists()


WINDOWS = [
    lambda f, s, p, kib: s.predict(windows_kib=[0, kib]),
    lambda f, s, p, kib: f.predict(s, windows_kib=(kib,)),
    lambda f, s, p, kib: f.export(s, "/tmp/never", "csv", [kib]),
    lambda f, s, p, kib: f.sweep(["true"], "/tmp/never", windows_kib=[kib], target="nosuch"),
    lambda f, s, p, kib: f.forecast(s, "linux-6.12", read_ahead_kb_then=kib),
    lambda f, s, p, kib: f.forecast_patch(
        s, f.read_patch(ROOT / "examples/rules/within-mapping.toml"), read_ahead_kb=kib
    ),
    lambda f, s, p, kib: f.confirm(CAPTURE, f.ConfirmOptions(read_ahead_kb=kib), target="nosuch"),
    lambda f, s, p, kib: f.script(p, "/tmp/never", capture=s.capture, read_ahead_kb=kib),
    lambda f, s, p, kib: f.predict_suite(
        f.read_suite(ROOT / "tests/foreread/data/suite/one-board.toml"),
        f.SuiteQuestion(windows_kib=[kib]),
    ),
]


@pytest.mark.parametrize("call", WINDOWS)
@pytest.mark.parametrize("wrong", [32.5, "32", None, float("nan"), [32], np.array([1, 2]), True])
def test_a_window_that_is_no_number_is_refused(call, wrong, start, prediction):
    if wrong is None and "read_ahead_kb" in inspect.getsource(call):
        return
    with pytest.raises(ArgumentTypeError, match=r"not (a whole number|None)|is True") as error:
        call(foreread, start, prediction, wrong)
    assert isinstance(error.value, TypeError)


@pytest.mark.parametrize(
    "call", further([one for one in WINDOWS if "f.sweep" not in inspect.getsource(one)], 3)
)
def test_part_of_a_page_is_refused_with_the_nearest_windows(call, start, prediction):
    with pytest.raises(foreread.ERRORS, match="30 KiB is not a multiple of the page size") as error:
        call(foreread, start, prediction, 30)
    assert error.value.remedy == "give 28 or 32 KiB"
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize(
    ("windows", "remedy"),
    [
        ([], "give at least one window in KiB"),
        ([-4], "in multiples of 4"),
        ([1 << 40], "multiples"),
    ],
)
def test_windows_that_no_kernel_has_are_refused(windows, remedy, start):
    with pytest.raises(ValueError) as error:
        start.predict(windows_kib=windows)
    assert isinstance(error.value, foreread.ERRORS) and remedy in error.value.remedy


def test_numbers_of_numpy_are_numbers(start):
    for windows in (np.array([0, 4]), range(0, 8, 4), {0, 4}, (np.int64(4), 0)):
        found = start.predict(windows_kib=windows, model="fixed")
        assert found.total.read_ahead_kb == [0, 4]


def test_a_function_is_the_method(start):
    assert foreread.predict is type(start).predict
    assert foreread.advise is type(start).advise
    assert "windows in KiB" in re.sub(r"\s+", " ", foreread.predict.__doc__)


def test_errors_of_files_are_errors_of_the_operating_system(right):
    with pytest.raises(FileError) as error:
        foreread.write_listing(f"{CAPTURE}/below-a-file", right["Listing"])
    assert isinstance(error.value, OSError) and error.value.errno
    assert str(error.value).startswith(str(CAPTURE))
