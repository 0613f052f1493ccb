"""What a module may not leave is the run's own: other programs mount, record and tune meanwhile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from limited_disks import limiting_group
from loop_board import loop_device
from loop_image import loop_image
from machine_state import MARK, differences, state, watched
from waiting import left_s, wait_until

from foreread.boards.base.owner import start_time, tag_in
from foreread.tracer.backends import tracefs_mount
from foreread.tracer.local.journal import Journal
from foreread.tracer.local.journal_folder import DIRECTORY, acquire

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: nothing was left on the machine"),
]
ROOT = Path(__file__).parents[2]
SWAPPINESS = Path("/proc/sys/vm/swappiness")
GIVEN, OTHER = "37", "38"  # nobody else's values
# As a foreread that is killed: a trace instance stays, and so does a journal of a change.
RECORDER = """
import os, sys
from pathlib import Path
from foreread.boards.base.owner import owner_tag
from foreread.tracer.local.journal_folder import DIRECTORY
name = f"foreread-{owner_tag()}-test"
(Path(sys.argv[1]) / "instances" / name).mkdir()
(DIRECTORY / owner_tag()).mkdir()
print(name, flush=True)
input()
"""


@pytest.fixture
def tracefs():
    with tracefs_mount.mounted() as place:
        yield place


@pytest.fixture
def swappiness():
    found = SWAPPINESS.read_text()
    yield SWAPPINESS
    SWAPPINESS.write_text(found)


@pytest.fixture
def own(tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    with watched(folder) as run:
        yield run


@contextmanager
def recorder(tracefs, environment):
    """Yield the name of the instance of a process that lives, and how to end it.

    Other forereads remove what a dead one has left: not while the instance has an open file, and
    the lock of the journals is held.
    """
    words = [sys.executable, "-c", RECORDER, tracefs]
    lock = acquire(DIRECTORY, left_s())
    with subprocess.Popen(
        words, cwd=ROOT, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        name = process.stdout.readline().strip()
        instance = tracefs / "instances" / name
        journal = DIRECTORY / f"{process.pid}-{start_time(process.pid)}"
        try:
            with (instance / "tracing_on").open():
                yield name, journal, lambda: process.communicate("\n")
        finally:
            process.kill()
            process.wait()
            with suppress(OSError):  # another foreread was faster
                instance.rmdir()
            assert not instance.exists()
            shutil.rmtree(journal, ignore_errors=True)
            os.close(lock)


@pytest.mark.thorough
def test_mounts_devices_recorders_and_settings_of_others_are_not_findings(
    own, tracefs, swappiness, tmp_path
):
    before = state(own)
    with Journal(wait_s=left_s()) as journal:
        journal.set(str(swappiness), GIVEN)
        own.look()
    environment = {name: value for name, value in os.environ.items() if name != MARK}
    (tmp_path / "other").mkdir()
    with (
        loop_image(tmp_path / "other"),
        recorder(tracefs, environment) as (name, _, end),
    ):
        swappiness.write_text(OTHER)
        own.look()
        assert differences(own, before) == []
        end()
        assert (tracefs / "instances" / name).exists()
        assert differences(own, before) == []
    assert differences(own, before) == []
    assert own.changes[str(swappiness)].given == {GIVEN}


def test_what_the_run_leaves_is_found(own, tracefs, swappiness, tmp_path):
    with loop_device(own.folder / "kept") as kept:
        knob = Path("/sys/block", Path(kept).name, "queue/nr_requests")
        before, found = state(own), knob.read_text()
        with Journal(wait_s=left_s()) as journal:
            journal.set(str(swappiness), GIVEN)
            own.look()
        (own.folder / "other").mkdir()
        with (
            loop_image(own.folder / "other") as loop,
            limiting_group(Path(kept).name, 1000, 1 << 20) as group,
            recorder(tracefs, os.environ) as (name, journal, end),
        ):
            wait_until(lambda: own.is_own(tag_in(name)))
            end()
            knob.write_text("17")
            swappiness.write_text(GIVEN)
            left = differences(own, before)
        knob.write_text(found)
    assert {line.partition(":")[0] for line in left} == {
        f"mount {loop.mountpoint}",
        f"loop device /dev/{loop.device}",
        f"knob {knob}",
        f"knob {swappiness}",
        f"group {group}",
        f"trace instance {name}",
        f"journal {journal}",
    }
