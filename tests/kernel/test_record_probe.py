"""The probe of opens: defined, recorded, removed. A user probe stands in for an event probe."""

from __future__ import annotations

import os
import shutil

import pytest

from foreread.boards.base.owner import owner_tag
from foreread.tracer.backends import tracefs as backend_module
from foreread.tracer.backends import tracefs_mount
from foreread.tracer.backends.tracefs import TracefsBackend

EVENTS = ["filemap:mm_filemap_add_to_page_cache", "syscalls:sys_enter_openat"]
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no probe was checked"),
]


@pytest.fixture
def place():
    with tracefs_mount.mounted() as directory:
        if not (directory / "uprobe_events").exists():
            pytest.skip("this kernel has no uprobe events: their removal was not checked")
        yield directory


def user_probe(group):
    return f"p:{group}/openat {shutil.which('busybox')}:0x1000"


def probes(place):
    return (place / "dynamic_events").read_text()


def test_a_probe_lives_as_long_as_the_recording(place, tmp_path, monkeypatch):
    monkeypatch.setattr(backend_module, "open_probe", user_probe)
    group = tracefs_mount.probe_group(owner_tag())
    backend = TracefsBackend()
    backend.start(tmp_path, EVENTS, 1024)
    assert f"{group}/openat" in probes(place)
    assert group not in tracefs_mount.remove_leftovers(place)  # its owner lives
    assert backend.stop().notes == []
    assert group not in probes(place)
    assert "name: openat" in (tmp_path / "events/foreread/openat/format").read_text()


@pytest.mark.thorough
def test_a_refused_probe_is_noted_and_nothing_else(place, tmp_path, monkeypatch):
    monkeypatch.setattr(backend_module, "open_probe", lambda group: f"p:{group}/openat nonsense")
    backend = TracefsBackend()
    backend.start(tmp_path, EVENTS, 1024)
    assert "no event probes" in backend.stop().notes[0]
    assert (tmp_path / "header_page").exists()


@pytest.mark.thorough
def test_a_dead_owners_probe_is_removed(place):
    group = tracefs_mount.probe_group(f"{2**22 + 1}-1")
    tracefs_mount.change_probes(place, user_probe(group))
    tracefs_mount.remove_leftovers(place)
    assert group not in probes(place)
