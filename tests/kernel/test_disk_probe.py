"""The probe of the disk that record makes, behind the running kernel's own limiter."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from limited_disks import limiting_group
from loop_image import read_only_disk
from rings import further
from scheduled import before_others
from waiting import left_s

from foreread.analyzer.predict.disk.device_model import DeviceModelError
from foreread.analyzer.predict.disk.probed import device_of_probe
from foreread.boards.device import Devices
from foreread.emulator.devices.paced import Paced
from foreread.recording.steps import recorded as made
from foreread.tracer.backends.tracefs import TracefsBackend
from foreread.tracer.formats import capture as capture_files
from foreread.tracer.local.disk import computing
from foreread.tracer.local.disk.probe import ProbeFailed, probe_disk
from foreread.tracer.local.record import run_here
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no disk was probed"),
]
ENOUGH = "count=16000"  # 8 MB: more than the cold programs themselves are read from their disk
LIMITS = ((300, 4_000_000), (1000, 40_000_000), (2000, 10_000_000))
ATTEMPTS = 3  # a busy machine does not reach the limits each time


@pytest.fixture
def loop(tmp_path) -> Iterator[str]:
    with read_only_disk(tmp_path) as device:
        yield device


def recorded(tmp_path, script, name):
    """Record a shell script and return the capture as read from its directory."""
    run = RunOptions(["sh", "-c", script], allow_warm=True)
    output = tmp_path / name
    with before_others():
        made(run_here(RecordOptions(run, wait_s=left_s()), TracefsBackend(), output))
    return capture_files.read(output)[0]


@pytest.mark.parametrize(("requests", "size"), further(LIMITS, [LIMITS[0]]))
def test_the_probe_finds_the_limits_of_the_group_that_the_command_joined(
    loop, tmp_path, requests, size
):
    with limiting_group(loop, requests, size) as group:
        script = f"echo $$ >{group}/cgroup.procs; dd if={tmp_path}/mnt/large of=/dev/null {ENOUGH}"
        device = None
        for attempt in range(ATTEMPTS):
            disk = recorded(tmp_path, script, f"capture-{attempt}").disk
            assert disk is not None
            assert disk.name == loop
            assert disk.group.endswith(group.name)
            assert str(os.getpid()) not in (group / "cgroup.procs").read_text().split()
            with suppress(DeviceModelError):  # it says that the machine was busy
                device = device_of_probe(disk).device
            if isinstance(device, Paced) and device.requests_per_second < 1.05 * requests:
                break
    assert isinstance(device, Paced), device
    assert device.slice_ns == 100e6
    assert device.requests_per_second == pytest.approx(requests, rel=0.05)
    assert device.bytes_per_second == pytest.approx(size, rel=0.05)


@pytest.mark.thorough
def test_a_group_that_is_gone_gives_an_error_that_says_so(loop):
    devices = Devices()
    with pytest.raises(ProbeFailed, match="is gone"):
        probe_disk(devices, loop, [(0, 8)], [], "/foreread-test-no-such-group")


@pytest.mark.thorough
def test_the_disk_is_only_read(loop, tmp_path, monkeypatch):
    monkeypatch.setattr(computing, "_MOST_OTHERS", 1.0)  # the machine may be busy
    monkeypatch.setattr(computing, "_LONGEST_NS", 10**10)
    written = Path(f"/sys/block/{loop}/stat").read_text().split()[6]
    disk = recorded(tmp_path, f"dd if={tmp_path}/mnt/large of=/dev/null {ENOUGH}", "capture").disk
    assert disk is not None
    assert disk.group == ""
    assert disk.requests > 100
    assert disk.computing is not None
    assert len(disk.computing.rounds) >= computing.FEWEST_ROUNDS
    assert Path(f"/sys/block/{loop}/stat").read_text().split()[6] == written
