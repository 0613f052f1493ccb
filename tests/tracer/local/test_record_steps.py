"""What the recorder says of its search for paths, and what it leaves to type."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from foreread.tracer.formats.capture import FileEntry
from foreread.tracer.formats.seen import Seen
from foreread.tracer.local import record
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions

MISSING = FileEntry(dev="8:0", ino=7, path=None, size_bytes=-1)


@pytest.fixture
def search(monkeypatch):
    """Return how to search with a result, and the limits that searches had."""
    limits = []

    def make(complete, said, **options):
        def find(inodes, mounts, known, limit_s=None):
            limits.append(limit_s)
            return [MISSING], complete

        monkeypatch.setattr(record, "find_files", find)
        notes = []
        found = RecordOptions(run=RunOptions(["true"]), tell=said.append, **options)
        run, devices = SimpleNamespace(mapped={("8:0", 7): "/x"}), SimpleNamespace(mounts=[])
        record.named_files(found, run, devices, Seen(), notes)
        return notes

    make.limits = limits
    return make


def test_the_search_says_how_long_it_takes_at_most(search):
    said = []
    assert not search(True, said)
    assert said == ["looking up the paths of 1 file, 20 s at most"]
    assert search.limits == [20.0]


def test_a_search_that_was_cut_names_what_to_type(search):
    (note,) = search(False, [], search_s=33.0)
    assert "cut after 33 s" in note
    assert "1 file has no path" in note
    assert note.endswith("record again with --search 330")
    assert search.limits == [33.0]
