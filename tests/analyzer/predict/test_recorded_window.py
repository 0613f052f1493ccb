"""The replay of the recorded window against the record: any difference is a doubt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from capture_builder import capture_of, device_of
from event_table import DISK, R, event, insert, read, table

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.recording import SeenWindows, Trace
from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.predict.choice import predict_by
from foreread.analyzer.predict.doubts.counts import recorded_kb
from foreread.tracer.formats.capture import NO_METADATA, FileEntry

DATA = Path(__file__).parents[2] / "foreread/data"
PAGES = 40


def events(requests=PAGES):
    """Pages one by one, with requests for the first of them only."""
    for page in range(PAGES):
        yield from (insert(5, page), read(8 * page, 1))
        if page < requests:
            yield event(Kind.RQ_ISSUE, index=8 * page, value=8, flags=R)
            yield event(Kind.RQ_COMPLETE, index=8 * page, value=8, flags=R)


def captured(requests=PAGES, size=PAGES):
    trace = Trace("test", table(*events(requests)), kernel="6.12.1")
    entries = [FileEntry(dev="7:0", ino=5, path="/a", size_bytes=4096 * size)]
    capture = capture_of(pid=1, devices=[device_of(filesystems=["7:0"])])
    return interpret(trace, capture, entries, "all")


def differences(recording, **how):
    return [one for one in predict_by(recording, **how).doubts if one.startswith("the replay of")]


@pytest.mark.parametrize("model", ["fixed", "linux-6.12"])
def test_a_replay_that_gives_the_record_is_no_doubt(model):
    assert differences(captured(), model=model) == []


@pytest.mark.parametrize("model", ["fixed", "linux-6.12"])
@pytest.mark.parametrize("windows", [None, [32]])
def test_other_requests_than_recorded_are_a_doubt(model, windows):
    (doubt,) = differences(captured(requests=PAGES - 1), model=model, windows=windows)
    assert doubt == (
        "the replay of loop0 at the recorded window, 0 KiB, reads 40 pages in 40 requests; "
        "recorded were 40 pages and 39 requests"
    )


def test_a_recording_without_requests_is_compared_by_its_pages():
    assert differences(captured(requests=0)) == []


def windowed(pages, size=-1):
    """A trace whose events have a window of so many pages; its one file may be longer."""
    trace = Trace(
        "test", table(*events()), kernel="6.12.1", windows=SeenWindows("x", {DISK: pages})
    )
    entries = [FileEntry(dev="7:0", ino=5, path="/a", size_bytes=size)] if size >= 0 else []
    return interpret(trace, NO_METADATA, entries, "all")


def test_the_window_in_the_events_of_a_trace_is_replayed():
    assert recorded_kb(windowed(8), DISK) == 32
    (doubt,) = differences(windowed(8))
    assert "at the recorded window, 32 KiB, reads 40 pages in 5 requests; recorded were" in doubt
    assert differences(windowed(0)) == []


def test_a_file_of_known_size_shows_pages_that_the_trace_lacks():
    (doubt,) = differences(windowed(63, 4096 * 64))
    assert "reads 64 pages in 1 request; recorded were 40 pages and 40 requests" in doubt


def test_an_unknown_window_is_not_replayed():
    recording = replace(windowed(0), windows=None)
    assert recorded_kb(recording, DISK) is None
    assert differences(recording) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("arm64-madplay", []),
        ("f2fs-madplay", []),
        ("erofs-madplay", []),
        ("squashfs-madplay", ["598 pages in 23 requests; recorded were 603 pages and 27"]),
    ],
)
def test_captures_are_replayed_to_the_page_and_to_the_request(name, said):
    (path,) = (DATA / name).glob("*.capture.tar.xz")
    found = differences(load(path), windows=[0])
    assert len(found) == len(said)
    assert all(text in doubt for text, doubt in zip(said, found, strict=True))
