"""The window in force, in the readahead events of texts and of binary traces."""

import mmap

import numpy as np
import pytest

from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import EVENTS, Table
from foreread.analyzer.ingest.windows_seen import windows_of, windows_of_text

_FILE = "dev={} ino=e index=0 req_count=8 order=0 size=0 async_size=0 ra_pages={} mmap_miss=0"
SYNC = f"page_cache_sync_ra: {_FILE} prev_pos=-1"
ASYNC = f"page_cache_async_ra: {_FILE} prev_pos=9"
ORDER = "page_cache_ra_order: dev={} ino=e index=0 order=2 size=8 async_size=4 ra_pages={}"
TRACEFS = "   app-811     [002] ..... 1327.539878: {}\n"
PERF = "app   811 [002]  1327.539878: readahead:{}\n"
TRACE_CMD = "   app-811   [002]  1327.539878: {}\n"
DISK, OTHER = 252 << 20 | 16, 8 << 20 | 1


def of_text(text):
    memory = mmap.mmap(-1, max(len(text), 1))
    memory.write(text.encode())
    return windows_of_text(memory)


@pytest.mark.parametrize("line", [TRACEFS, PERF, TRACE_CMD])
@pytest.mark.parametrize(
    ("event", "name"),
    [(SYNC, "page_cache_sync_ra"), (ASYNC, "page_cache_async_ra"), (ORDER, "page_cache_ra_order")],
)
def test_each_recorder_s_text_has_the_window(line, event, name):
    found = of_text(line.format(event.format("252:16", 2048)))
    assert (found.event, found.pages) == (name, {DISK: 2048})


@pytest.mark.parametrize(
    "payload",
    [
        f" dev={DISK} i_ino=14 index=0 order=2 size=8 async_size=4 ra_pages=32",
        f" i_ino=0xe (14) s_dev=0x{DISK:x} ({DISK}) index=0x0 (0) ra_pages=0x20 (32)",
        f" i_ino=0xe s_dev=0x{DISK:x} index=0x0 ra_pages=0x20",
    ],
)
def test_fields_that_are_printed_by_name_are_read(payload):
    """trace-cmd report -R, and the trace option fields."""
    assert of_text(TRACE_CMD.format(f"page_cache_ra_order:{payload}")).pages == {DISK: 32}


def test_each_file_system_has_its_own_and_advice_for_one_file_does_not_count():
    """POSIX_FADV_SEQUENTIAL doubles ra_pages of the file."""
    rows = [("252:16", 32), ("252:16", 64), ("252:16", 32), ("8:1", 2048)]
    found = of_text("".join(TRACEFS.format(SYNC.format(*row)) for row in rows))
    assert found.pages == {DISK: 32, OTHER: 2048}


@pytest.mark.parametrize(
    "text",
    [
        "",
        TRACEFS.format("page_cache_ra_unbounded: dev=8:1 ino=e index=0 nr_to_read=8 size=4"),
        TRACEFS.format(SYNC.format("8:1", 9_999_999)),  # no kernel has it
    ],
)
def test_other_events_and_numbers_have_none(text):
    assert of_text(text) is None


def binary(events):
    """A binary trace whose fields are {event: {field: values}}."""

    def fields(name, names):
        assert {*names} <= {*events[name]}
        return {field: np.array(events[name][field]) for field in names}

    names = frozenset(events)
    return Trace("test", Table.empty(EVENTS), event_names=names, read_fields=fields)


def test_a_binary_trace_has_the_window_in_its_fields():
    events = {"readahead:page_cache_ra_order": {"s_dev": [DISK, DISK], "ra_pages": [32, 32]}}
    found = windows_of(binary(events))
    assert (found.event, found.pages) == ("page_cache_ra_order", {DISK: 32})
    assert windows_of(binary({})) is None
