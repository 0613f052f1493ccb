"""studies/accuracy: the area of kernels and CPUs, and its table in the documentation."""

import json

from foreread.analyzer.predict.doubts.kernel import PAGES, SECONDS
from foreread.boards.emulated import MACHINES
from studies.accuracy import kernel_cells, kernel_confirmed, kernel_tables
from studies.accuracy.on_boards import SD, Board, Live


def point(kb, predicted, measured, in_band=True):
    sides = [
        {"F": f, "pages": pages, "seconds": seconds} for f, pages, seconds in (predicted, measured)
    ]
    errors = {"F": 0.0, "pages": 0.0, "seconds": 0.0}
    return {
        "read_ahead_kb": kb,
        "window": kb // 4,
        **dict(zip(("predicted", "measured"), sides, strict=True)),
        "error": errors,
        "band": [0.0, 9.0],
        "in_band": in_band,
    }


def cell(machine, series, start, points, regret=0.0):
    row = {
        "figures": [{"name": "regret", "value": regret, "target": 0.005, "met": True}],
        "points": points,
        "default_kb": 128,
    }
    return {"machine": machine, "series": series, "start": start, "kernel": "x", "rows": [row]}


def row_of(lines, board):
    return next(line for line in lines if line.startswith(f"| {board} |")).split(" | ")


def table(*cells):
    return kernel_tables.table([kernel_tables.kept(one) for one in cells])


def test_every_board_has_a_cell_for_each_start_and_kernel():
    names = [one.name for one in kernel_cells.cells(Live())]
    assert len(names) == 4 * sum(len(one.kernels) for one in MACHINES.values())
    assert {"arm64-16k-7.2-perl", "riscv64-7.2-judge", "x86_64-5.10-python"} <= set(names)


def test_windows_are_whole_pages():
    assert kernel_cells.windows_kb(Board("arm64", "7.2", (), SD)) == (4, 16, 64, 128, 512)
    assert kernel_cells.windows_kb(Board("arm64-16k", "7.2", (), SD)) == (16, 64, 128, 512)


def test_counts_that_agree_at_all_windows_are_identical():
    points = [point(kb, (50, 640, 1.0), (50, 640, 1.0)) for kb in (0, 128)]
    row = row_of(table(cell("x86_64", "5.10", "perl", points)), "x86_64")
    assert row[4:6] == ["identical", "identical"]
    assert row[6] == "0.00 %, 0.00 %"


def test_counts_that_differ_are_shown_with_the_largest_difference():
    points = [point(0, (50, 640, 1.0), (50, 640, 1.0)), point(4, (55, 640, 1.0), (50, 640, 1.0))]
    row = row_of(table(cell("x86_64", "5.10", "perl", points)), "x86_64")
    assert row[4:6] == ["identical", "5.00 %, 10.00 %"]


def test_missed_targets_are_bold_and_the_median_is_that_of_starts():
    good = [point(kb, (1, 1, 1.0), (1, 1, 1.0)) for kb in (0, 4, 8)]
    bad = [point(kb, (1, 1, 1.0), (1, 1, 0.9), in_band=False) for kb in (0, 4, 8)]
    cells = [cell("arm64", "7.2", name, p) for name, p in (("a", good), ("b", good), ("c", bad))]
    row = row_of(table(*cells[:2], {**cells[2], "rows": [cells[2]["rows"][0]]}), "arm64")
    assert row[2:4] == ["a, b, c", "9"]
    assert row[6] == "0.00 %, **11.11 %**"
    assert row[8].startswith("6 of 9")


def test_a_cell_without_seconds_is_shown_as_such():
    points = [point(0, (1, 1, None), (1, 1, 1.0), in_band=None)]
    assert "none" in row_of(table(cell("arm64", "7.2", "a", points)), "arm64")


def test_a_folder_of_results_adds_to_what_is_kept(tmp_path, monkeypatch):
    for name in ("FIGURES", "JUDGED"):
        monkeypatch.setattr(kernel_tables, name, tmp_path / f"{name}.json")
    points = [point(0, (1, 1, 1.0), (1, 1, 1.0))]
    (tmp_path / "kernels").mkdir()
    for series in ("7.2", "5.10"):
        results = {
            f"{series}.json": cell("arm64", series, "a", points),
            f"{series}-judge.json": judgement("arm64", series),
        }
        for name, found in results.items():
            (tmp_path / "kernels" / name).write_text(json.dumps(found))
        kernel_tables.main([str(tmp_path)])
        for name in results:
            (tmp_path / "kernels" / name).unlink()
    for file in (kernel_tables.FIGURES, kernel_tables.JUDGED):
        assert [one["series"] for one in json.loads(file.read_text())] == ["5.10", "7.2"]


def judgement(machine, series, result="confirmed", difference=""):
    kernel = {
        "release": f"{series}.9+deb14-cloud",
        "result": result,
        "difference": difference,
        "programs": 50,
        "windows_kb": [0, 4],
        "date": "2026-11-23",
    }
    found = {"kernel": kernel, "folios": 14_289, "requests": 6_708, "seconds": 102.7}
    return {"machine": machine, "series": series, "judgement": found}


def test_a_judgement_shows_what_was_compared_or_the_first_difference():
    same, other = judgement("arm64", "7.2"), judgement("s390x", "6.1", "different", "step 3")
    lines = kernel_tables.judged_table([kernel_tables.judgement(one) for one in (same, other)])
    assert lines[2] == "| arm64 | 7.2.9 | 50 | 14,289 | 6,708 | identical |"
    assert lines[3].endswith("| **step 3** |")


def test_incomplete_and_missing_cells_are_named():
    points = [point(4, (1, 1, 1.0), (1, 1, 1.0))]
    three = [cell("arm64", "7.2", name, points) for name in ("a", "b", "c")]
    cells = [kernel_tables.kept(one) for one in [*three, cell("s390x", "6.1", "a", points)]]
    few, absent = kernel_tables.unmade(cells)
    assert few == "Fewer than three starts: s390x 6.1 (a)."
    assert "arm64 5.10" in absent
    assert "arm64 7.2" not in absent


def test_the_table_of_what_was_compared_has_every_kernel():
    lines = kernel_confirmed.compared()
    assert "| 6.18 | x86_64 | ext4, squashfs, xfs | ext4 |" in lines
    assert len(lines) == 2 + len({(v, m) for v, some in PAGES.items() for m in some})


# Compared elsewhere: results-readahead.md (this machine's kernel), results.md (area boards).
PAGES_ELSEWHERE = {((6, 18), "x86_64")}
SECONDS_ELSEWHERE = {
    *(((6, 1), machine) for machine in ("aarch64", "armv7l", "s390x")),
    *(((6, 12), machine) for machine in ("aarch64", "x86_64")),
    ((6, 18), "x86_64"),
}


def test_the_confirmed_kernels_are_those_whose_figures_are_stored():
    starts = kernel_tables.stored(kernel_tables.FIGURES)
    judged = kernel_tables.stored(kernel_tables.JUDGED)
    listed = [{(v, m) for v, some in table.items() for m in some} for table in (PAGES, SECONDS)]
    assert listed[0] == kernel_confirmed.judged_alike(judged) | PAGES_ELSEWHERE
    assert listed[1] == kernel_confirmed.met(starts) | SECONDS_ELSEWHERE


def test_seconds_are_confirmed_by_three_starts_that_meet_the_targets():
    good = [point(kb, (1, 1, 1.0), (1, 1, 1.0)) for kb in (4, 16, 64)]
    late = [*good[:2], point(64, (1, 1, 1.05), (1, 1, 1.0))]

    def confirmed(*starts, regret=0.0):
        cells = [
            cell("armhf", "6.1", name, made, regret)
            for name, made in zip("abcd", starts, strict=False)
        ]
        return kernel_confirmed.met([kernel_tables.kept(one) for one in cells])

    assert confirmed(good, good, good) == {((6, 1), "armv7l")}
    assert confirmed(good, good) == set()
    assert confirmed(good, good, late) == set()
    assert confirmed(good, good, good, regret=0.01) == set()
