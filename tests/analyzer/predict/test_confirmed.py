"""Setups that were compared with real kernels, and others."""

from __future__ import annotations

import pytest
from capture_builder import capture_of, host_of
from event_table import insert, read, table
from msgspec import structs

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.predict.doubts.kernel import Setting, setting_of, unlike
from foreread.tracer.formats.capture import Mount

JUDGED = {(6, 12): {"x86_64": frozenset({"ext4", "xfs"})}}


@pytest.mark.parametrize(
    ("version", "machine", "filesystems", "said"),
    [
        ((6, 12, 3), "x86_64", {"ext4"}, []),
        ((6, 12), "x86_64", {"ext4", "xfs"}, []),
        ((6, 12), None, set(), []),
        ((5, 10), "x86_64", {"ext4"}, ["Linux 5.10"]),
        ((2, 6, 32), None, set(), ["Linux 2.6"]),
        ((6, 12), "mips", {"ext4"}, ["Linux 6.12 on mips"]),
        ((6, 12), "x86_64", {"f2fs", "ext4"}, ["f2fs with Linux 6.12 on x86_64"]),
    ],
)
def test_unjudged_setups_are_named(version, machine, filesystems, said):
    assert list(unlike(Setting(version, machine, frozenset(filesystems)), JUDGED)) == said


def mount(dev, fstype):
    return Mount(dev=dev, mountpoint="/", fstype=fstype, source="", options="")


def test_only_file_systems_that_were_read_count():
    capture = structs.replace(capture_of(), mounts=[mount("7:0", "ext4"), mount("8:0", "xfs")])
    trace = Trace("test", table(insert(1, 0, dev=7 << 20), read(0, 1, dev=7 << 20)), kernel="6.12")
    found = setting_of(interpret(trace, capture, [], "all"), (6, 12))
    assert found == Setting((6, 12), capture.host.machine, frozenset({"ext4"}))


@pytest.mark.parametrize(
    ("page_size", "machine"),
    [
        (4096, "aarch64"),
        (16384, "aarch64 with pages of 16 KiB"),
        (65536, "aarch64 with pages of 64 KiB"),
    ],
)
def test_a_machine_with_larger_pages_is_another_one(page_size, machine):
    capture = capture_of(host=host_of(machine="aarch64", page_size=page_size))
    trace = Trace("test", table(insert(1, 0), read(0, 1)), kernel="6.12")
    found = setting_of(interpret(trace, capture, [], "all"), (6, 12))
    assert found.machine == machine
