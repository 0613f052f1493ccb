"""The store: whole files, hostile places, and stores that are not for this foreread."""

import json

import fsspec
import pytest
from fleet_rows import analysed, store_of

from foreread.analyzer.fleet import store as module
from foreread.analyzer.fleet.error import FleetError
from foreread.analyzer.fleet.rows import COLUMNS
from foreread.analyzer.fleet.store import MARKER, open_store
from foreread.analyzer.fleet.tables import tables


def all_rows(store):
    with store.database() as database:
        found = database.execute(f"FROM {store.rows_sql()}")
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def test_rows_come_back_with_their_partition(tmp_path):
    store = store_of(tmp_path / "store", analysed("123", "2026-01-01", command="'\";--\u2028é"))
    rows = all_rows(store)
    assert [row["row"] for row in rows].count("capture") == 1
    assert {(row["board"], row["start"]) for row in rows} == {("123", "2026-01-01")}
    assert next(row for row in rows if row["row"] == "capture")["command"] == "'\";--\u2028é"
    assert list(rows[0]) == [*(column.name for column in COLUMNS), "board", "start"]


@pytest.mark.parametrize("name", ["it's", "a*b?[c]", "a b", "ä=ö", "x;DROP TABLE y"])
def test_a_store_may_have_any_name(tmp_path, name):
    store = store_of(tmp_path / name, analysed())
    store_of(tmp_path / "axb?c", analysed())  # that a pattern would match, too
    assert len(all_rows(store)) == 4
    assert len(open_store(str(tmp_path / name)).known()) == 2


def test_a_store_in_memory_is_read_by_duckdb():
    store = store_of("memory://fleet-store", analysed())
    try:
        assert len(all_rows(store)) == 4
        assert len(store.known()) == 2
    finally:
        fsspec.filesystem("memory").rm("/fleet-store", recursive=True)


@pytest.mark.parametrize("board", ["..", "../../x", "a/b", "a=b/c", "", ".hidden", "ä"])
def test_a_partition_that_leaves_the_store_is_refused(tmp_path, board):
    with pytest.raises(FleetError, match="an invalid partition"):
        store_of(tmp_path / "store", analysed(board))
    assert [path.name for path in tmp_path.rglob("*.parquet")] == []


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    store = store_of(tmp_path / "store")

    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_sync", fail)
    with pytest.raises(FleetError, match="No space left"):
        store.write([analysed()])
    assert [path for path in (tmp_path / "store/rows").rglob("*") if path.is_file()] == []
    assert not store.has_rows()


def test_a_part_of_a_killed_writer_is_not_read(tmp_path):
    store = store_of(tmp_path / "store", analysed())
    (next((tmp_path / "store/rows").glob("*/*")) / "x.parquet.99.part").write_bytes(b"PAR1")
    assert len(all_rows(store)) == 4


def test_a_damaged_file_is_named(tmp_path):
    store = store_of(tmp_path / "store", analysed())
    bad = next((tmp_path / "store/rows").glob("*/*")) / "bad.parquet"
    bad.write_bytes(b"PAR1 damaged PAR1")
    with pytest.raises(FleetError, match=r"bad\.parquet") as error:
        store.known()
    assert "remove the damaged file" in error.value.remedy


def test_a_newer_store_is_refused(tmp_path):
    (tmp_path / MARKER).write_text(json.dumps({"schema": 2}))
    with pytest.raises(FleetError, match="has schema 2 of a store, this foreread reads 1"):
        open_store(str(tmp_path), create=True)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "x" * 100_000])
def test_a_damaged_marker_is_refused(tmp_path, text):
    (tmp_path / MARKER).write_text(text)
    with pytest.raises(FleetError, match="is damaged"):
        open_store(str(tmp_path))


def test_a_folder_of_something_else_is_not_made_a_store(tmp_path):
    (tmp_path / "letter.txt").touch()
    with pytest.raises(FleetError, match="has other files"):
        open_store(str(tmp_path), create=True)
    assert not (tmp_path / MARKER).exists()


def test_what_is_no_store_is_not_reported(tmp_path):
    with pytest.raises(FleetError, match="is not a store"):
        open_store(str(tmp_path))
    with pytest.raises(FleetError, match="has no capture"), tables(store_of(tmp_path / "store")):
        pass
