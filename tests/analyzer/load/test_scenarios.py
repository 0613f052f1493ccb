"""The loads of scenarios, as clients."""

from __future__ import annotations

from dataclasses import replace

import pytest
from loaded_starts import a_start
from msgspec.structs import replace as replace_struct

from foreread.analyzer.load.client import Client, Load
from foreread.analyzer.load.error import LoadError
from foreread.analyzer.load.replayed import with_load
from foreread.analyzer.load.scenarios import KINDS, load_of_scenario
from foreread.tracer.formats.capture import Mount
from foreread.tracer.trials.trial import Scenario

KIB, MIB = 1 << 10, 1 << 20


def client_of(text, start=None):
    (client,) = load_of_scenario(text, start).clients
    return replace(client, think_ns=0.0)


def test_idle_is_a_load_without_clients():
    assert load_of_scenario("idle") == Load("idle")


@pytest.mark.parametrize("start", [None, a_start()])
def test_a_reader_reads_the_disk_past_the_page_cache(start):
    assert client_of("reader", start) == Client(size=128 * KIB)


def test_a_reader_of_the_start_s_disk_by_name_is_the_same():
    assert client_of("reader:/dev/loop0", a_start()) == Client(size=128 * KIB)


def test_a_reader_of_a_file_is_cat():
    assert client_of("reader:/a") == Client(cached=True, sequential=True, size=128 * KIB)


def test_a_writer_is_dd_with_fsync():
    expected = Client(write=True, cached=True, size=64 * KIB, burst_bytes=4 * MIB)
    assert client_of("writer") == client_of("writer:/tmp") == expected


def test_computing_is_that_of_the_start_s_processor():
    start = a_start()
    slow = replace(start, cpu=replace(start.cpu, request_ns=1e6, page_ns=1e5))
    for name in ("reader", "reader:/a", "writer"):
        (fast,), (late,) = (load_of_scenario(name, one).clients for one in (start, slow))
        assert 0 < fast.think_ns < late.think_ns


@pytest.mark.parametrize(
    "name", ["reader:/data/big", "writer:/data", "reader:/dev/sda", "reader:/dev/sda1"]
)
def test_a_load_on_another_disk_has_no_effect(name):
    start = a_start()
    load = load_of_scenario(name, start)
    assert load.clients == ()
    assert "another disk" in load.notes[0]
    assert with_load(start, load) is start


def test_a_file_system_below_dev_is_no_device():
    start = a_start()
    capture = start.recording.capture
    shm = Mount(dev="7:0", mountpoint="/dev/shm/board", fstype="ext4", source="", options="")
    capture = replace_struct(capture, mounts=[*capture.mounts, shm])
    recording = replace(start.recording, capture=capture)
    start = replace(start, inputs=replace(start.inputs, recording=recording))
    assert load_of_scenario("reader:/dev/shm/board/big", start).clients


@pytest.mark.parametrize("name", ["reader:/big", "reader:/database", "writer:/", "writer"])
def test_a_load_on_the_disk_of_the_start_has_clients(name):
    assert load_of_scenario(name, a_start()).clients


def test_memory_is_not_predicted():
    assert "memory" in load_of_scenario("memory").unpredicted
    assert load_of_scenario("memory:16").clients == ()


@pytest.mark.parametrize("name", ["", "Reader", "reader:big", "writer:x", "idle:x", "scan"])
def test_another_name_is_refused(name):
    with pytest.raises(LoadError):
        load_of_scenario(name)


def test_the_names_are_those_of_tuning():
    for kind in KINDS:
        assert Scenario.parse(kind).text.partition(":")[0] == kind


def with_cat(sequential):
    start = a_start()
    capture = start.recording.capture
    host = replace_struct(capture.host, sequential_cat=sequential)
    recording = replace(start.recording, capture=replace_struct(capture, host=host))
    return replace(start, inputs=replace(start.inputs, recording=recording))


@pytest.mark.parametrize(("sequential", "size"), [(True, 128 * KIB), (False, 64 * KIB)])
def test_a_reader_of_a_file_is_the_cat_of_the_machine(sequential, size):
    start = with_cat(sequential)
    assert client_of("reader:/a", start) == Client(cached=True, sequential=sequential, size=size)
    assert load_of_scenario("reader:/a", start).notes == ()


def test_a_note_names_the_cat_that_is_assumed_where_that_is_unknown():
    (note,) = load_of_scenario("reader:/a", with_cat(None)).notes
    assert "GNU's is assumed" in note
    assert load_of_scenario("reader").notes == ()
