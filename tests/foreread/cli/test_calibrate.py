"""``foreread calibrate``: what it prints and writes. tests/kernel/test_calibrate.py measures."""

import numpy as np
import pytest

from foreread.analyzer.predict.disk.calibration import Trial, simulate
from foreread.analyzer.predict.disk.device_model import read_device_model
from foreread.boards.profile import load_profile
from foreread.cli.main import main
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.devices.paced import Paced
from foreread.machine import calibration as calibrating
from foreread.tracer.calibrate.fio import CalibrateError, Place, Seen
from foreread.tracer.calibrate.run import jobs

PROFILE = 'schema = 1\nname = "mine"\ntitle = "Mine"\nmeasured_here = true\n'
DISKS = '[[storage]]\nkind = "SD"\nname = "sda"\n[[storage]]\nkind = "eMMC"\nname = "sdb"\n'


@pytest.fixture
def disk(monkeypatch):
    """A disk of 1 ms a request and 50 µs a KiB, or what a test makes of it."""
    devices = [FixedCost(1e6, 50e3)]

    def seen(target, place, progress):
        found = []
        for row, job in enumerate(jobs()):
            progress(row, len(jobs()))
            until = np.array([job.seconds * 1e9])
            blank = Trial(job.kib, job.sequential, job.depth, until, np.zeros(1))
            trial = simulate(devices[0], blank)
            found.append(Seen(job, trial.done_ns, trial.latency_ns))
        return found

    place = Place("/dev/sdb1", 1 << 30, "sdb", "6.1.0", "fio-3.33")
    monkeypatch.setattr(calibrating, "find_place", lambda target, device: place)
    monkeypatch.setattr(calibrating, "measure_all", seen)
    return devices


def test_measurements_are_shown(disk, run):
    text = run("calibrate", "/dev/sdb1").out
    assert "one request at a time, 1,000 µs a request and 50.0 µs a KiB" in text
    assert "at random" in text


def test_a_device_model_is_written_that_predict_reads(disk, tmp_path, run_json):
    path = tmp_path / "disk.toml"
    document = run_json("calibrate", "/dev/sdb1", "-o", path)
    assert document["cost"]["model"] == "fixed"
    assert document["cost"]["calibration"]["tool"].startswith("fio-3.33")
    assert len(document["trials"]) == len(jobs())
    found = read_device_model(str(path))
    assert found.service_ns(8) == pytest.approx(1.2e6, rel=0.02)
    assert found.band > 0


def test_a_limiter_is_written_too(disk, tmp_path):
    disk[0] = Paced(1000, 5e6, FixedCost(1e5, 300))
    path = tmp_path / "disk.toml"
    assert main(["calibrate", "/dev/sdb1", "-o", str(path)]) == 0
    found = read_device_model(str(path))
    assert found.requests_per_second == pytest.approx(1000, rel=0.02)
    assert found.bytes_per_second == pytest.approx(5e6, rel=0.02)


def test_a_profile_gets_the_cost_of_its_disk(disk, tmp_path, run):
    path = tmp_path / "mine.toml"
    path.write_text(PROFILE + DISKS)
    assert main(["calibrate", "/dev/sdb1", "--profile", str(path)]) == 0
    first, second = load_profile(str(path)).storage
    assert not first.cost
    assert second.cost.calibration.device == "/dev/sdb1"
    assert "one request at a time" in run("boards", "show", path).out
    assert read_device_model(str(path)).latency_ns == pytest.approx(1e6, rel=0.02)


def test_a_profile_without_that_disk_gets_one(disk, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(PROFILE)
    assert main(["calibrate", "/dev/sdb1", "--profile", str(path)]) == 0
    (storage,) = load_profile(str(path)).storage
    assert storage.name == "sdb"


def test_a_disk_that_cannot_be_measured_is_one_line(monkeypatch, run):
    def refuse(*_):
        raise CalibrateError("no disk", "name one")

    monkeypatch.setattr(calibrating, "find_place", refuse)
    assert run("calibrate", "nothing", code=1).err == "foreread: no disk -- name one\n"
