"""The torture compares the machine with itself, and leaves out what other programs change."""

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from waiting import wait_until

from foreread.boards.base.owner import owner_tag, start_time
from foreread.boards.mounts import MountPoint

TOKEN = "0123"
KNOB = Path("/proc/sys/vm/swappiness")
DEAD = "1-999999999"  # the first process did not start then


@pytest.fixture
def state(tmp_path, monkeypatch):
    """The torture's module, with the notes and jobs of forereads in a folder."""
    spec = spec_from_file_location("torture_state", Path(__file__).parent / "torture/state.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "NOTES", tmp_path)
    monkeypatch.setattr(module, "PLACES", (tmp_path,))
    return module


@pytest.fixture(params=[False, True], ids=["another's", "a case's"])
def process(request):
    """A process that a case of the torture has started, or not."""
    words = ["env", *([f"FOREREAD_TORTURE={TOKEN}"] if request.param else ())]
    words += [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        child.of_a_case = request.param
        yield child
        child.communicate(b"\n")


def value_of_the_knob(state):
    return dict(state._knobs((), TOKEN))[f"knob {KNOB}"]


def test_change_of_a_knob_counts_unless_another_foreread_has_journalled_it(
    state, process, tmp_path
):
    folder = tmp_path / f"{process.pid}-{start_time(process.pid)}"
    folder.mkdir()
    (folder / "journal").write_text(f"{KNOB}\told\tnew\n")
    expected = KNOB.read_text().strip() if process.of_a_case else "old"
    assert value_of_the_knob(state) == expected


def test_change_of_a_knob_counts_unless_another_s_job_has_journalled_it(state, process, tmp_path):
    job = tmp_path / f"foreread-{'a' * 16}"
    job.mkdir()
    (job / "journal").write_text(f"{KNOB}\told\tnew\n{KNOB}\told\tnewer\n")
    (job / "host").write_text(f"{process.pid}-{start_time(process.pid)}\n")
    expected = KNOB.read_text().strip() if process.of_a_case else "old"
    assert value_of_the_knob(state) == expected


def test_readahead_of_inode_tables_is_a_knob_that_others_may_have_journalled(state, monkeypatch):
    def shown(options):
        mount = MountPoint("8:1", "/", "/x", "rw", "ext4", "/dev/sda1", f"rw{options},data=ordered")
        monkeypatch.setattr(state, "read_mounts", lambda: [mount])
        return dict(state._mounts("/nowhere"))

    assert list(shown("").values()) == ["rw rw,data=ordered"]
    assert shown(",inode_readahead_blks=0") == shown("") != shown(",noload")


def test_knobs_of_other_loop_devices_are_left_out(state):
    assert not [key for key in dict(state._knobs((), TOKEN)) if "/loop" in key or "/bdi/7:" in key]


@pytest.mark.parametrize(
    ("key", "before", "after", "counts"),
    [
        ("knob /proc/sys/vm/swappiness", "60", "61", True),
        ("knob /sys/class/bdi/btrfs-1/read_ahead_kb", None, "4096", False),
        ("mount /sys/kernel/tracing tracefs tracefs /", None, "rw", True),
        ("another's mount /mnt ext4 /dev/loop9 /", None, "rw", False),
        ("another's mount /mnt ext4 /dev/loop9 /", "rw", None, False),
        ("another's mount / ext4 /dev/vda /", "rw,relatime", "rw,noatime", True),
        ("file /tmp/foreread-1-1-a", None, "file", True),
        ("file /tmp/foreread-1-1-a", "file", None, False),
    ],
)
def test_difference_counts_if_a_foreread_may_have_made_it(state, key, before, after, counts):
    dumps = [{key: value} if value else {} for value in (before, after)]
    assert bool(state.differences(*dumps, set())) == counts


def test_what_a_living_foreread_has_made_is_left_out(state):
    assert state._lives(f"tracefs foreread-{owner_tag()} /")
    assert not state._lives(f"tracefs foreread-{DEAD} /")


def test_job_lives_as_long_as_its_foreread(state, tmp_path):
    job = tmp_path / f"foreread-{'c' * 16}"
    job.mkdir()
    for tag in (owner_tag(), DEAD):
        (job / "host").write_text(f"{tag}\n")
        assert state._lives(job.name) == (tag != DEAD)


def test_job_lives_as_long_as_a_process_of_it(state):
    job = f"foreread-{'b' * 16}"
    with subprocess.Popen(["sh", "-c", "read -r line", job], stdin=subprocess.PIPE) as process:
        wait_until(lambda: state._lives(job))  # Popen returns before the kernel shows the words
        process.communicate()
    assert not state._lives(job)
