"""predict_linux(): the kernel's own readahead, by disk and in total."""

from __future__ import annotations

from dataclasses import replace

import pytest
from capture_builder import capture_of
from event_table import event, insert, read, table
from msgspec import structs

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.predict.linux import inputs, predict_linux
from foreread.analyzer.predict.window import predict
from foreread.emulator.linux.rules import KernelError
from foreread.tracer.formats.capture import NO_METADATA, Extent, FileEntry

PAGE = 4096
LOOP, OTHER = 7 << 20, 8 << 20
ENTRIES = [
    FileEntry(dev="7:0", ino=1, path="/a", size_bytes=400 * PAGE),
    FileEntry(dev="8:0", ino=1, path="/b", size_bytes=400 * PAGE),
]


def recorded(*touched, entries=ENTRIES, kernel="6.18.44"):
    """A recording of single reads of (dev, page)."""
    events = []
    for dev, page in touched:
        events += [insert(1, page, dev=dev), read(page * 8, 1, dev=dev)]
        events.append(event(Kind.GET_PAGES, ino=1, index=page, value=page, dev=dev))
    trace = Trace("test", table(*events), kernel=kernel)
    return interpret(trace, NO_METADATA, entries, "all")


def test_the_kernel_of_the_capture_is_the_model():
    recording = recorded(*((LOOP, page) for page in range(5)))
    prediction = predict_linux(recording, "linux", [0, 32])
    assert prediction.model == "linux-6.18.44"
    # Windows of 4, 8 and 16 pages: at 0, at the marker on 1 and at the one on 4.
    assert (prediction.total.f, prediction.total.pages) == ([5, 3], [5, 28])
    assert prediction.total.g == [0, 23]


def test_another_kernel_can_be_asked_for():
    """Up to 5.10 a read of page 102 after one of page 100 is not sequential."""
    recording = recorded((LOOP, 100), (LOOP, 102))
    models = ("linux-2.6.32", "linux-5.10", "linux-5.15", "linux-6.18")
    pages = [predict_linux(recording, model, [32]).total.pages[0] for model in models]
    assert pages == [2, 2, 5, 5]
    doubts = predict_linux(recording, "linux-5.15", [32]).doubts
    assert doubts == ("the readahead model was not compared with a running kernel for Linux 5.15",)


def test_disks_are_emulated_apart_and_added_up():
    recording = recorded((LOOP, 0), (OTHER, 0), (LOOP, 1), (OTHER, 100))
    prediction = predict_linux(recording, windows=[0, 32])
    assert {d.dev: d.f for d in prediction.devices} == {"7:0": [2, 2], "8:0": [2, 2]}
    assert prediction.total.f == [4, 4]
    assert prediction.total.pages == [4, 12 + 5]


def test_the_criterion_stays_that_of_the_fixed_window():
    recording = recorded((LOOP, 0), (LOOP, 9), (LOOP, 30))
    linux, fixed = predict_linux(recording), predict(recording)
    assert linux.total.c_opt == fixed.total.c_opt
    assert linux.total.quasi_optimal == fixed.total.quasi_optimal
    assert linux.verdict == fixed.verdict


def test_a_file_in_two_pieces_needs_two_requests():
    pieces = [Extent(0, 1 << 20, 2 * PAGE, True), Extent(2 * PAGE, 8 << 20, 398 * PAGE, True)]
    entries = [FileEntry(dev="7:0", ino=1, path="/a", size_bytes=400 * PAGE, extents=pieces)]
    split = predict_linux(recorded((LOOP, 0), entries=entries), windows=[32])
    whole = predict_linux(recorded((LOOP, 0)), windows=[32])
    assert (split.total.f, whole.total.f) == ([2], [1])
    assert split.total.pages == whole.total.pages == [4]


def test_a_file_without_any_extent_is_not_read():
    entries = [FileEntry(dev="7:0", ino=1, path="/a", size_bytes=400 * PAGE, extents=[])]
    assert predict_linux(recorded((LOOP, 0), entries=entries), windows=[32]).total.pages == [0]


@pytest.mark.parametrize(
    ("kernel", "model"), [(None, "linux"), ("6.18", "linux-2.4"), ("next", "linux")]
)
def test_unknown_kernels_are_refused_with_a_remedy(kernel, model):
    recording = replace(recorded((LOOP, 0)), kernel=kernel)
    with pytest.raises(KernelError) as caught:
        predict_linux(recording, model, [8])
    assert "linux-" in caught.value.remedy


def test_only_files_of_the_right_kind_have_large_folios():
    assert inputs(recorded((LOOP, 0)), (6, 18)).program.files["large_folios"].tolist() == [0]


def test_pages_that_stayed_cached_are_reported():
    recording = recorded((LOOP, 0))
    cold = structs.replace(capture_of().cold, resident_pages=7)
    notes = predict_linux(replace(recording, capture=capture_of(cold=cold))).notes
    assert any(note.startswith("7 pages that running processes map stayed") for note in notes)
    notes = predict_linux(replace(recording, capture=capture_of())).notes
    assert not any("stayed cached" in note for note in notes)
