"""The profile for TuneD, applied by TuneD itself to a loop device of the running kernel."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from loop_board import loop_device

from foreread.analyzer.apply import ApplyPlan, Board, Disk, Setting, write_scripts
from foreread.analyzer.apply.plan import release_series

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.thorough,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("tuned") is None,
        reason="needs root and TuneD: no profile was applied",
    ),
]

HERE = Board(platform.machine(), release_series(platform.release()))
# In a mount namespace, with folders of its own: TuneD sets the profile, and ends.
ONCE = """
mount -t tmpfs tmpfs /etc/tuned
mkdir -p /run/tuned
mount -t tmpfs tmpfs /run/tuned
printf 'daemon = 0\\nsleep_interval = 1\\nupdate_interval = 10\\n' >/etc/tuned/tuned-main.conf
cp -R "$1/tuned/foreread" /etc/tuned/
exec tuned --no-dbus --profile foreread --log="$1/log"
"""


def apply(plan: ApplyPlan, folder: Path) -> str:
    """Write the profile, have TuneD apply it; return its log."""
    write_scripts(plan, folder)
    subprocess.run(["unshare", "-m", "sh", "-ec", ONCE, "sh", folder], check=True)
    log = (folder / "log").read_text()
    assert "static tuning from profile 'foreread' applied" in log
    assert "ERROR" not in log
    return log


def test_tuned_sets_the_lasting_values_in_their_order(tmp_path):
    with loop_device(tmp_path / "image") as name:
        queue = Path("/sys/block", name, "queue")
        other = "none" if "[none]" not in (queue / "scheduler").read_text() else "mq-deadline"
        disk = Disk(name)
        plan = ApplyPlan(
            (
                Setting("queue/read_ahead_kb", "2048", "boot", disk),
                Setting("queue/read_ahead_kb", "52", "later", disk, "after"),
                Setting("queue/scheduler", other, "why", disk),
            ),
            HERE,
        )
        apply(plan, tmp_path)
        assert (queue / "read_ahead_kb").read_text() == "52\n"
        assert f"[{other}]" in (queue / "scheduler").read_text()


@pytest.mark.parametrize("wrong", [{"kernel": "2.6"}, {"machine": "vax"}], ids=str)
def test_tuned_leaves_another_board_alone(wrong, tmp_path):
    with loop_device(tmp_path / "image") as name:
        knob = Path("/sys/block", name, "queue/read_ahead_kb")
        before = knob.read_text()
        setting = Setting("queue/read_ahead_kb", "52", "why", Disk(name))
        assert before != "52\n"
        apply(ApplyPlan((setting,), replace(HERE, **wrong)), tmp_path)
        assert knob.read_text() == before
