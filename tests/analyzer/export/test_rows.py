"""CSV, read by Python; Parquet, read by DuckDB."""

import csv
import io

import duckdb
import pytest

from foreread.analyzer.export.events import Track
from foreread.analyzer.export.lanes import rows_of
from foreread.analyzer.export.rows import COLUMNS, csv_of, parquet_of


@pytest.fixture(scope="module")
def parquet(exported, tmp_path_factory):
    path = tmp_path_factory.mktemp("parquet") / "start.parquet"
    path.write_bytes(parquet_of(exported))
    return str(path)


def rows_of_csv(exported):
    return list(csv.DictReader(io.StringIO(csv_of(exported).decode())))


def test_duckdb_counts_the_same_events(exported, parquet):
    query = "SELECT run, track, count(*) FROM read_parquet(?) GROUP BY ALL"
    found = {(run, track): n for run, track, n in duckdb.execute(query, [parquet]).fetchall()}
    expected = {
        (name, track.name.lower()): len(rows)
        for run, name in enumerate(exported.runs)
        for track in Track
        if len(rows := rows_of(exported, run, track))
    }
    assert found == expected


def test_duckdb_sums_unused_pages_by_file_and_rule(exported, parquet):
    query = (
        "SELECT file, what, sum(pages)::INT FROM read_parquet(?) WHERE track = 'unused' "
        "AND run LIKE 'emulated at 128%' GROUP BY ALL"
    )
    found = duckdb.execute(query, [parquet]).fetchall()
    rows = rows_of(exported, 2, Track.UNUSED)
    assert sum(pages for _, _, pages in found) == exported.events["pages"][rows].sum() > 0
    assert {rule for _, rule, _ in found} <= {"around", "sequential", "marker", "history", "exec"}


def test_csv_and_parquet_have_the_same_rows(exported, parquet):
    columns = ", ".join(COLUMNS)
    stored = duckdb.execute(f"SELECT {columns} FROM read_parquet(?)", [parquet]).fetchall()
    texts = [["" if value is None else str(value) for value in row] for row in stored]
    assert [list(row.values()) for row in rows_of_csv(exported)] == texts


def test_an_access_has_no_sector_and_a_request_no_page(exported):
    rows = rows_of_csv(exported)
    assert {(row["sector"], row["disk"]) for row in rows if row["track"] == "accesses"} == {
        ("", "")
    }
    assert {row["page"] for row in rows if row["track"] == "requests"} == {""}


def test_no_cell_of_csv_is_a_formula(hostile):
    rows = rows_of_csv(hostile)
    assert [row["file"] for row in rows] == [
        "'=cmd|' /C calc'!A0",
        "</script><img src=x onerror=alert(1)>",
        '/tmp/a"b,c\\nd\\x1b]0;x\\x07',
        "/tmp/undecodable\\xff",
    ]
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())


def test_parquet_keeps_a_name_that_looks_like_a_formula(hostile, tmp_path):
    (tmp_path / "hostile.parquet").write_bytes(parquet_of(hostile))
    found = duckdb.execute(
        "SELECT file FROM read_parquet(?)", [str(tmp_path / "hostile.parquet")]
    ).fetchall()
    assert found[0] == ("=cmd|' /C calc'!A0",)
