"""A batch: each capture becomes rows, whatever it does to the process that reads it."""

import threading

import fleet_readers
import pytest
from fleet_captures import SMALL, copies, damaged
from waiting import left_s, wait_until

from foreread.analyzer.error import ArgumentError
from foreread.analyzer.fleet import batch as module
from foreread.analyzer.fleet.batch import Batch, Children, _Stopped, run_batch
from foreread.analyzer.fleet.listing import Found
from foreread.analyzer.fleet.question import FleetQuestion, question_of
from foreread.version import VERSION


def done(paths, **question):
    captures = tuple(Found(str(path), path.is_dir(), "1") for path in paths)
    return run_batch(Batch(captures, FleetQuestion(VERSION, **question)))


def summaries(found):
    return [one.rows.rows[0] for one in found.analysed]


@pytest.fixture
def good(tmp_path):
    return copies(tmp_path / "good", 2)


def renamed(path, *names):
    """Copies of a capture with other names; their content differs by one byte after its end."""
    made = []
    for number, name in enumerate(names):
        copy = path.with_name(f"{name}.tar.xz")
        copy.write_bytes(path.read_bytes() + bytes(4 * number))
        made.append(copy)
    return made


@pytest.mark.thorough
def test_captures_become_rows_of_their_boards(good):
    found = done(good)
    boards = [one.rows.board for one in found.analysed]
    assert [board.rpartition("-")[0] for board in boards] == ["board-0", "board-1"]
    for row, path in zip(summaries(found), good, strict=True):
        assert (row["verdict"], row["source"], row.get("error")) == ("set", str(path), None)
        assert row["bytes"] == path.stat().st_size
    windows = found.analysed[0].rows.rows[1:]
    assert {row["key"] for row in windows} == {found.analysed[0].key}
    best = min((row for row in windows if row["seconds"]), key=lambda row: row["seconds"])
    assert best["seconds_low"] < best["seconds"] < best["seconds_high"]


def test_the_rows_are_those_of_predict(good):
    import foreread

    prediction = foreread.predict(foreread.load(good[0]))
    summary, *windows = done(good[:1]).analysed[0].rows.rows
    assert summary["proposed_kb"] == prediction.verdict.read_ahead_kb
    known = prediction.total.known_seconds
    assert {row["read_ahead_kb"]: row["seconds"] for row in windows if row["seconds"]} == known
    curve = prediction.devices[0]
    for row in windows:
        at = curve.windows.index(row["window_pages"])
        assert (row["f"], row["g"], row["pages"]) == (curve.f[at], curve.g[at], curve.pages[at])


@pytest.mark.thorough
def test_a_damaged_capture_is_a_row_with_the_error(tmp_path, good):
    (bad,) = damaged(tmp_path)
    found = done([bad, *good])
    first, *others = summaries(found)
    assert "damaged" in first["remedy"]
    assert first["error"]
    assert str(tmp_path) not in first["error"]
    assert [row.get("error") for row in others] == [None, None]
    assert (found.analysed[0].rows.board, found.unreachable) == ("unread", [])


def test_a_capture_that_kills_the_decoder_ends_its_child_only(good):
    """The decoder is a plug-in, given by the public API, that reads a null pointer."""
    crash, abort, leave, fine = renamed(good[0], "crash", "abort", "exit", "fine")
    rows = summaries(done([crash, fine, abort, leave], reader="fleet_readers:crashing"))
    assert "(SIGSEGV)" in rows[0]["error"]
    assert rows[1].get("error") is None
    assert "(SIGABRT)" in rows[2]["error"]
    assert rows[3]["error"].endswith("ended with 7")


@pytest.mark.thorough
def test_a_capture_that_takes_too_long_is_ended(good, monkeypatch):
    hang, fine = renamed(good[0], "hang", "fine")
    monkeypatch.setattr(module, "MOST_SECONDS", 0.5)
    assert "took more than" in summaries(done([hang], reader="fleet_readers:hanging"))[0]["error"]
    monkeypatch.setattr(module, "MOST_SECONDS", 300.0)
    assert summaries(done([fine], reader="fleet_readers:hanging"))[0].get("error") is None


def test_what_a_reader_prints_is_no_answer_and_its_bug_is_a_row(good):
    (row,) = summaries(done(good[:1], reader="fleet_readers:printing"))
    assert row["error"] == "KeyError: 'a bug of the reader'"


def test_a_capture_that_is_gone_is_not_stored(tmp_path, good):
    gone = tmp_path / "gone.tar.xz"
    found = done([gone, good[0]])
    assert [address for address, _ in found.unreachable] == [str(gone)]
    assert len(found.analysed) == 1


def test_children_are_killed_when_the_driver_ends(good, tmp_path, monkeypatch):
    monkeypatch.setenv("FLEET_BEGUN", str(tmp_path / "begun"))
    monkeypatch.setenv("FLEET_GO", str(tmp_path / "go"))
    children, errors = Children(), []
    question = FleetQuestion(VERSION, reader="fleet_readers:waiting")

    def work():
        try:
            run_batch(Batch((Found(str(good[0])),), question), children)
        except _Stopped as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    wait_until((tmp_path / "begun").exists)
    children.end()
    thread.join(left_s())
    assert not thread.is_alive()
    assert len(errors) == 1


@pytest.mark.thorough
def test_a_folder_is_read_as_an_archive_is(tmp_path):
    from foreread.analyzer.ingest.archive import unpack

    folder = unpack(SMALL, tmp_path)
    one, two = done([folder, SMALL]).analysed
    assert one.key != two.key
    same = ("verdict", "proposed_kb", "seconds_now", "gain", "build")
    assert [one.rows.rows[0][name] for name in same] == [two.rows.rows[0][name] for name in same]


@pytest.mark.thorough
def test_device_and_model_are_part_of_the_key_and_the_prediction(good, tmp_path):
    device = tmp_path / "slow.toml"
    device.write_text('kind = "fixed"\nlatency_us = 5000\nns_per_kib = 50000\n')
    slow = question_of(VERSION, "linux-6.12", str(device), None)
    device.unlink()  # workers of another machine do not have it
    found = run_batch(Batch((Found(str(good[0])),), slow))
    plain = done(good[:1])
    assert found.analysed[0].key != plain.analysed[0].key
    assert summaries(found)[0]["model"] == "linux-6.12"
    assert summaries(found)[0]["seconds_now"] > summaries(plain)[0]["seconds_now"]


def test_a_reader_that_no_other_process_finds_is_refused():
    assert question_of("1", None, None, fleet_readers.crashing).reader == "fleet_readers:crashing"
    with pytest.raises(ArgumentError, match="cannot be found by another process"):
        question_of("1", None, None, lambda path: path)
