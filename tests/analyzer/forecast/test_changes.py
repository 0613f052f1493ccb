"""The changes between two kernels: all of them together make one kernel of the other."""

from collections import Counter
from dataclasses import fields, replace
from itertools import combinations
from pathlib import Path

import pytest
from msgspec import structs

from foreread.analyzer.forecast.changes import TOPICS, changes_between
from foreread.analyzer.forecast.defaults import NOW, THEN, ForecastError, disks_under
from foreread.analyzer.forecast.kernel import Kernel, Side
from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.inputs import inputs
from foreread.emulator.linux.rules import CHANGES, Rules, rules_for

ROOT = Path(__file__).parents[3]
NEW = ROOT / "examples/python-start/python-start.capture.tar.xz"  # Linux 6.18, x86_64, ext4
RECORDED = (6, 18, 44)
VERSIONS = ((2, 6, 11), (2, 6, 32), (4, 4), (5, 10), (5, 17), (6, 1), (6, 12), (6, 18), (7, 2))


@pytest.fixture(scope="module")
def recording():
    return load(NEW)


def under(recording, **changes):
    """The recording with other facts about its disks: ``queue``, ``fstype``, ``found``."""
    capture = recording.capture
    queue = changes.get("queue", {})
    devices = [
        structs.replace(
            one,
            queue={**one.queue, **queue},
            read_ahead_kb_before=changes.get("found", one.read_ahead_kb_before),
        )
        for one in capture.devices
    ]
    mounts = [
        structs.replace(one, fstype=changes.get("fstype", one.fstype))
        if one.fstype == "ext4"
        else one
        for one in capture.mounts
    ]
    return replace(recording, capture=structs.replace(capture, devices=devices, mounts=mounts))


def side(recording, version, given=None):
    taken = inputs(recording, version)
    disks = disks_under(taken, version, RECORDED, given, NOW)
    return taken, Side(version, Kernel(rules_for(version), taken.program.files, disks))


@pytest.fixture(scope="module")
def sides(recording):
    return {version: side(recording, version) for version in VERSIONS}


def test_every_rule_belongs_to_one_topic():
    counted = Counter(name for topic in TOPICS for name in topic.fields)
    assert set(counted) == {field.name for field in fields(Rules)}
    assert set(counted.values()) == {1}


@pytest.mark.parametrize("pair", list(combinations(VERSIONS, 2)), ids=str)
def test_all_changes_together_make_one_kernel_of_the_other(sides, pair):
    for now, then in (pair, pair[::-1]):
        taken, before = sides[now]
        after = sides[then][1]
        kernel = before.kernel
        changes = changes_between(taken, before, after)
        for change in changes:
            kernel = change.apply(kernel)
        assert kernel.reads_as(after.kernel)
        windows = [[d.read_ahead_kb for d in one.disks] for one in (kernel, after.kernel)]
        assert windows[0] == windows[1]
        of_rules = [change for change in changes if change.source]
        assert of_rules
        assert {change.undone for change in of_rules if change.since} == {then < now}


def test_a_change_names_the_kernel_and_the_source_that_have_it(sides):
    found = changes_between(sides[6, 12][0], sides[6, 12][1], sides[6, 18][1])
    code = next(change for change in found if "executable code begins" in change.what)
    assert code.since == "6.17"
    assert "do_sync_mmap_readahead" in code.source
    folios = next(change for change in found if change.what.startswith("files of ext4"))
    assert folios.since == "6.17"
    known = {".".join(map(str, change.since)) for change in CHANGES}
    assert {change.since for change in found if change.source} <= known | {""}


def test_a_rotational_disk_has_twice_its_largest_request_from_6_17_on(recording):
    changed = under(recording, queue={"rotational": "1"}, found=8192)
    old, new = (side(changed, version)[1].kernel.disks for version in ((6, 12), (6, 18)))
    by_name = {disk.name: disk for disk in new}
    assert (by_name["vda"].read_ahead_kb, by_name["vda"].max_sectors_kb) == (8192, 4096)
    assert by_name["loop0"].read_ahead_kb == 2560
    assert {(disk.read_ahead_kb, disk.max_sectors_kb) for disk in old} == {(128, 1280)}


def test_a_disk_that_is_not_rotational_keeps_128_kib_unless_it_was_made_otherwise(recording):
    still = under(recording, queue={"rotational": "0"}, found=128)
    assert {disk.read_ahead_kb for disk in side(still, (6, 18))[1].kernel.disks} == {128}
    made = under(recording, queue={"rotational": "0", "max_hw_sectors_kb": "1280"}, found=2560)
    made = under(made, queue={"max_sectors_kb": "1280"})
    assert {disk.read_ahead_kb for disk in side(made, (7, 2))[1].kernel.disks} == {2560}
    assert {disk.read_ahead_kb for disk in side(made, (6, 12))[1].kernel.disks} == {128}


def test_a_largest_request_that_somebody_set_is_kept(recording):
    changed = under(recording, queue={"max_sectors_kb": "512", "rotational": "1"})
    for version in ((6, 12), (6, 18), (7, 2)):
        disks = side(changed, version)[1].kernel.disks
        assert {disk.max_sectors_kb for disk in disks} == {512}
        assert {disk.read_ahead_kb for disk in disks} == {128 if version < (6, 17) else 1024}


def test_a_file_system_with_its_own_window_has_that(recording):
    disks = side(under(recording, fstype="btrfs"), (6, 12))[1].kernel.disks
    assert {disk.read_ahead_kb for disk in disks if disk.name == "loop0"} == {4096}
    squashfs = under(recording, fstype="squashfs")
    for version, kb in (((5, 17), 0), ((6, 1), 128)):
        disks = side(squashfs, version)[1].kernel.disks
        assert {disk.read_ahead_kb for disk in disks if disk.name == "loop0"} == {kb}


def test_an_unknown_default_asks_for_the_window(recording):
    taken = inputs(under(recording, fstype="fuse"), (6, 12))
    with pytest.raises(ForecastError, match=r"loop0 under Linux 6\.12 is unknown: fuse") as caught:
        disks_under(taken, (6, 12), RECORDED, None, THEN)
    assert caught.value.remedy.endswith("--read-ahead-kb-then KB")
    assert {d.read_ahead_kb for d in disks_under(taken, (6, 12), RECORDED, 64, THEN)} == {64}


@pytest.mark.parametrize("text", ["9" * 5000, "0", "", "-1", "²"])
@pytest.mark.parametrize("name", ["max_hw_sectors_kb", "max_sectors_kb", "optimal_io_size"])
def test_hostile_limits_of_a_disk_are_read_or_refused(recording, name, text):
    taken = inputs(under(recording, queue={name: text}), (6, 18))
    try:
        disks = disks_under(taken, (6, 18), RECORDED, None, NOW)
    except ForecastError as error:
        assert error.remedy
    else:
        assert all(0 < disk.window(4096) <= 1 << 20 for disk in disks)
        assert all(disk.max_sectors_kb != 0 for disk in disks)
