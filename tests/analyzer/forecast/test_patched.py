"""Patches on recorded starts: the same counts and seconds as the kernel that has the rules."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest
from msgspec import structs

from foreread.analyzer.forecast.defaults import ForecastError
from foreread.analyzer.forecast.patch import Patch, read_patch, written
from foreread.analyzer.forecast.patch_document import PatchLeft
from foreread.analyzer.forecast.patched import forecast_patch, ranked
from foreread.analyzer.forecast.predicted import forecast
from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.choice import predict_by
from foreread.analyzer.predict.kib import WindowSizeError
from foreread.emulator.linux.rules import Rules, WithinMapping, rules_for

ROOT = Path(__file__).parents[3]
NEW = ROOT / "examples/python-start/python-start.capture.tar.xz"  # Linux 6.18, x86_64, ext4
OLD = ROOT / "tests/foreread/data/suite/arm64-madplay-1.capture.tar.xz"  # Linux 6.12, arm64
BLIND = ROOT / "tests/foreread/data/no-scheduler/no-scheduler.capture.tar.xz"
RULES = ROOT / "examples/rules"


def patch(base, **changed):
    return Patch(base, changed)


def as_in(base, version):
    """The patch that makes the rules of ``version`` of those of ``base``."""
    rules = rules_for(version)
    return Patch(base, {rule.name: getattr(rules, rule.name) for rule in fields(Rules)})


@pytest.fixture(scope="module")
def new():
    return load(NEW)


@pytest.fixture(scope="module")
def old():
    return load(OLD)


@pytest.fixture(scope="module")
def within(old):
    return forecast_patch(old, read_patch(RULES / "within-mapping.toml"))


def test_without_the_patch_it_is_what_predict_gives_for_the_kernel(within, old):
    total = predict_by(old, "linux-7.2", [0, 32]).total
    at = total.read_ahead_kb.index(128)
    before = within.before
    assert (before.model, before.read_ahead_kb) == ("linux-7.2", 128)
    assert (before.requests, before.pages) == (total.f[at], total.pages[at])
    assert before.seconds == pytest.approx(total.seconds[at], rel=2e-3)


@pytest.mark.thorough
def test_a_patch_with_the_rules_of_another_kernel_reads_as_that_kernel(new):
    # ext4 has large folios in neither: with one window, 6.11 differs from 6.6 in its rules alone.
    patched = forecast_patch(new, as_in((6, 6), (6, 11)), read_ahead_kb=128)
    older, kernels = (
        forecast(new, model, read_ahead_kb_now=128, read_ahead_kb_then=128)
        for model in ("linux-6.6", "linux-6.11")
    )
    for name in ("requests", "pages", "unused", "read_ahead_kb"):
        assert getattr(patched.after, name) == getattr(kernels.then, name), name
        assert getattr(patched.before, name) == getattr(older.then, name), name
    assert patched.before.pages != patched.after.pages
    assert patched.after.seconds == pytest.approx(kernels.then.seconds, rel=2e-3)


def test_pages_outside_the_mapping_are_not_read(within):
    assert within.after.pages < within.before.pages
    assert within.after.unused < within.before.unused
    change = within.change
    assert change.direction == "faster"
    assert change.seconds == pytest.approx(within.after.seconds - within.before.seconds)
    assert change.seconds_low < change.seconds < change.seconds_high
    assert (within.capture, within.command.split()[0], within.machine) == (
        *(str(OLD), "madplay", "aarch64"),
    )


def test_a_rule_without_effect_on_the_start_leaves_it_the_same(old):
    found = forecast_patch(old, patch((7, 2), huge_window=False))
    assert (found.change.direction, found.change.certain) == ("same", True)
    assert (found.change.seconds, found.change.seconds_low, found.change.seconds_high) == (0, 0, 0)
    assert found.after.requests == found.before.requests


@pytest.mark.parametrize("kib", [0, 64])
def test_both_sides_have_the_window_that_was_given(old, kib):
    found = forecast_patch(old, read_patch(RULES / "within-mapping.toml"), None, kib)
    assert found.before.read_ahead_kb == found.after.read_ahead_kb == kib
    assert found.window_why == "as given"
    assert (found.change.seconds == 0) == (kib == 0)


def test_a_given_disk_is_named(old):
    device = ROOT / "examples/device-models/fixed.toml"
    found = forecast_patch(old, read_patch(RULES / "within-mapping.toml"), device)
    own = forecast_patch(old, read_patch(RULES / "within-mapping.toml"))
    assert (found.device_model, own.device_model) == (str(device), None)
    assert found.before.pages == own.before.pages


def test_the_base_of_another_series_widens_the_band(old):
    bands = []
    for base in ((6, 12), (6, 1)):  # the seconds of both were compared with measured ones
        before = forecast_patch(old, patch(base, within_mapping=WithinMapping.ALL)).before
        bands.append((before.seconds_high - before.seconds_low) / before.seconds)
    assert bands[0] < bands[1]


def test_without_seconds_there_are_counts_the_reason_and_the_command():
    found = forecast_patch(load(BLIND), read_patch(RULES / "within-mapping.toml"))
    assert found.change is found.before.seconds is None
    assert found.after.pages < found.before.pages
    assert "the cost of the disk is unknown" in found.why
    words = found.remedy.split(" && ")[-1].split()
    assert words[:2] == ["foreread", "forecast"]
    assert words[words.index("--rules") + 1] == str(RULES / "within-mapping.toml")


def test_the_worst_loser_comes_first_and_those_without_seconds_last(within):
    def with_share(share, seconds):
        direction = "slower" if share > 0.01 else "faster" if share < -0.01 else "same"
        change = structs.replace(
            within.change, share=share, direction=direction, certain=abs(share) > 0.02
        )
        after = structs.replace(within.after, seconds=seconds)
        return structs.replace(within, change=change, after=after)

    none = structs.replace(within, change=None, before=structs.replace(within.before, seconds=None))
    starts = [with_share(0.0, 2.0), none, with_share(-0.05, 1.0), with_share(0.015, 4.0)]
    starts.append(with_share(0.3, 8.0))
    changed = patch((7, 2), within_mapping=WithinMapping.ALL)
    left = [PatchLeft(capture="x", why="it is damaged", remedy=None)]
    found = ranked(changed, starts, left)
    shares = [None if start.change is None else start.change.share for start in found.starts]
    assert shares == [0.3, 0.015, 0.0, -0.05, None]
    assert (found.slower, found.slower_certain, found.faster, found.faster_certain) == (2, 1, 1, 1)
    assert (found.same, found.unpredicted, found.left) == (1, 1, left)
    assert found.after.seconds == 15.0 + within.after.seconds
    assert found.before.pages == 5 * within.before.pages
    assert [(rule.rule, rule.base, rule.patched) for rule in found.rules] == [
        ("within_mapping", "NONE", "ALL")
    ]


def test_a_start_of_an_unknown_kernel_and_a_wrong_window_are_refused(old):
    rules = read_patch(RULES / "within-mapping.toml")
    with pytest.raises(ForecastError, match="does not contain the kernel"):
        forecast_patch(replace(old, kernel=None), rules)
    with pytest.raises(WindowSizeError):
        forecast_patch(old, rules, read_ahead_kb=3)


def test_every_rule_can_be_written():
    newest = rules_for((7, 2))
    assert all(written(getattr(newest, rule.name)) is not None for rule in fields(Rules))
