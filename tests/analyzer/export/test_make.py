"""Exported runs: what they contain, and what is refused."""

import numpy as np
import pytest
from capture_builder import recording_of

import foreread
from foreread.analyzer.error import ArgumentError
from foreread.analyzer.export.events import Track
from foreread.analyzer.export.lanes import lanes, rows_of
from foreread.analyzer.predict.inputs import inputs
from foreread.analyzer.predict.kernel_waste import kernel_waste
from foreread.analyzer.predict.linux import asked_version
from foreread.analyzer.predict.start import prepare


@pytest.fixture(scope="session")
def taken(start):
    return inputs(start, asked_version(start, "linux"))


def test_the_recorded_run_has_every_access_and_request(start, exported):
    assert len(rows_of(exported, 0, Track.ACCESSES)) == start.accesses.rows
    assert len(rows_of(exported, 0, Track.REQUESTS)) == start.requests.rows


@pytest.mark.parametrize(("run", "window"), [(1, 0), (2, 32)])
def test_an_emulated_run_leaves_unused_what_the_kernel_s_emulation_does(
    start, exported, taken, run, window
):
    rows = rows_of(exported, run, Track.UNUSED)
    found, _ = kernel_waste(taken, asked_version(start, "linux"), window)
    disk = prepare(taken, asked_version(start, "linux")).disk
    expected = np.where(taken.disk_of_file == taken.disks.index(disk), found.wasted, 0)
    by_file = np.zeros(start.files.rows, np.int64)
    np.add.at(by_file, exported.events["file"][rows], exported.events["pages"][rows])
    assert by_file.tolist() == expected.tolist()


@pytest.mark.parametrize(("run", "window"), [(1, 0), (2, 32)])
def test_an_emulated_run_lasts_as_long_as_predicted(start, exported, taken, run, window):
    replayed = prepare(taken, asked_version(start, "linux")).timed([window])[0]
    events = exported.events
    rows = events["run"] == run
    ends = events["start_ns"][rows] + np.maximum(events["duration_ns"][rows], 0)
    used = events["track"][rows] != Track.REQUESTS  # readahead may still be read at the end
    used &= events["track"][rows] != Track.UNUSED
    assert ends[used].max() <= replayed.total_ns + 1
    assert ends[used].max() > 0.9 * replayed.total_ns
    assert len(rows_of(exported, run, Track.REQUESTS)) == replayed.work[:, 0].sum()


def test_every_run_accesses_the_same_pages_of_the_disk(start, exported, taken):
    own = taken.disk_of_file[start.accesses["file"]] == taken.disks.index(
        prepare(taken, asked_version(start, "linux")).disk
    )
    expected = set(
        zip(start.accesses["file"][own].tolist(), start.accesses["page"][own].tolist(), strict=True)
    )
    for run in (1, 2):
        rows = rows_of(exported, run, Track.ACCESSES)
        columns = (exported.events[name][rows].tolist() for name in ("file", "page"))
        assert set(zip(*columns, strict=True)) == expected


def test_a_thread_waits_for_one_thing_at_a_time(exported):
    events = exported.events
    for run in range(3):
        rows = rows_of(exported, run, Track.WAITING)
        assert len(rows)
        for thread in np.unique(events["thread"][rows]).tolist():
            own = rows[events["thread"][rows] == thread]
            ends = events["start_ns"][own] + events["duration_ns"][own]
            assert (events["start_ns"][own][1:] >= ends[:-1]).all()


def test_a_window_shortens_the_waits_for_the_disk(exported):
    events = exported.events
    waited = [
        events["duration_ns"][rows][events["detail"][rows] == 3].sum()
        for rows in (rows_of(exported, run, Track.WAITING) for run in (1, 2))
    ]
    assert 0 < waited[1] < waited[0]


def test_lanes_hold_requests_that_do_not_overlap():
    found = lanes(np.array([0, 1, 2, 5, 5]), np.array([4, 1, 9, 0, 1]))
    assert found.tolist() == [0, 1, 1, 0, 0]


def test_a_recording_without_block_and_scheduler_events_says_so(hostile):
    assert [note.partition(":")[0] for note in hostile.notes] == [
        "the recording has no block events",
        "the recording has no scheduler events of the command",
    ]


@pytest.mark.parametrize("kb", [1, 130, 1 << 20])
def test_a_window_that_no_kernel_has_is_refused(start, tmp_path, kb):
    with pytest.raises(ArgumentError, match=f"a window of {kb} KiB"):
        foreread.export(start, tmp_path / "out", "csv", [kb])


def test_an_unknown_format_is_refused(start, tmp_path):
    with pytest.raises(foreread.ERRORS) as caught:
        foreread.export(start, tmp_path / "out", "xml")
    assert caught.value.remedy.startswith("give one of 'perfetto', 'chrome'")


def test_a_run_without_a_capture_cannot_be_emulated(tmp_path):
    recording = recording_of([(0, 0)], [4096])
    with pytest.raises(foreread.ERRORS) as caught:
        foreread.export(recording, tmp_path / "out", "csv", [128])
    assert "foreread record" in caught.value.remedy
    assert not (tmp_path / "out").exists()
