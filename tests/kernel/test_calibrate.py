"""calibrate on loop devices of the running kernel, with the real fio and the real limiter."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from limited_disks import joined, limiting_group
from loop_image import read_only_disk

from foreread.analyzer.predict.disk.calibration import Found, Trial, explain
from foreread.boards.target import LocalTarget
from foreread.emulator.devices.paced import Paced
from foreread.tracer.calibrate.fio import CalibrateError, Job, find_place, measure
from foreread.tracer.calibrate.limits import limits_elsewhere

JOBS = [
    Job(4, sequential=False, depth=1, seconds=1.2),
    Job(4, sequential=True, depth=8, seconds=1.0),
    Job(64, sequential=False, depth=1, seconds=1.2),
    Job(64, sequential=True, depth=4, seconds=1.0),
]
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no disk was calibrated"),
    pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio: no disk was calibrated"),
]


@pytest.fixture
def loop(tmp_path) -> Iterator[str]:
    with read_only_disk(tmp_path) as device:
        yield device


def calibrated(place: str) -> Found:
    target = LocalTarget()
    where = find_place(target, place)
    seen = [measure(target, where, job) for job in JOBS]
    return explain(
        [Trial(s.job.kib, s.job.sequential, s.job.depth, s.done_ns, s.latency_ns) for s in seen]
    )


def test_the_limits_of_the_running_kernel_are_found(loop):
    """Limits that a loaded machine reaches, too."""
    with limiting_group(loop, requests=300, size=4_000_000) as group, joined(group):
        found = calibrated(f"/dev/{loop}")
    assert isinstance(found.device, Paced), found
    assert found.device.slice_ns == 100e6
    assert found.device.requests_per_second == pytest.approx(300, rel=0.1)
    assert found.device.bytes_per_second == pytest.approx(4_000_000, rel=0.1)


@pytest.mark.thorough
def test_a_disk_is_only_read(loop, tmp_path):
    written = Path(f"/sys/block/{loop}/stat").read_text().split()[6]
    for place in (f"/dev/{loop}", str(tmp_path / "mnt/large"), str(tmp_path / "mnt"), loop):
        target = LocalTarget()
        where = find_place(target, place)
        seen = measure(target, where, Job(16, sequential=False, depth=2, seconds=0.3))
        assert len(seen.done_ns) > 0
        assert (seen.latency_ns > 0).all()
    assert Path(f"/sys/block/{loop}/stat").read_text().split()[6] == written
    assert sorted(p.name for p in (tmp_path / "mnt").iterdir()) == ["large", "lost+found"]


@pytest.mark.thorough
def test_a_place_that_is_not_a_disk_is_reported(tmp_path):
    """A pipe is neither disk nor file."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CalibrateError, match="not a disk"):
        find_place(LocalTarget(), str(tmp_path / "pipe"))


@pytest.mark.thorough
def test_a_limit_that_does_not_hold_here_is_warned_of(loop):
    target = LocalTarget()
    with limiting_group(loop, requests=300, size=4_000_000) as group:
        assert str(group) in limiting(target, loop)
        with joined(group):
            assert str(group) not in limiting(target, loop)
    assert str(group) not in limiting(target, loop)


def limiting(target, disk):
    """Return the groups with a limit for a disk; other programs have some, too."""
    return [limit.folder for limit in limits_elsewhere(target, disk)]
