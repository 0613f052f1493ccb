"""The note of a recorder whose own trace cannot be read."""

import os

from foreread.analyzer.ingest.seen import SeenTrace
from foreread.tracer.formats.limits import MOST_TRACE_BYTES
from foreread.tracer.runs.recording import unread_note


def test_a_trace_beyond_the_limit_is_said_with_what_to_do(tmp_path):
    (tmp_path / "perf.data").write_bytes(b"PERFILE2")
    os.truncate(tmp_path / "perf.data", MOST_TRACE_BYTES + 1)
    seen = SeenTrace(tmp_path).seen({1}, reads=True)
    assert (seen.inodes, seen.reads) == (set(), {})
    note = unread_note(seen.error)
    assert note.startswith(f"this capture cannot be loaded: {tmp_path / 'perf.data'} has ")
    assert note.endswith(", or fewer events")
    assert "--duration" in note


def test_a_damaged_trace_is_another_note():
    note = unread_note(ValueError("damaged"))
    assert note == "the trace could not be read to look for its files: damaged"
