"""The report of a store: its figures against plain Python, hostile text, and its SQL."""

import json
import re
import statistics
import subprocess
import sys
from html.parser import HTMLParser

import duckdb
import pytest
from fleet_rows import analysed, store_of

from foreread.analyzer.fleet.order import NATURAL
from foreread.analyzer.fleet.queries import QUERIES, setup
from foreread.analyzer.fleet.report import write_fleet_report

HOSTILE = "<script>alert(1)</script>'\"{{7*7}}\x1b[31m\u202e$x$"


def report(folder, *captures):
    store = store_of(folder / "store", *captures)
    return write_fleet_report(store, folder / "report", "1")


def figures(folder, *captures):
    return json.loads(report(folder, *captures).json.read_text())


def group(number=7, board="board", start="app", **changes):
    return [analysed(board, start, 1 + each / 100, **changes) for each in range(number)]


def test_a_start_s_seconds_are_the_medians_of_its_captures(tmp_path):
    captures = [*group(6), *group(3, start="other", proposed_kb=64, gain=0.1)]
    found = figures(tmp_path, *captures)
    app, other = found["start_rows"]
    seconds = [one.rows.rows[0]["seconds_now"] for one in captures]
    assert app["seconds_now"] == pytest.approx(statistics.median(seconds[:6]))
    assert app["seconds_proposed"] == pytest.approx(0.8 * statistics.median(seconds[:6]))
    assert (app["start"], app["proposed_kb"], app["agreeing"]) == ("app", 32, 1.0)
    assert (other["start"], other["proposed_kb"], other["captures"]) == ("other", 64, 3)
    saved = 0.2 * (statistics.median(seconds[:6]) + statistics.median(seconds[6:]))
    assert found["saved_seconds"] == pytest.approx(saved)
    assert (found["captures"], found["starts"], found["boards"]) == (9, 2, 1)


def test_the_window_that_most_captures_recommend_is_the_start_s(tmp_path):
    found = figures(tmp_path, *group(3), *group(1, proposed_kb=64), *group(1, proposed_kb=None))
    (start,) = found["start_rows"]
    assert (start["proposed_kb"], start["agreeing"]) == (32, 0.75)


def test_of_two_analyses_of_a_source_the_newest_one_counts(tmp_path):
    old = analysed(source="/one.tar", now=9.0, analysed="2026-01-01 00:00:00")
    new = analysed(source="/one.tar", now=1.0, analysed="2026-02-01 00:00:00")
    found = figures(tmp_path, old, new)
    assert (found["captures"], found["start_rows"][0]["seconds_now"]) == (1, 1.0)


def test_a_capture_far_from_its_like_is_an_outlier(tmp_path):
    far = analysed(now=1.5, source="/far.tar")
    found = figures(tmp_path, *group(6), far, *group(2, start="few"), analysed(start="few", now=9))
    (one,) = found["outliers"]
    assert (one["source"], one["seconds"]) == ("/far.tar", 1.5)
    assert found["start_rows"][0]["outliers"] == 1


def test_drift_is_the_newest_build_against_the_oldest(tmp_path):
    builds = [("one", "2026-01-01", 1.0), ("two", "2026-02-01", 2.0), ("three", "2026-03-01", 1.2)]
    captures = [analysed(build=b, created=day, now=now) for b, day, now in builds]
    found = figures(tmp_path, *captures, analysed(start="steady"))
    drifts = {row["start"]: row["drift"] for row in found["start_rows"]}
    assert drifts["app"] == pytest.approx(0.2)
    assert drifts["steady"] is None
    assert [row["build"] for row in found["builds"]] == ["one", "two", "three"]


def test_windows_that_no_capture_proves_are_listed_contradicted_ones_first(tmp_path):
    proof = {"confirmed_kb": 32, "confirmed_gain": 0.1}
    found = figures(
        tmp_path,
        analysed(start="proven", confirmation="confirmed", **proof),
        analysed(start="proven"),
        analysed(start="never"),
        analysed(start="open", confirmation="undecided", **proof),
        analysed(start="wrong", confirmation="contradicted", **proof),
        analysed(start="other", confirmation="confirmed", confirmed_kb=64),
        analysed(start="kept", verdict="keep"),
    )
    outcomes = [(row["start"], row["outcome"]) for row in found["unconfirmed"]]
    assert outcomes[:2] == [("wrong", "contradicted"), ("open", "undecided")]
    assert sorted(outcomes[2:]) == [("never", "not measured"), ("other", "not measured")]


def test_numbers_in_names_of_boards_and_starts_count_as_numbers(tmp_path):
    order = [("board-2", "app-9"), ("board-2", "app-10"), ("board-10", "app-9")]
    captures = [
        analysed(*one, build=b, created=f"2026-0{n}-01", now=n, gain=0.2 + n / 1e6)
        for n, b in enumerate("ab", 1)
        for one in reversed(order)
    ]
    files = report(tmp_path, *captures)
    found = json.loads(files.json.read_text())
    assert [row["board"] for row in found["board_rows"]] == ["board-2", "board-10"]
    for rows in ("start_rows", "unconfirmed"):
        assert [(row["board"], row["start"]) for row in found[rows]] == order
    assert [(row["board"], row["start"]) for row in found["builds"]][::2] == order
    page = files.html.read_text()
    assert page.index(">board-2<") < page.index(">board-10<")  # of the map, which is above all
    assert page.index(">app-9<") < page.index(">app-10<")
    with duckdb.connect() as database:
        database.execute(setup(str(tmp_path / "store")))
        windows = database.execute(QUERIES[0][1]).fetchall()
    assert [row[0] for row in windows] == ["board-2", "board-10"]


def test_names_of_any_digits_have_an_order():
    names = ["", "7", "07", "b", "b-1", "b-1a", "b-2", "b-10", f"b-{9**99}", f"b-{9**99}1", "é9"]
    with duckdb.connect() as database:
        database.execute(NATURAL)
        values = ", ".join(f"('{one}')" for one in reversed(names))
        query = f"FROM (VALUES {values}) t(name) ORDER BY natural_order(name), length(name)"
        assert [row[0] for row in database.execute(query).fetchall()] == names


def test_starts_with_equal_curves_share_a_line_and_are_named(tmp_path):
    page = report(tmp_path, *group(3, start="one"), *group(3, start="two")).html.read_text()
    assert "The line of one on board is also that of two on board." in page
    assert "one on board and 1 other" in page


def test_errors_are_counted_with_an_example(tmp_path):
    lost = {"error": "it is damaged", "remedy": "copy it again", "verdict": None, "gain": None}
    bad = [analysed("unread", "unread", source=f"/{one}.tar", **lost) for one in "ab"]
    found = figures(tmp_path, *bad, analysed())
    assert found["errors"] == 2
    assert found["failures"] == [
        {"error": "it is damaged", "remedy": "copy it again", "captures": 2, "example": "/a.tar"}
    ]
    assert [row["start"] for row in found["start_rows"]] == ["app"]


def test_boards_of_one_name_are_said(tmp_path):
    files = report(
        tmp_path, analysed("board-1", board_name="x"), analysed("board-2", board_name="x")
    )
    assert json.loads(files.json.read_text())["same_names"] == ["x"]
    assert "Different machines share a name: x" in files.html.read_text()


@pytest.mark.thorough
def test_the_page_has_its_pictures_and_sections(tmp_path):
    builds = [analysed(build=b, created=f"2026-0{n}-01") for n, b in enumerate("abc", 1)]
    page = report(tmp_path, *group(6), *builds).html.read_text()
    assert page.count("<svg") == 4
    for title in ("Boards and starts", "Drift over builds", "Outliers", "Questions in SQL"):
        assert title in page


class Tags(HTMLParser):
    """Collects the tags of a page, and the names of their attributes."""

    def __init__(self):
        super().__init__()
        self.found = set()

    def handle_starttag(self, tag, attrs):
        self.found |= {tag, *(name for name, _ in attrs)}


def test_hostile_text_is_text_on_the_page(tmp_path):
    hostile = dict.fromkeys(("board_name", "machine", "cpu_model", "command", "kernel"), HOSTILE)
    captures = [analysed(build=b, source=HOSTILE + b, **hostile) for b in "abcdefg"]
    captures += [
        analysed(start="far", now=n, source=f"{n}{HOSTILE}", **hostile) for n in range(1, 7)
    ]
    captures += [analysed("unread", "unread", error=HOSTILE, remedy=HOSTILE, source=HOSTILE)]
    page = report(tmp_path, *captures).html.read_text()
    tags = Tags()
    tags.feed(page)
    assert "script" not in tags.found
    assert not any(name.startswith("on") for name in tags.found)
    assert "&lt;script&gt;" in page
    assert "49" not in re.findall(r"alert\(1\).{0,30}", page)[0]
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_a_store_with_errors_only_has_a_report(tmp_path):
    page = report(tmp_path, analysed("unread", "unread", error="x", gain=None)).html.read_text()
    assert "No start gains 1 % by another window" in page


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_the_sql_of_the_report_runs(tmp_path, number):
    proof = {"confirmation": "contradicted", "confirmed_kb": 32}
    bad = analysed("unread", "unread", error="x", gain=None, seconds_now=None)
    store_of(tmp_path / "it's", *group(3, **proof), *group(2, board="two"), bad)
    with duckdb.connect() as database:
        database.execute(setup(str(tmp_path / "it's")))
        assert database.execute(QUERIES[number][1]).fetchall()


def test_the_script_of_the_report_is_all_of_it(tmp_path):
    files = report(tmp_path, *group(2))
    with duckdb.connect() as database:
        database.execute(files.sql.read_text())
        assert database.execute("SELECT count(*) FROM fleet").fetchone() == (8,)


def test_the_window_of_each_board_is_that_of_the_fewest_seconds(tmp_path):
    store_of(tmp_path, *group(3), *group(2, start="other"))
    with duckdb.connect() as database:
        database.execute(setup(str(tmp_path)))
        ((board, kib, seconds),) = database.execute(QUERIES[0][1]).fetchall()
    assert (board, kib) == ("board", 32)
    assert seconds == pytest.approx(0.8 * (1.01 + 1.005))


def test_analysing_loads_no_picture_library():
    modules = "foreread.fleet, foreread.analyzer.fleet.child"
    text = f"import sys, {modules}; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", text], check=False).returncode == 0
