"""Ends of uncompressed EROFS files lie beside their inodes, and need no request of their own."""

from __future__ import annotations

from capture_builder import capture_of
from event_table import DISK, insert, read, table

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.predict.inputs import inline_tails
from foreread.tracer.formats.capture import Mount

PAGE = 4096
DATA = (insert(5, 0), read(100, 1))
TAIL = (insert(5, 3),)
READ_TAIL = (insert(5, 3), read(124, 1))
OTHER = (insert(6, 0), read(200, 1))
SIZES = {5: 3 * PAGE + 100, 6: 7 * PAGE + 1}


def recorded(*events, fstype="erofs", sizes=SIZES):
    mount = Mount(dev=f"{DISK >> 20}:0", mountpoint="/", fstype=fstype, source="", options="")
    found = interpret(Trace("test", table(*events)), capture_of(mounts=[mount]), [], "all")
    found.files["size_bytes"][:] = [sizes[ino] for ino in found.files["ino"].tolist()]
    return found


def test_a_last_page_without_a_read_shows_that_ends_are_inline_those_of_other_files_too():
    assert inline_tails(recorded(*DATA, *TAIL, *OTHER)) == [(0, 3), (1, 7)]


def test_an_end_that_was_read_is_not_inline():
    assert inline_tails(recorded(*DATA, *READ_TAIL, *OTHER)) == []
    other_end = (insert(6, 7), read(256, 1))
    assert inline_tails(recorded(*DATA, *TAIL, *OTHER, *other_end)) == [(0, 3)]


def test_an_end_before_another_page_of_its_file_is_not_taken_to_be_read_with_it():
    events = (insert(5, 3), insert(5, 1), read(108, 1))
    assert inline_tails(recorded(*DATA, *events)) == [(0, 3)]


def test_a_file_of_whole_pages_has_no_such_end():
    assert inline_tails(recorded(*DATA, *TAIL, sizes={5: 4 * PAGE})) == []


def test_other_file_systems_have_none():
    assert inline_tails(recorded(*DATA, *TAIL, *OTHER, fstype="squashfs")) == []
