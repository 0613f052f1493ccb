"""The files of a judgement: the target's shell alone, and the choice of their place."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from shells import each_shell
from waiting import left_s

from foreread.boards.mounts import MountPoint
from foreread.tracer.remote.job import script
from foreread.tracer.remote.judged import _problem

SIZES = (1, 13_412, 262_144, 600_000)


@pytest.fixture(params=each_shell())
def job(request, tmp_path):
    """A job's folder with its script; calling it runs a verb."""
    folder = tmp_path / "foreread-0123456789abcdef"
    folder.mkdir()
    text = script(("lib.sh", "held.sh", "tracing.sh", "judged.sh"))
    (folder / "job.sh").write_text(f'{text}\nshift\n"$@"\n')
    (folder / "kept").write_text(f"{tmp_path}/disk/foreread-judge-1\n")
    (tmp_path / "disk/foreread-judge-1").mkdir(parents=True)

    def run(*words):
        command = [*request.param, folder / "job.sh", "-", *map(str, words)]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=left_s()
        )

    run.folder, run.disk = folder, tmp_path / "disk"
    return run


def test_files_have_their_sizes_and_inodes_and_are_not_compressible(job):
    done = job("fill", *SIZES)
    assert done.returncode == 0, done.stderr
    kept = job.disk / "foreread-judge-1"
    facts = [
        f"file {row} {(kept / str(row)).stat().st_ino} {size}" for row, size in enumerate(SIZES)
    ]
    assert done.stdout.splitlines() == facts
    assert sorted(path.name for path in kept.iterdir()) == ["0", "1", "2", "3"]
    assert len(set((kept / "2").read_bytes()[:4096])) > 200


def test_no_room_is_an_error_with_a_remedy(job):
    (job.folder / "kept").write_text("/proc/self\n")
    done = job("fill", 5)
    assert done.returncode == 1
    assert "error the files of the judgement cannot be written" in done.stdout
    assert "--folder DIR" in done.stdout


def test_folders_of_dead_keepers_are_removed_and_others_are_not(job):
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    started = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    owners = {
        "foreread-judge-alive": f"{boot} {os.getpid()} {started}",
        "foreread-judge-dead": f"{boot} {os.getpid()} {int(started) + 1}",
        "foreread-judge-before": f"another-boot {os.getpid()} {started}",
        "other": f"{boot} 1 1",
    }
    for name, owner in owners.items():
        (job.disk / name).mkdir()
        (job.disk / name / "owner").write_text(f"{owner}\n")
    assert job("remove_dead", job.disk).returncode == 0
    left = {path.name for path in job.disk.iterdir()}
    assert left == {"foreread-judge-1", "foreread-judge-alive", "other"}


@pytest.mark.parametrize(("kept", "stays"), [("foreread-judge-1", False), ("precious", True)])
def test_only_a_judgements_folder_is_removed_with_its_job(job, kept, stays):
    (job.disk / kept).mkdir(exist_ok=True)
    (job.folder / "kept").write_text(f"{job.disk}/{kept}\n")
    job("remove_kept", job.folder)
    assert (job.disk / kept).exists() == stays


class Disks:
    """A machine whose file systems are on these disks."""

    def __init__(self, *names):
        self.names = list(names)

    def disks_of_superblock(self, dev):
        return self.names


def mount(fstype="ext4", options="rw,relatime", super_options="rw"):
    return MountPoint("8:1", "/", "/data", options, fstype, "/dev/sda1", super_options)


@pytest.mark.parametrize(
    ("point", "disks", "said"),
    [
        (mount(), ("sda",), ""),
        (None, ("sda",), "in memory"),
        (mount("tmpfs"), (), "in memory"),
        (mount("squashfs", super_options="ro"), ("sda",), "read-only (squashfs)"),
        (mount(options="ro"), ("sda",), "read-only"),
        (mount(options="rw,noexec"), ("sda",), "noexec"),
        (mount("overlay"), ("sda",), "not on one disk (overlay)"),
        (mount("btrfs"), ("sda", "sdb"), "not on one disk"),
        (mount("nfs4"), (), "not on one disk (nfs4)"),
    ],
)
def test_places_that_cannot_be_judged_are_said(point, disks, said):
    found = _problem(point, Disks(*disks))
    assert said in found
    assert bool(found) == bool(said)
