"""What the library shows of its results: few lines, whatever a capture holds, and safe HTML."""

import dataclasses
import enum
import html.parser
import inspect
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec import structs

import foreread
from foreread.analyzer.ingest.tables import TEXT, Column, Schema, Table
from foreread.boards.base.brief import brief
from foreread.tracer.formats.capture import NO_METADATA

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/python-start"
SUITE = ROOT / "tests/foreread/data/suite"
MOST_LINES, WIDEST = 12, 110
HOSTILE = '<script>alert(1)</script>"\x1b[31m\u202e\n\udcff'


@pytest.fixture(scope="module")
def start():
    return foreread.load(EXAMPLE / "python-start.capture.tar.xz")


@pytest.fixture(scope="module")
def prediction(start):
    return start.predict()


@pytest.fixture(scope="module")
def results(start, prediction, example_advice, tmp_path_factory):
    """Return what the public functions return that need no root, by the name of the function."""
    folder = tmp_path_factory.mktemp("results")
    measured = foreread.read_sweep(EXAMPLE / "python-start.sweep.json")
    suite = foreread.read_suite(SUITE / "one-board.toml")
    patch = foreread.read_patch(ROOT / "examples/rules/within-mapping.toml")
    options = foreread.RunOptions(["app", "--demo"], foreread.Ending(idle_ms=500))
    return {
        "load": start,
        "predict": prediction,
        "advise": example_advice,
        "read_sweep": measured,
        "validate": foreread.validate(prediction, measured, start.capture),
        "table": foreread.table(measured),
        "forecast": foreread.forecast(start, "linux-6.12"),
        "read_patch": patch,
        "forecast_patch": foreread.forecast_patch(start, patch),
        "prefetch": foreread.prefetch(start, prediction=prediction),
        "boards": foreread.known_boards(),
        "read_suite": suite,
        "export": foreread.export(start, folder / "x.csv", "csv", windows_kib=[128]),
        "script": foreread.script(prediction, folder / "boot", capture=start.capture),
        "TuneOptions": foreread.TuneOptions(options, budget=foreread.Budget(seconds=60)),
        "ConfirmOptions": foreread.ConfirmOptions(scenario="x" * 1000),
        "Question": foreread.Question(device_model="x" * 1000),
        "SuiteQuestion": foreread.SuiteQuestion(windows_kib=[16, 32]),
    }


def parts_of(result, depth=6):
    """Yield an object of ours and those in its fields; of a list the first three."""
    if depth == 0:
        return
    if isinstance(result, (list, tuple, set, frozenset)):
        inside = list(result)[:3]
    elif isinstance(result, dict):
        inside = list(result.values())[:3]
    elif isinstance(result, msgspec.Struct):
        yield result
        inside = [getattr(result, name) for name in result.__struct_fields__]
    elif dataclasses.is_dataclass(result) and not isinstance(result, type):
        yield result
        fields = (one.name for one in dataclasses.fields(result))
        # A prediction keeps its prepared starts for the package, out of its repr.
        inside = [getattr(result, name) for name in fields if name != "starts"]
    else:
        inside = []
        if isinstance(result, Table):
            yield result
    for one in inside:
        yield from parts_of(one, depth - 1)


def shown(result):
    text = repr(result)
    lines = text.splitlines()
    assert 0 < len(lines) <= MOST_LINES, (type(result), len(lines))
    assert max(map(len, lines)) <= WIDEST, (type(result), max(map(len, lines)))
    assert " object at 0x" not in text
    return text


def test_no_result_is_shown_in_more_than_twelve_short_lines(results):
    seen = {}
    for result in results.values():
        for part in parts_of(result):
            if type(part).__module__.split(".")[0] == "foreread" and not isinstance(
                part, enum.Enum
            ):
                seen[type(part).__name__] = shown(part)
    public = {name for name in foreread.__all__ if inspect.isclass(getattr(foreread, name))}
    unseen = {name for name in public if getattr(foreread, name).__name__ not in seen}
    # A machine, a run, measurements and stores make these; they are checked below by their class.
    assert unseen <= {
        *("Advised", "Calibrated", "Confirmation", "Confirmed", "ComparedLayouts", "Judgement"),
        "DiffDocument",
        *("FleetAnalysed", "FleetReportFiles", "ForereadError", "ReadingNow", "ReportFiles"),
        *("Improved", "Target", "TuneWish", "Tuning", "Viewed", "Watch"),
    }


@pytest.mark.parametrize(
    "name",
    [
        *("Advised", "Calibrated", "Confirmed", "ComparedLayouts", "Improved", "Judgement"),
        *("TuneWish", "Tuning", "Watch"),
    ],
)
def test_results_of_runs_are_shown_briefly(name):
    kind = getattr(foreread, name)
    assert kind.__repr__ is brief
    large = object.__new__(kind)
    for one in dataclasses.fields(kind):
        object.__setattr__(large, one.name, ["x" * 1000] * 1000)
    shown(large)


def test_the_start_says_what_was_recorded_and_how_to_go_on(start):
    assert shown(start).splitlines() == [
        "Start of /dev/shm/foreread-demo.IuYHQE/start",
        "  Linux 6.18.44-fc-v669 on x86_64, pages of 4 KiB",
        "  recorded at 0 KiB by tracefs, 3.67 s; 0 events lost",
        "  3,513 pages of 223 files accessed, 3,654 requests",
        '  next: start.predict(), start.advise(), start.report("report")',
    ]


def test_the_prediction_begins_with_its_answer(prediction):
    first, *_, last = shown(prediction).splitlines()
    assert first == "Prediction: set 32 KiB"
    assert last.split()[0] == "2560" and last.endswith("now")
    assert len(shown(prediction.table).splitlines()) == 11


def test_without_seconds_the_prediction_is_shown_too(start):
    fixed = start.predict(model="fixed", windows_kib=[0, 32])
    assert "measure" in shown(fixed).splitlines()[0]
    assert "–" in shown(fixed)


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.names = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        assert not [name for name, _ in attrs if name.startswith("on")]
        self.names.add(tag)


def as_notebook(result):
    page = result._repr_html_()
    page.encode()  # no surrogate that a browser cannot be sent
    assert not [c for c in page if not c.isprintable()]
    allowed = {"div", "table", "thead", "tbody", "tr", "th", "td", "p", "small", "strong", "br"}
    assert Tags(page).names <= allowed
    return page


def test_html_of_a_hostile_capture_is_escaped(start, prediction, example_advice):
    capture = structs.replace(start.capture, command=["app", HOSTILE], backend=HOSTILE)
    verdict = structs.replace(prediction.verdict, why=HOSTILE)
    row = structs.replace(example_advice.document.rows[0], what=HOSTILE, effort=HOSTILE)
    document = structs.replace(example_advice.document, rows=[row])
    columns = (Column(HOSTILE, TEXT, HOSTILE, HOSTILE),)
    for result in (
        replace(start, capture=capture, kernel=HOSTILE),
        replace(start, capture=NO_METADATA, path=HOSTILE),
        replace(prediction, verdict=verdict, model=HOSTILE),
        replace(example_advice, document=document),
        Table(Schema(HOSTILE, columns), {HOSTILE: np.array([HOSTILE])}),
    ):
        assert "&lt;script" in as_notebook(result)
        assert "\x1b" not in shown(result) and "\u202e" not in shown(result)


def test_a_table_shows_its_first_and_last_rows(start):
    page = as_notebook(start.accesses)
    assert page.count("<tr>") == 1 + 10 + 1
    assert "time_ns<br><small>ns</small>" in page and "3,513 rows, 4 columns" in page
    few = start.accesses.take(np.array([0, 1]))
    assert as_notebook(few).count("<tr>") == 3
    assert shown(few).count("\n") == 3 and "…" not in shown(few)


def test_a_wide_table_says_what_it_leaves_out():
    names = [f"column_{number:02}" for number in range(40)]
    wide = Schema("wide", tuple(Column(name, "i8", "", "") for name in names))
    text = shown(Table(wide, {name: np.zeros(3, np.int64) for name in names}))
    assert text.startswith("wide: 3 rows, 40 columns; 31 to the right not shown\n")


@pytest.mark.thorough
def test_advice_is_a_table_with_words(example_advice):
    table = example_advice.table
    rows = example_advice.document.rows
    assert table["what"].tolist() == [row.what for row in rows]
    assert table.to_pandas()["what"].tolist() == table.to_polars()["what"].to_list()
    assert table.to_arrow()["what"].to_pylist() == [row.what for row in rows]


def test_the_figure_shows_prediction_and_measurement(prediction):
    import matplotlib.pyplot as plt

    axes = prediction.plot(foreread.read_sweep(EXAMPLE / "python-start.sweep.json"))
    labels = {text.get_text().split(":")[0] for text in axes.get_legend().get_texts()}
    assert labels >= {"predicted", "measured (median)", "recommended"}
    axes.figure.canvas.draw()
    plt.close(axes.figure)


def test_a_figure_without_seconds_is_refused(start):
    with pytest.raises(foreread.ERRORS, match="no seconds to draw") as error:
        start.predict(model="fixed").plot()
    assert "foreread predict" in error.value.remedy
