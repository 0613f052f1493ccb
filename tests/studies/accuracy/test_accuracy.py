"""studies/accuracy: the arithmetic of its tables, and that finished cells are kept."""

import json

import pytest
from event_table import table
from replayed import brought, done, entry, fault

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.predict.inputs import inputs
from foreread.boards.emulated.machines import MACHINES
from foreread.emulator.linux.operations import Op
from foreread.tracer.formats.capture import NO_METADATA
from studies.accuracy import (
    cli,
    coverage_tables,
    figures,
    on_boards,
    on_machine,
    packages,
    page_sets,
    run,
    seconds,
    tables,
)
from studies.accuracy.store import Cell, Store, chosen


def validation(**changed):
    figures = {"seconds_error_median": 0.01, "seconds_error_max": 0.05, "regret": 0.002}
    return {**figures, **changed}


def test_the_spread_is_that_of_identical_runs_over_windows():
    found = figures.spread([[1.0, 1.1, 1.0], [2.0, 2.0], [4.0, 5.0, 4.0], [9.0]])
    assert (found.median, found.worst) == pytest.approx((0.1, 0.25))


def test_windows_that_were_run_once_have_no_spread():
    assert figures.spread([[1.0], [2.0]]) is None


def test_figures_are_compared_with_their_targets():
    found = figures.seconds_figures(validation(), figures.FIXED_COST)
    assert [(one.name, one.met) for one in found] == [
        ("median error", True),
        ("worst error", False),
        ("regret", True),
    ]


def test_without_seconds_nothing_is_met_not_even_the_regret():
    """The regret is then the published criterion's, which may be 0 by chance."""
    nothing = validation(seconds_error_median=None, seconds_error_max=None, regret=0.0)
    found = figures.seconds_figures(nothing, figures.FAST_DISK)
    assert [(one.value, one.met) for one in found] == [(None, False)] * 3


@pytest.mark.parametrize(
    ("seconds", "expected"), [(2.5, (0.02, 0.08, 0.01)), (1.5, (0.06, 0.4, 0.03))]
)
def test_a_short_start_may_be_off_by_twice_its_spread(seconds, expected):
    found = figures.paced_targets(seconds, figures.Spread(0.03, 0.2))
    assert (found.median_error, found.worst_error, found.regret) == pytest.approx(expected)


def row(kb, jaccard=1.0, pages=(100, 100), requests=(50, 50), calls=(0, 0)):
    counts = {"pages": pages, "requests": requests, "calls": calls}
    return {"read_ahead_kb": kb, "jaccard": jaccard, **counts}


def test_page_figures_are_the_worst_over_windows():
    rows = [row(4), row(512, 0.9995, (101, 100), (49, 50)), row(1024, 0.5, (1, 9), (53, 50))]
    found = {one.name: one for one in figures.page_figures(rows, figures.MANY_PROCESSES)}
    assert {name: round(one.value, 6) for name, one in found.items()} == {
        "least Jaccard": 0.9995,
        "pages": 0.01,
        "requests": 0.02,
        "requests beyond": 0.06,
    }
    assert [name for name, one in found.items() if one.met] == ["least Jaccard", "requests beyond"]


def test_identical_page_sets_meet_the_strictest_targets():
    rows = [row(4, calls=(7, 7)), row(8, calls=(5, 5))]
    found = figures.page_figures(rows, figures.SINGLE_THREADED)
    assert len(found) == 4
    assert all(one.met for one in found)


@pytest.mark.parametrize(("jaccard", "met"), [(0.981, True), (0.979, False)])
def test_a_browser_may_differ_twice_as_much_as_its_own_runs_at_that_window(jaccard, met):
    rows = [row(4, jaccard=jaccard), row(8, jaccard=0.95)]
    own = [row(4, jaccard=0.99), row(8, jaccard=0.9)]
    found = figures.page_figures(rows, figures.BROWSER, own)[0]
    assert (found.value, found.met) == (jaccard, met)
    assert found.target == pytest.approx(0.98)


def test_rounds_are_one_sweep_with_all_runs_of_a_window():
    def swept(kb, seconds, note):
        point = {"read_ahead_kb": kb, "seconds": [seconds], "requests": [1], "pages": [2.0]}
        return {"kernel": "6.1", "notes": ["same", note], "points": [point]}

    found = seconds.merged([swept(8, 1.0, "a"), swept(4, 3.0, "b"), swept(8, 2.0, "a")])
    assert [(p["read_ahead_kb"], p["seconds"]) for p in found["points"]] == [
        (4, [3.0]),
        (8, [1.0, 2.0]),
    ]
    assert found["notes"] == ["same", "a", "b"]
    assert found["kernel"] == "6.1"


@pytest.mark.thorough
def test_a_finished_cell_is_not_made_again(tmp_path):
    made = []
    store = Store(tmp_path)
    cell = Cell("area", "name", "title", lambda work: made.append(work) or {"a": 1})
    first, second = (run.make(cell, store) for _ in range(2))
    assert first == second
    assert first["a"] == 1
    assert made == [tmp_path / "area/name"]


def test_a_cell_that_fails_is_reported_and_made_again(tmp_path):
    def fail(work):
        raise cli.CommandError("record: no such board")

    cell = Cell("area", "name", "title", fail)
    store = Store(tmp_path)
    assert run.make(cell, store) == {"skipped": "failed: record: no such board"}
    assert store.finished(cell) is None


def test_an_impossible_cell_reports_the_reason(tmp_path):
    cell = Cell("area", "name", "title", lambda work: {}, lambda: "needs root")
    found = run.make(cell, Store(tmp_path))
    assert tables.text([(cell, found)]) == "## area\n\n- name skipped: needs root"


def test_cells_are_chosen_by_area_or_by_the_beginning_of_a_name():
    names = [("loop", "10M-a"), ("loop", "10M-b"), ("loop", "5M-a"), ("boards", "a")]
    cells = [Cell(area, name, "", dict) for area, name in names]
    assert chosen(cells, []) == cells
    assert chosen(cells, ["loop/10M", "boards"]) == [cells[0], cells[1], cells[3]]
    assert chosen(cells, ["boa", "loop/1"]) == cells[:2]


def seconds_cell(**row):
    found = [one.to_json() for one in figures.seconds_figures(validation(), figures.FIXED_COST)]
    picks = {"best_kb": 64, "chosen_kb": 32, "verdict_kb": None, "published_kb": 4}
    regrets = {"regret_proposed": None, "regret_published": 0.5}
    held = {"coverage": {"held": 9, "points": 10}, "points": [point(0, 1.0, 0.98, (0.9, 1.1))]}
    whole = {"device": "known", "default_s": 1.5, "figures": found}
    whole |= {**picks, **regrets, **held, **row}
    cell = Cell("boards", "sd-python", "", dict)
    return cell, {"sweep": [], "spread": {"median": 0.001, "worst": 0.01}, "rows": [whole]}


def test_the_table_has_both_regrets_and_met_targets():
    lines = tables.text([seconds_cell()]).splitlines()
    cells = [text.strip() for text in lines[4].strip("|").split("|")]
    assert cells == [
        *("sd-python", "known", "1", "1.50", "0.10 %", "1.00 % (1.50 %: met)"),
        *("5.00 % (4.00 %: missed)", "0.20 % (0.50 %: met)", "9 of 10", "–", "50.00 %"),
        "64, 32, –, 4",
    ]
    assert lines[6].startswith("- known: 2 of 3 targets met; median error 1.00 % (median)")


def test_a_device_that_gives_no_seconds_misses_all_and_says_why():
    cell, found = seconds_cell()
    found["rows"] = [{"device": "known", "why": "validate: no such kind"}]
    lines = tables.text([(cell, found)]).splitlines()
    assert "validate: no such kind" in lines[4]
    assert lines[6].startswith("- known: 0 of 3 targets met")


def point(kb, measured, predicted, band):
    held = None if band is None else band[0] <= measured <= band[1]
    return {
        "read_ahead_kb": kb,
        "measured": {"seconds": measured},
        "predicted": {"seconds": predicted},
        "error": {"seconds": predicted / measured - 1},
        "band": band,
        "in_band": held,
    }


def test_coverage_counts_the_measured_seconds_that_lie_in_their_band():
    points = [point(0, 2.0, 2.0, (1.9, 2.1)), point(4, 2.0, 2.2, (2.1, 2.3))]
    points += [point(8, 2.0, 2.0, None), point(16, 2.0, 2.1, (2.0, 2.2))]
    found = figures.coverage(points)
    assert (found.held, found.points) == (2, 3)


@pytest.mark.parametrize(
    ("held", "points", "honest"),
    [(84, 100, False), (85, 100, True), (95, 100, True), (96, 100, False), (0, 0, False)],
)
def test_a_band_of_90_percent_holds_neither_too_few_points_nor_too_many(held, points, honest):
    assert figures.Coverage(held, points).honest == honest


def test_coverage_is_reported_by_area_and_over_all():
    rows = {"rows": [{"coverage": {"held": 9, "points": 10}}, {"why": "no seconds"}]}
    areas = ("loop", "disk", "pages")
    cells = [Cell(area, "a", "", dict) for area in areas]
    found = [rows, {"rows": [{"coverage": {"held": 3, "points": 10}}]}, {"rows": [{"pages": 1}]}]
    (section,) = coverage_tables.overall(list(zip(cells, found, strict=True)))
    assert section.splitlines()[-3:] == [
        "| loop | 9 of 10 (90.00 %: met) |",
        "| disk | 3 of 10 (30.00 %: missed) |",
        "| all | 12 of 20 (60.00 %: missed) |",
    ]


def test_points_outside_their_band_are_listed_with_cell_capture_and_window():
    points = [point(0, 1.0, 1.0, (0.9, 1.1)), point(64, 2.0, 1.5, (1.4, 1.6))]
    made = [seconds_cell(points=points, capture=3)]
    assert coverage_tables.misses(made) == [
        "- sd-python, capture 3, known, 64 KiB: "
        "measured 2.000 s, predicted 1.500 s (1.400 to 1.600)"
    ]


def test_the_error_at_a_window_is_the_median_over_captures():
    cell, found = seconds_cell()
    found["rows"] = [{"points": [point(64, 1.0, value, None)]} for value in (1.1, 0.8, 1.02)]
    assert coverage_tables.by_window([(cell, found)])[-1] == "| sd-python | +2.0 |"


def test_packages_come_with_what_provides_their_dependencies():
    installed = (
        "ii \ta\t\tlibc6 (>= 2.3), mta | mail:any\n"
        "ii \tlibc6\t\t, \nii \texim\tmta (= 1), other\t, libc6\n"
        "ii \tunrelated\t\t, a\nrc \tmail\t\t, unrelated\n"
    )
    assert packages.closure(["a", "absent"], installed) == ["a", "exim", "libc6"]


def test_stored_captures_are_each_judged_with_each_device_model(monkeypatch, tmp_path):
    for name in ("capture", "capture-2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "capture.json").touch()
    (tmp_path / "sweep.json").write_text(json.dumps({"kernel": "6.18", "points": []}))
    (tmp_path / "given.toml").touch()
    seen = []

    def judged(capture, sweep, file, probe, image):
        seen.append((capture.name, file and file.name))
        assert probe
        raise ValueError("not judged here")

    monkeypatch.setattr(seconds, "judged", judged)
    devices = {"given": tmp_path / "given.toml", "absent": tmp_path / "none.toml", "own": None}
    found = seconds.judge(seconds.Request(("true",), devices, lambda *_: None), tmp_path)
    assert seen == [
        (name, file) for name in ("capture", "capture-2") for file in ("given.toml", None)
    ]
    assert [row["capture"] for row in found["rows"]] == [1, 1, 2, 2]
    assert {row["why"] for row in found["rows"]} == {"not judged here"}


def test_a_prediction_starts_with_the_pages_that_a_run_had_cached():
    """Also if the recording itself had to read one of them."""

    def recorded(*cached):
        trace = Trace("test", table(fault(1, 20), *brought(1, 20)))
        return interpret(trace, NO_METADATA, [entry(1, cached_pages=[*cached])], "all")

    taken = inputs(recorded((3, 2)), (6, 1, 0))
    assert done(taken) == [(Op.PRESENT, 3, 2), (Op.FAULT, 20, 0)]
    same = page_sets.started_as(taken, recorded((4, 1), (20, 1)))
    assert done(same) == [(Op.PRESENT, 20, 1), (Op.PRESENT, 4, 1), (Op.FAULT, 20, 0)]
    assert len(same.times) == 3


def test_every_cell_has_a_name_of_its_own():
    loop = on_machine.board()
    cells = run.all_cells(on_boards.Live(), loop)
    assert len({cell.id for cell in cells}) == len(cells)
    boards = {
        "board-pages",
        "boards",
        "disks",
        "filesystems",
        "kernels",
        "loads",
        "memory",
        "reclaim",
        "small-boards",
    }
    areas = {"pages", "loop", "disk", "forecast", *boards}
    assert {cell.area for cell in cells} == areas


def test_predict_gets_the_boards_start_options(tmp_path):
    board = on_boards.Board("armhf", "6.1", ("lua5.4",), on_boards.EMMC)
    text = board.device.write(tmp_path).read_text()
    words = list(map(str, board.words()))
    assert f"latency_us = {words[words.index('--latency-us') + 1]}\n" in text
    assert f"ns_per_kib = {words[words.index('--ns-per-kib') + 1]}\n" in text


def test_every_emulated_cpu_has_cells_on_every_disk():
    cells = on_boards.cells(on_boards.Live())
    found = {tuple(cell.name.rsplit("-", 2)[:2]) for cell in cells if cell.area == "boards"}
    disks = [disk.name for disk in on_boards.DISKS]
    assert found == {(cpu, disk) for cpu in MACHINES for disk in disks}


def test_a_stored_cell_of_a_board_is_judged_again_without_a_board(monkeypatch, tmp_path):
    live = on_boards.Live()
    monkeypatch.setattr(live, "target", lambda *_: pytest.fail("a board was started"))
    cells = [cell for cell in on_boards.cells(live) if cell.area == "boards"]
    (tmp_path / "sweep.json").write_text(json.dumps({"kernel": "6.12", "points": []}))
    assert {cell.judge(tmp_path)["kernel"] for cell in cells} == {"6.12"}


def test_a_measurement_is_kept_as_a_whole(tmp_path):
    store = Store(tmp_path)
    cell = Cell("area", "name", "", dict)
    store.work(cell)
    store.keep(cell, {"rows": [1]})
    assert json.loads((tmp_path / "area/name.json").read_text()) == {"rows": [1]}
    assert store.finished(cell) == {"rows": [1]}
    assert sorted(path.name for path in (tmp_path / "area").iterdir()) == ["name", "name.json"]
