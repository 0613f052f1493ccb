"""Own probes: checked against the pages that the kernel read, then used or refused."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from event_table import DISK, event, insert, read, table
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.ingest import text
from foreread.analyzer.ingest.inserts import find_inserts
from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.probes import Check, adopt, check_probes
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Kind
from foreread.tracer.formats.capture import NO_METADATA

PAGE = 4096
FIXTURE = Path(__file__).parent / "data" / "machines" / "armhf"


def fault(ino, index, **more):
    return event(Kind.PROBED_FAULT, ino=ino, index=index, **more)


def call(ino, pos, count, **more):
    return event(Kind.PROBED_READ, ino=ino, index=pos, value=count, **more)


def page(ino, index, **more):
    """The kernel reads one page of a file."""
    return (insert(ino, index, **more), read(index * 8, 1, **more))


def checks(*events, slack=0):
    made = table(*events)
    return check_probes(made, find_inserts(made, PAGE, {DISK: "ext4"}), PAGE, slack)


def adopted(*events, slack=0):
    made = table(*events)
    return adopt(made, find_inserts(made, PAGE, {DISK: "ext4"}), PAGE, slack)


def test_a_fault_must_name_the_page_read_in():
    right = (fault(5, 3), *page(5, 3))
    assert checks(*right) == {Kind.PROBED_FAULT: Check(1, 0)}
    for wrong in (fault(5, 4), fault(6, 3), fault(5, 3, dev=DISK + 1)):
        assert checks(*right, wrong, *page(5, 3)) == {Kind.PROBED_FAULT: Check(2, 1)}


def test_files_that_no_probe_names_do_not_count():
    # squashfs reads a symbolic link through the page cache while it looks up a path.
    link = page(9, 0)
    assert checks(fault(5, 3), *page(5, 3), fault(5, 3), *link) == {Kind.PROBED_FAULT: Check(1, 0)}
    check = checks(fault(6, 3), *page(5, 3), fault(6, 4), *page(5, 4))[Kind.PROBED_FAULT]
    assert check == Check(0, 0) and not check.accepted


def test_cached_pages_do_not_confirm_a_probe():
    assert checks(fault(5, 3), fault(5, 4), *page(5, 4)) == {Kind.PROBED_FAULT: Check(1, 0)}
    check = checks(fault(5, 3))[Kind.PROBED_FAULT]
    assert check == Check(0, 0) and not check.accepted


def test_threads_written_pages_and_metadata_are_kept_apart():
    other = (insert(9, 9, pid=2), read(72, 1, pid=2))
    written = (insert(7, 0), insert(7, 1))  # nothing is read for them
    metadata = (event(Kind.INSERT, dev=3, ino=DISK, index=8),)
    seen = checks(fault(5, 3), *other, *metadata, *written, *page(5, 3))
    assert seen == {Kind.PROBED_FAULT: Check(1, 0)}


def test_a_read_must_name_exactly_the_pages_read_in():
    pages = (*page(5, 0), *page(5, 1), *page(5, 2))
    more = (call(5, 3 * PAGE, PAGE), *page(5, 3))  # the file is longer
    assert checks(call(5, 100, 3 * PAGE - 100), *pages, *more)[Kind.PROBED_READ] == Check(2, 0)
    for count in (0, 8, PAGE, 4 * PAGE, 1 << 63):
        assert checks(call(5, 0, count), *pages, *more)[Kind.PROBED_READ] == Check(2, 1), count


def test_a_read_may_go_beyond_the_end_of_its_file():
    pages = (*page(5, 0), *page(5, 1))
    assert checks(call(5, 0, 1 << 17), *pages, call(5, 2 * PAGE, 1 << 17)) == {
        Kind.PROBED_READ: Check(1, 0)
    }


def test_with_readahead_the_kernel_may_begin_beside_the_page():
    around = (insert(5, 90), insert(5, 91), insert(5, 92), read(720, 3))
    assert checks(fault(5, 100), *around, slack=16)[Kind.PROBED_FAULT] == Check(1, 0)
    assert checks(fault(5, 200), *around, slack=16)[Kind.PROBED_FAULT] == Check(1, 1)


def test_a_block_read_as_a_whole_may_hold_more_than_was_asked_for():
    block = (insert(5, 3), insert(5, 0), insert(5, 1), insert(5, 2), read(0, 4))
    assert checks(fault(5, 3), *block) == {Kind.PROBED_FAULT: Check(1, 0)}


def test_the_second_page_of_a_fragment_that_another_read_follows_was_not_asked_for():
    # squashfs reads the fragment for page 0, unpacks it into page 1, and later reads another block.
    made = table(fault(5, 0), *page(5, 0), insert(5, 1), read(900, 1), fault(6, 0), *page(6, 0))
    for fstype, disagreeing in (("squashfs", 0), ("ext4", 1)):
        blocks = {DISK: 32} if fstype == "squashfs" else {}
        inserts = find_inserts(made, PAGE, {DISK: fstype}, block_pages=blocks)
        expected = {Kind.PROBED_FAULT: Check(2, disagreeing)}
        assert check_probes(made, inserts, PAGE, 0) == expected, fstype


def test_accepted_probes_become_the_kernels_own_events():
    events, notes = adopted(
        fault(5, 3), *page(5, 3), call(6, 4000, 200), *page(6, 0), *page(6, 1), call(6, 9, 0)
    )
    assert [Kind(kind) for kind in events["kind"]] == [
        *(Kind.FAULT, Kind.INSERT, Kind.BIO_QUEUE),
        *(Kind.GET_PAGES, Kind.INSERT, Kind.BIO_QUEUE, Kind.INSERT, Kind.BIO_QUEUE),
    ]
    assert (events["index"][3], events["value"][3]) == (0, 1)
    assert len(notes) == 2 and all("1 of 1 agree" in note for note in notes)


def test_refused_probes_are_left_out_and_said():
    wrong = [e for i in range(40) for e in (fault(77, i), *page(5, i))]
    right = [e for i in range(40) for e in (call(5, i * PAGE, 9), *page(5, i))]
    events, notes = adopted(*wrong, *right)
    kinds = set(events["kind"].tolist())
    assert kinds == {Kind.INSERT, Kind.BIO_QUEUE, Kind.GET_PAGES}
    assert any("page faults refused: 0 of 40" in note and "offsets" in note for note in notes)


def test_the_bound_of_disagreement():
    assert Check(100, 2).accepted and not Check(99, 2).accepted


@given(
    st.lists(
        st.one_of(
            st.builds(fault, st.integers(0, 3), st.integers(0, 2**64 - 1), pid=st.integers(1, 2)),
            st.builds(
                call, st.integers(0, 3), *[st.integers(0, 2**64 - 1)] * 2, pid=st.integers(1, 2)
            ),
            st.builds(insert, st.integers(0, 3), st.integers(0, 2**64 - 1), pid=st.integers(1, 2)),
            st.builds(read, st.integers(0, 99), st.integers(1, 9), pid=st.integers(1, 2)),
        ),
        max_size=20,
    ),
    st.sampled_from([0, 4, 1 << 20]),
)
def test_anything_is_accepted_or_refused(events, slack):
    made = table(*events)
    found, _ = adopt(made, find_inserts(made, PAGE, {}), PAGE, slack)
    assert not np.isin(found["kind"], [Kind.PROBED_FAULT, Kind.PROBED_READ]).any()
    for check in check_probes(made, find_inserts(made, PAGE, {}), PAGE, slack).values():
        assert 0 <= check.disagreeing <= check.checked <= len(events)


def test_offsets_wrong_for_a_real_capture_are_refused(tmp_path):
    """The probes read another field than they should: an edited format does the same."""
    for wrong, what in (("ino", "dev"), ("dev", "ino"), ("index", "file")):
        copy = shutil.copytree(FIXTURE, tmp_path / wrong)
        path = copy / "events/foreread/file_fault/format"
        fields = path.read_text()
        place = {name: _place(fields, name) for name in (wrong, what)}
        path.write_text(fields.replace(place[wrong], place[what].replace(what, wrong)))
        recording = load(copy)
        assert any("page faults refused: 0 of " in note for note in recording.notes)
        assert Kind.FAULT not in recording.trace.events["kind"]
        assert Kind.GET_PAGES in recording.trace.events["kind"]


def _place(fields, name):
    return next(line for line in fields.splitlines() if f" {name};" in line)


@pytest.mark.parametrize(
    "line",
    [
        "file_fault: (filemap_fault+0x0/0x9) file=1 ino=99999999999999999999 dev=1 index=0",
        "file_read: (filemap_read+0x0/0x9) file=1 ino=1 dev=4294967296 pos=0 count=1",
        "file_read: something else of that name",
    ],
)
def test_unknown_lines_of_text_are_counted(tmp_path, line):
    good = "mm_filemap_add_to_page_cache: dev 7:0 ino 5 pfn=0x1 ofs=0 order=0"
    path = tmp_path / "trace.txt"
    path.write_text("".join(f"  sh-1 [000] ..... 1.000001: {one}\n" for one in (good, line)))
    trace = text.read(path)
    assert trace.events.rows == 1
    assert any(note.startswith("1 line of needed events") for note in trace.notes)


def test_an_unknown_window_is_as_long_as_the_longest_run_of_pages():
    # A file by another program does not say its window. 64 pages in order: the kernel may begin
    # 4 * 65 pages beside the touched page, not 4 * 33 as with an assumed window of 128 KiB.
    for pages, accepted in ((64, True), (32, False)):
        window = [insert(5, index) for index in range(60, 60 + pages)]
        events = table(fault(5, 300), *window, read(60 * 8, pages))
        notes = interpret(Trace("perf.data", events, kernel="6.18"), NO_METADATA, [], "all").notes
        assert any("come from probes" in note for note in notes) == accepted
        assert any("refused" in note for note in notes) != accepted
