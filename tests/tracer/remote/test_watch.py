"""What a watcher is given and what it says: nothing but what it should be."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shells import BUSYBOX, DASH, each_shell

from foreread.tracer.error import RecordError
from foreread.tracer.remote.bios import SUMS
from foreread.tracer.remote.job import Fact
from foreread.tracer.remote.watch import WatchOptions, parse_period, parse_verdict, resident_script

KNOB = "/sys/block/sda/queue/read_ahead_kb"
PLANS = {"read-random-small": [(KNOB, "16")], "read-sequential-large": [(KNOB, "1024")]}


def test_a_period():
    period = parse_period(Fact("period", "read-random-small 1 2 3 4 5 6"))
    assert period.fingerprint == "read-random-small"
    assert period.sums == dict(zip(SUMS, range(1, 7), strict=True))
    assert parse_period(Fact("period", "- 0 0 0 0 0 0")).fingerprint == ""


@pytest.mark.parametrize(
    "value",
    ["", "-", "- 1 2 3", "- 1 2 3 4 5 x", "- 1 2 3 4 5 -6", "read-random-huge 1 2 3 4 5 6"],
)
def test_no_period(value):
    with pytest.raises(RecordError):
        parse_period(Fact("period", value))


@given(st.text())
def test_anything_may_be_answered(value):
    try:
        assert parse_period(Fact("period", value)).sums
    except RecordError as error:
        assert error.remedy


@pytest.mark.parametrize(
    "options",
    [
        WatchOptions(disks=["sda;reboot"]),
        WatchOptions(disks=["../sda"]),
        WatchOptions(plans={"read-random-tiny": [(KNOB, "1")]}),
        WatchOptions(plans={"read-random-small": [("/etc/passwd", "1")]}),
        WatchOptions(plans={"read-random-small": [("/sys/../etc/passwd", "1")]}),
        WatchOptions(plans={"read-random-small": [("/proc/sys/kernel/sysrq", "1")]}),
        WatchOptions(plans={"read-random-small": [("/proc/sys/vm/drop_caches", "3")]}),
        WatchOptions(plans={"read-random-small": [("/proc/sys/vm/swappiness", "201")]}),
        WatchOptions(plans={"read-random-small": [("/sys/block/sda/queue/wbt_lat_usec", "0")]}),
        WatchOptions(plans={"read-random-small": [(KNOB, "1\nread-random-large")]}),
        WatchOptions(plans={"read-random-small": [(KNOB, "-n")]}),
        WatchOptions(plans={"read-random-small": [(KNOB, "$(reboot)")]}),
    ],
)
def test_invalid_plans_never_reach_a_shell(options):
    with pytest.raises(RecordError):
        resident_script(options)


@pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
def test_the_resident_script_is_one_for_any_posix_shell(shell, tmp_path):
    script = tmp_path / "foreread-fingerprint"
    script.write_text(resident_script(WatchOptions(plans=PLANS, disks=["sda"])))
    assert subprocess.run([*shell, "-n", script], check=False).returncode == 0
    used = subprocess.run([*shell, script], check=False, capture_output=True, text=True)
    assert used.returncode == 2
    assert "start|stop|status|run" in used.stderr


@pytest.mark.thorough
def test_the_resident_script_is_clean(tmp_path):
    script = tmp_path / "foreread-fingerprint"
    script.write_text(resident_script(WatchOptions(plans=PLANS, disks=["sda"])))
    done = subprocess.run(["shellcheck", script], check=False, capture_output=True, text=True)
    assert done.stdout == ""


def test_a_comparison_has_its_figures():
    verdict = parse_verdict(Fact("undone", "read-random-small latency 1000 2100 1100 4200"))
    assert (verdict.fingerprint, verdict.why) == ("read-random-small", "latency")
    assert verdict.throughput == (1000, 1100)
    assert verdict.latency_ms == (2.1, 4.2)
    unknown = parse_verdict(Fact("kept", "read-random-small - 1000 - 1100 -"))
    assert (unknown.why, unknown.latency_ms) == ("", (None, None))


@pytest.mark.parametrize(
    "value", ["", "a b 1 2 3 4", "read-random-small why 1 2 3 4", "read-random-small - 1 2 x 4"]
)
def test_no_comparison(value):
    with pytest.raises(RecordError):
        parse_verdict(Fact("undone", value))
