"""The forecast of recorded starts: two real captures, and what differs between two kernels."""

from pathlib import Path

import pytest
from capture_builder import capture_of, recording_of

from foreread.analyzer.forecast.defaults import ForecastError
from foreread.analyzer.forecast.predicted import forecast
from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.choice import predict_by
from foreread.analyzer.predict.disk.device_model import DeviceModelError
from foreread.emulator.linux.rules import NEWEST_READ, KernelError

ROOT = Path(__file__).parents[3]
NEW = ROOT / "examples/python-start/python-start.capture.tar.xz"  # Linux 6.18, x86_64
OLD = ROOT / "tests/foreread/data/arm64-madplay/arm64-madplay.capture.tar.xz"  # Linux 6.1, arm64
BLIND = ROOT / "tests/foreread/data/no-scheduler/no-scheduler.capture.tar.xz"
FOREIGN = ROOT / "tests/analyzer/ingest/data/ftrace/v7-none.trace.dat"
RENDERED = ROOT / "tests/analyzer/ingest/data/ftrace/trace.txt"


@pytest.fixture(scope="module")
def new():
    return load(NEW)


@pytest.fixture(scope="module")
def old():
    return load(OLD)


@pytest.fixture(scope="module")
def back(new):
    return forecast(new, "linux-6.12")


@pytest.fixture(scope="module")
def onward(old):
    return forecast(old, "linux-7.2", "arm64")


def assert_as_predicted(case, prediction):
    """The case has the requests, pages and seconds that predict gives for its kernel and window."""
    total = prediction.total
    at = total.read_ahead_kb.index(case.read_ahead_kb)
    assert (case.requests, case.pages, case.unused) == (total.f[at], total.pages[at], total.g[at])
    assert case.seconds == pytest.approx(total.seconds[at], rel=2e-3)


def test_the_same_kernel_changes_nothing(new):
    found = forecast(new, "linux-6.18")
    assert (found.change.direction, found.change.seconds, found.change.share) == ("same", 0, 0)
    assert (found.change.seconds_low, found.change.seconds_high) == (0, 0)
    assert (found.causes, found.changes, found.effective) == ([], 0, 0)
    assert found.then.read_ahead_kb == found.now.read_ahead_kb == 2560
    for name in ("requests", "pages", "seconds", "seconds_low", "seconds_high"):
        assert getattr(found.then, name) == getattr(found.now, name), name
    assert found.advice.keep_read_ahead_kb is None


def test_upwards_both_sides_are_what_predict_gives(onward, old):
    windows = [0, 12, 32, 63]
    for case, model in ((onward.now, "linux-6.1.0"), (onward.then, "linux-7.2")):
        assert case.model == model
        assert_as_predicted(case, predict_by(old, model, windows, "arm64"))
    assert (onward.now.read_ahead_kb, onward.then.read_ahead_kb) == (128, 252)
    assert onward.kept.read_ahead_kb == 128
    assert_as_predicted(onward.kept, predict_by(old, "linux-7.2", windows, "arm64"))


@pytest.mark.thorough
def test_downwards_the_default_window_shrinks_with_the_largest_request(back, new):
    loop, vda = (next(d for d in back.disks if d.name == name) for name in ("loop0", "vda"))
    assert (vda.now_read_ahead_kb, vda.then_read_ahead_kb) == (8192, 128)
    assert (vda.now_max_sectors_kb, vda.then_max_sectors_kb) == (4096, 1280)
    # A loop device keeps the window of a rotational disk that it had before it got its file.
    assert (loop.found_read_ahead_kb, loop.now_read_ahead_kb) == (2560, 2560)
    assert loop.then_read_ahead_kb == 128
    assert back.change.direction == "faster"
    assert back.change.certain
    assert back.then.pages < back.now.pages
    only_loop = predict_by(new, "linux-6.12", [0, 32, 640])
    assert back.then.seconds == pytest.approx(only_loop.total.seconds_at(32), rel=2e-3)


def test_the_difference_is_known_better_than_either_side(back):
    width = back.change.seconds_high - back.change.seconds_low
    assert width < back.now.seconds_high - back.now.seconds_low
    assert width < back.then.seconds_high - back.then.seconds_low
    assert back.change.seconds == pytest.approx(back.then.seconds - back.now.seconds)
    assert back.change.share == pytest.approx(back.change.seconds / back.now.seconds)


def test_the_changes_with_the_largest_part_come_first(back, onward):
    for found in (back, onward):
        parts = [abs(cause.seconds) for cause in found.causes]
        assert parts == sorted(parts, reverse=True)
        assert len(parts) == 3 <= found.effective <= found.changes
        assert all(cause.requests or cause.pages or cause.seconds for cause in found.causes)
    assert back.causes[0].what.startswith("window of loop0: 2,560 to 128 KiB")
    assert {cause.since for cause in onward.causes} == {"", "6.17"}
    assert not any(cause.undone for cause in onward.causes)
    assert [cause.undone for cause in back.causes] == [False, True, True]


def test_a_window_is_advised_that_is_faster_under_the_other_kernel(onward, old):
    advice = onward.advice
    assert advice.action == "set"
    assert advice.read_ahead_kb == onward.best.read_ahead_kb
    assert onward.best.seconds < onward.then.seconds
    assert onward.change.direction == "slower"
    assert advice.keep_read_ahead_kb == 128
    assert onward.kept.seconds <= onward.now.seconds * 1.01
    assert advice.remedy == f"foreread script {OLD} --read-ahead-kb {advice.read_ahead_kb} -o boot"


@pytest.mark.thorough
def test_windows_that_the_caller_knows_replace_the_defaults(new):
    found = forecast(new, "linux-6.12", None, 32, 32)
    assert {disk.now_read_ahead_kb for disk in found.disks} == {32}
    assert {disk.then_why for disk in found.disks} == {"as given"}
    assert (found.now.read_ahead_kb, found.then.read_ahead_kb) == (32, 32)
    assert not any(cause.what.startswith("window of") for cause in found.causes)
    assert found.advice.action == "leave"
    one = forecast(new, "linux-6.12", read_ahead_kb_then=32)
    assert (one.now.read_ahead_kb, one.then.read_ahead_kb) == (2560, 32)
    assert one.then.seconds == found.then.seconds


@pytest.mark.thorough
def test_a_window_that_is_not_the_default_is_noted_with_the_options_to_type(new):
    given = forecast(new, "linux-6.12", None, 64, 64)
    assert any("--read-ahead-kb-now 2560 --read-ahead-kb-then 2560" in n for n in given.notes)
    assert not any("--read-ahead-kb-now" in n for n in forecast(new, "linux-6.18").notes)


@pytest.mark.thorough
def test_an_unknown_kernel_has_the_newest_rules_and_a_doubt(new):
    newest = forecast(new, f"linux-{NEWEST_READ[0]}.{NEWEST_READ[1]}")
    unknown = forecast(new, "linux-99.0")
    assert unknown.then.requests == newest.then.requests
    assert unknown.then.seconds == newest.then.seconds
    assert any("Linux 99.0 is newer than the newest kernel" in doubt for doubt in unknown.doubts)
    assert not any("is newer than the newest kernel" in doubt for doubt in newest.doubts)


@pytest.mark.thorough
def test_an_unconfirmed_kernel_widens_the_band(new):
    confirmed, unconfirmed = (forecast(new, m, None, 32, 32) for m in ("linux-6.12", "linux-6.11"))
    widths = [f.change.seconds_high - f.change.seconds_low for f in (confirmed, unconfirmed)]
    assert widths[0] < widths[1]
    assert any("unconfirmed for Linux 6.11" in doubt for doubt in unconfirmed.doubts)


@pytest.mark.parametrize("model", ["linux-2.4", "linux-2.6.10"])
def test_a_kernel_without_rules_is_refused(new, model):
    with pytest.raises(KernelError) as caught:
        forecast(new, model)
    assert caught.value.remedy == "choose a model from linux-2.6.11 on"


@pytest.mark.parametrize("model", ["linux", "fixed", "6.12", "linux-", ""])
def test_a_model_that_names_no_kernel_is_refused(new, model):
    with pytest.raises(ForecastError) as caught:
        forecast(new, model)
    assert caught.value.remedy == "give its version: --model linux-7.2"


def test_without_seconds_there_are_requests_and_pages_and_the_reason():
    found = forecast(load(BLIND), "linux-5.10")
    assert found.change is found.best is found.now.seconds is found.then.seconds_low is None
    assert found.then.requests > found.now.requests
    assert found.then.pages < found.now.pages
    assert {cause.seconds for cause in found.causes} == {None}
    assert found.causes[0].requests == 143
    assert found.advice.action == "measure"
    assert "the cost of the disk is unknown" in found.advice.why
    assert found.advice.remedy.startswith("foreread calibrate -o loop1.toml /dev/loop1 && foreread")
    assert f"forecast {BLIND} --model linux-5.10 --device-model" in found.advice.remedy


def test_unusable_seconds_are_withdrawn(old, tmp_path):
    model = tmp_path / "disk.toml"
    model.write_text('kind = "fixed"\nlatency_us = 9000\nns_per_kib = 50000\n')
    found = forecast(old, "linux-6.12", model)
    assert found.change is None
    assert found.advice.action == "measure"
    assert "of the time is unexplained" in found.advice.why
    assert found.advice.remedy.endswith(
        f"foreread forecast {OLD} --model linux-6.12 --device-model arm64"
    )
    assert any("unexplained" in doubt for doubt in found.doubts)


def test_a_file_of_another_tool_needs_the_windows():
    recording = load(FOREIGN, "all")
    with pytest.raises(ForecastError, match="the disk's limits are unknown") as caught:
        forecast(recording, "linux-7.2")
    assert "--read-ahead-kb-now KB" in caught.value.remedy
    found = forecast(recording, "linux-7.2", None, 128, 4096)
    # The file counts up to the last page that was read of it: no window reads more.
    assert found.then.pages == found.now.pages
    assert found.then.requests < found.now.requests
    assert found.advice.remedy.startswith("foreread record ")
    with pytest.raises(ForecastError, match="does not contain the kernel") as caught:
        forecast(load(RENDERED), "linux-7.2")
    assert "foreread record" in caught.value.remedy


def test_a_recording_without_reads_is_refused():
    with pytest.raises(ForecastError, match="no page that was read") as caught:
        forecast(recording_of([], [], capture=capture_of()), "linux-7.2")
    assert caught.value.remedy.startswith("foreread record ")


def test_a_device_model_that_cannot_be_read_is_refused(new):
    with pytest.raises(DeviceModelError):
        forecast(new, "linux-7.2", __file__)
