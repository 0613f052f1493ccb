from __future__ import annotations

from foreread.tracer.formats.capture import FileEntry
from foreread.tracer.runs.residency import runs_of, with_cached


def test_pages_in_any_order_make_runs():
    assert runs_of([7, 1, 2, 3, 2, 9, 8]) == [(1, 3), (7, 3)]
    assert runs_of([]) == []


def test_files_say_what_was_cached_of_them_if_that_is_known():
    files = [FileEntry(dev="8:1", ino=ino, path=None, size_bytes=-1) for ino in (1, 2)]
    received = with_cached(files, {("8:1", 2): [(0, 4)], ("8:2", 1): [(5, 1)]})
    assert [file.cached_pages for file in received] == [[], [(0, 4)]]
    assert with_cached(files, None) == files
