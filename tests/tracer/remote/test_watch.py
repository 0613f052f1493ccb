"""What a watcher is given and what it says: nothing but what it should be."""

from __future__ import annotations

import subprocess
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shells import BUSYBOX, DASH, each_shell

from tracer.error import RecordError
from tracer.remote.bios import SUMS
from tracer.remote.job import Fact
from tracer.remote.watch import WatchOptions, parse_period, resident_script

KNOB = "/sys/block/sda/queue/read_ahead_kb"
SHELLS = pytest.mark.parametrize("shell", each_shell())
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


def test_the_resident_script_is_clean(tmp_path):
    script = tmp_path / "foreread-fingerprint"
    script.write_text(resident_script(WatchOptions(plans=PLANS, disks=["sda"])))
    done = subprocess.run(["shellcheck", script], check=False, capture_output=True, text=True)
    assert done.stdout == ""


WORK = "read-random-small"
DECIDING = """
set -u
nl='
'
plans="$1" patience=$2 worse_percent=10
put_all_back() { echo back; }
apply_plan() { :; }
say() { echo "$1"; }
staying='' in_force='' refused='' stayed=0 busy_ms=$3
while read -r fingerprint period_bytes period_ms; do
    busy_ms=$((busy_ms + period_ms))
    decide
done
"""


def decided(shell, periods, patience=3, busy_ms=0):
    """Return what a watcher does in these periods (bytes done, ms busy), all of one workload.

    ``busy_ms`` is how long the disk had been busy before them.
    """
    text = (resources.files("tracer.remote") / "watch.sh").read_text()
    lines = "".join(f"{WORK} {done} {busy}\n" for done, busy in periods)
    done = subprocess.run(
        [
            *(*shell, "-c", f"tab='\t'\n{text}{DECIDING}", "sh"),
            *(f"{WORK}\t{KNOB}\t16", str(patience), str(busy_ms)),
        ],
        input=lines,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line != "back"]


APPLIED = f"applied {WORK}"
SAME, LESS, LOST, SEEN_TWICE = (1000, 1), (500, 1), (-(10**10), 1), (10**10, 1)


@SHELLS
@pytest.mark.parametrize(
    ("periods", "expected"),
    [
        ([SAME] * 9, [APPLIED]),
        ([SAME] * 3 + [LESS] * 2, [APPLIED]),
        ([SAME] * 3 + [LESS] * 3, [APPLIED, f"undone {WORK} 1000 500"]),
        ([SAME] * 3 + [LESS] * 3 + [SAME] * 9, [APPLIED, f"undone {WORK} 1000 500"]),
        ([SAME] * 6 + [LESS] * 9, [APPLIED]),  # judged once while it stays
        ([SAME] * 2, []),
        ([SAME, LOST, SAME], []),
        ([SAME, LOST, SAME, SAME] + [LESS] * 3, [APPLIED, f"undone {WORK} 1000 500"]),
        ([SAME] * 3 + [LOST, LESS, LOST, LESS, LESS], [APPLIED, f"undone {WORK} 1000 500"]),
        ([SAME] * 3 + [LOST] * 9, [APPLIED]),
        ([SAME, SEEN_TWICE, SAME] + [SAME] * 9, [APPLIED]),
        ([SAME, (0, 1), SAME] + [LESS] * 3, [APPLIED, f"undone {WORK} 1000 500"]),
        ([SAME] * 3 + [LESS, SEEN_TWICE, LOST, LESS], [APPLIED, f"undone {WORK} 1000 500"]),
        ([SAME] * 3 + [(0, 1), SAME, SAME], [APPLIED]),
        # A disk that does not say how long it is busy; one that was not for a while.
        ([(1000, 0)] * 3 + [LESS] * 9, [APPLIED]),
        ([SAME] * 3 + [(0, 0)] * 3 + [LESS], [APPLIED, f"undone {WORK} 1000 500"]),
    ],
)
def test_a_plan_is_judged_by_what_is_done_in_most_periods(shell, periods, expected):
    assert decided(shell, periods) == expected


@pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
def test_a_plan_waits_for_a_period_in_which_the_disk_says_how_long_it_was_busy(shell):
    """Its clock ticks every few ms: a plan in force without a rate would never be judged."""
    periods = [(1000, 0)] * 4 + [SAME] + [LESS] * 3
    assert decided(shell, periods[:4], busy_ms=5) == []
    assert decided(shell, periods, busy_ms=5) == [APPLIED, f"undone {WORK} 1000 500"]


@SHELLS
@pytest.mark.parametrize(
    "periods", [[SAME, SEEN_TWICE, SAME, SAME], [SAME, SAME, (0, 1), SAME, SAME]]
)
def test_a_single_bad_period_does_not_undo_a_plan(shell, periods):
    assert decided(shell, periods, patience=2) == [APPLIED]
