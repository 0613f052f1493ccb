"""Temporary folders of dead processes are found by name, and removed; others are kept."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from waiting import wait_until

from foreread.boards.base import scratch
from foreread.boards.base.owner import is_left, owner_tag, tag_in


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("foreread-12-345", "12-345"),
        ("foreread-12-345-abc_9", "12-345"),
        ("foreread-ssh-12-345-x", "12-345"),
        ("foreread-0123456789abcdef", None),  # a job on this machine as a target
        ("foreread-ssh-x", None),
        ("foreread-12-345/..", None),
        ("other-12-345", None),
    ],
)
def test_names_tell_their_owner(name, tag):
    assert tag_in(name) == tag


def test_only_folders_of_dead_owners_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(scratch, "_ALWAYS", ())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dead = f"{os.getpid()}-1"
    (tmp_path / f"foreread-{dead}-a/sub").mkdir(parents=True)
    (tmp_path / f"foreread-sys-{dead}-b").touch()
    (tmp_path / f"foreread-{dead}-link").symlink_to(tmp_path / "kept")
    (tmp_path / "kept").mkdir()
    (tmp_path / "foreread-0123456789abcdef").mkdir()
    with scratch.scratch_folder("load") as living:
        assert owner_tag() in living
        assert not is_left(living)
        removed = scratch.remove_leftovers()
        assert len(removed) == 3
        left = sorted(path.name for path in tmp_path.iterdir())
        assert left == sorted(["kept", "foreread-0123456789abcdef", Path(living).name])


def test_a_signal_just_after_the_folder_was_made_leaves_none(tmp_path, monkeypatch):
    def ended(*args, **kwargs):
        made(*args, **kwargs)
        raise SystemExit("stopped by SIGTERM")

    made = tempfile.mkdtemp
    monkeypatch.setattr(tempfile, "mkdtemp", ended)
    with pytest.raises(SystemExit), scratch.scratch_folder("load", tmp_path):
        pass
    assert not list(tmp_path.iterdir())


KILLED = """
import os, signal
from pathlib import Path
from foreread.boards.base.scratch import scratch_folder
with scratch_folder("load") as folder:
    Path(folder, "unpacked").touch()
    print(folder, flush=True)
    os.killpg(0, signal.SIGKILL)
"""


def test_the_folder_of_a_killed_process_group_goes_at_once(tmp_path):
    killed = subprocess.run(
        [sys.executable, "-c", KILLED],
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        start_new_session=True,
    )
    folder = Path(killed.stdout.strip())
    assert folder.parent == tmp_path
    wait_until(lambda: not folder.exists())
