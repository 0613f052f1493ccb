"""Two real captures of one start: the steps add up, and each is what another way says."""

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from foreread.analyzer.diff.compare import compare
from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.choice import predict_by
from foreread.emulator.devices.device import FixedCost

DATA = Path(__file__).parents[2] / "foreread/data/suite"
DISK = FixedCost(1_000_000, 50_000)
SLOW = FixedCost(2_000_000, 50_000)


@pytest.fixture(scope="module")
def new():
    return load(DATA / "arm64-madplay-1.capture.tar.xz")


@pytest.fixture(scope="module")
def again():
    return load(DATA / "arm64-madplay-2.capture.tar.xz")


@pytest.fixture(scope="module", params=["another kernel", "another window"])
def both(request, new, again):
    if request.param == "another window":
        return with_window(new, 4), again
    return load(DATA / "arm64-5.10-madplay-1.capture.tar.xz"), new


def with_window(recording, kib):
    """The recording as if the board had had another window."""
    capture = recording.capture
    devices = [structs.replace(one, read_ahead_kb_before=kib) for one in capture.devices]
    stacks = [structs.replace(one, read_ahead_kb=kib) for one in capture.stacks]
    return replace(recording, capture=structs.replace(capture, devices=devices, stacks=stacks))


def part(found, kind):
    return next((cause for cause in found.causes if cause.kind == kind), None)


def test_two_captures_of_one_build_hardly_differ(new, again):
    found = compare(new, again, "madplay", limit=0.03)
    assert abs(found.share) < 0.02  # one page of libc more was cached in one of them
    assert found.regressed is False
    assert part(found, "window") is part(found, "kernel") is None


@pytest.mark.thorough
def test_the_steps_add_up_to_the_difference(both):
    found = compare(*both, "madplay")
    seconds = sum(cause.seconds for cause in found.causes)
    assert seconds == pytest.approx(found.new.seconds - found.old.seconds, abs=1e-6)
    requests = sum(cause.requests or 0 for cause in found.causes)
    assert requests == found.new.requests - found.old.requests


def test_another_window_alone_is_the_whole_difference_and_as_predicted(new):
    found = compare(with_window(new, 4), new, "madplay")
    known = predict_by(new, windows=[0, 1, 32]).total.known_seconds
    window = part(found, "window")
    assert window.what == "window: 4 to 128 KiB (in force before)"
    assert window.seconds == pytest.approx(known[128] - known[4], rel=1e-6)
    assert found.share < -0.2
    assert found.files
    assert all(file.reasons == ["settings"] for file in found.files)


@pytest.mark.thorough
def test_another_disk_alone_is_the_whole_difference(new):
    found = compare(new, new, "madplay", devices=(DISK, SLOW), limit=0.03)
    disk = part(found, "disk")
    assert disk.seconds == pytest.approx(found.new.seconds - found.old.seconds)
    assert disk.seconds > 0.02
    assert found.regressed is True


@pytest.mark.thorough
def test_another_kernel_alone_is_the_whole_difference(new):
    older = replace(new, kernel="5.10.0")
    found = compare(older, new, "madplay")
    kernel = part(found, "kernel")
    assert kernel.what == "kernel: the readahead of Linux 5.10 to that of Linux 6.12"
    assert kernel.requests == found.new.requests - found.old.requests


@pytest.mark.thorough
def test_a_file_costs_what_the_start_saves_without_it(new):
    """All files together cost the waiting for them: the disk is the bottleneck of this start."""
    nothing = replace(new, accesses=new.accesses)
    found = compare(nothing, new, "madplay")
    assert found.files == []
    larger = compare(with_window(new, 0), new, "madplay")
    by_file = sum(file.seconds for file in larger.files if file.seconds is not None)
    assert by_file == pytest.approx(larger.new.seconds - larger.old.seconds, rel=0.25)
