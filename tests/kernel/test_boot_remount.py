"""A boot script's mount options on a mounted image: set, reported, restored."""

from __future__ import annotations

import os
import subprocess

import pytest
from loop_image import loop_image

from foreread.analyzer.apply import ApplyError, ApplyPlan, Setting, write_scripts

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: nothing was remounted"),
]
# A namespace of its own, so that what is saved in /run is this script's alone.
ALONE = """
mount --make-rprivate / && mount -t tmpfs none /run || exit 9
for step; do "$script" "$step" && echo "$step: 0" || echo "$step: $?"; sh -c "$look"; done
"""


@pytest.fixture
def loop(tmp_path):
    with loop_image(tmp_path) as image:
        yield image


def run(loop, folder, *steps, settings=(("relatime,noatime,strictatime", "noatime"),)):
    plan = ApplyPlan(
        tuple(
            Setting(f"mount:{words}:{point[0] if point else loop.mountpoint}", value, "why")
            for words, value, *point in settings
        )
    )
    script = write_scripts(plan, folder)[0]
    subprocess.run(["shellcheck", script], check=True)
    look = f"grep ' {loop.mountpoint} ' /proc/self/mountinfo"
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", ALONE, "sh", *steps],
        env={**os.environ, "script": str(script), "look": look},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines(), done.stderr


def test_start_remounts_and_stop_puts_it_back(loop, tmp_path):
    settings = (("relatime,noatime,strictatime", "noatime"), ("commit=", "30"))
    said, received = run(loop, tmp_path / "out", "start", "stop", settings=settings)
    began, started, ended, stopped = said
    assert (began, ended) == ("start: 0", "stop: 0")
    assert "rw,noatime" in started and "commit=30" in started
    assert "rw,relatime" in stopped and "commit" not in stopped
    assert "relatime -> noatime" in received and "30 -> 5" in received


@pytest.mark.thorough
def test_status_and_dry_run_show_it(loop, tmp_path):
    said, _ = run(loop, tmp_path / "out", "dry-run", "status", "start", "status", "stop")
    text = "\n".join(said)
    assert "relatime -> noatime (always; why)" in text
    assert "dry-run: 0" in text and "status: 3" in text and "status: 0" in text
    assert "noatime as wanted (always; why; before: relatime)" in text


@pytest.mark.thorough
def test_unmounted_or_refused_remounts_are_reported_without_failing_the_boot(loop, tmp_path):
    settings = (("inode_readahead_blks=", "33"), ("commit=", "30", tmp_path))
    said, received = run(loop, tmp_path / "out", "start", settings=settings)
    assert said[0] == "start: 0"
    assert "asked for 33, the kernel has 32" in received
    assert f"mount:commit=:{tmp_path}: absent, or could not be put back: skipped" in received


@pytest.mark.thorough
def test_mount_option_that_is_not_listed_is_refused(loop, tmp_path):
    with pytest.raises(ApplyError, match=r"'mount:compress=:.*' is not a knob"):
        run(loop, tmp_path / "out", "start", settings=(("compress=", "1"),))
