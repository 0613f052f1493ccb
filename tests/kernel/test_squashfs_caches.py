"""A squashfs keeps metadata and fragments that drop_caches leaves: cold runs displace them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest
from loop_image import mounted
from machine_lock import nobody_records
from shells import BUSYBOX, DASH, each_shell
from waiting import left_s

from foreread.tracer.local import cold

ROOT = Path(__file__).parents[2]
FOLDERS, FILES = 100, 40  # many blocks of metadata
# The block with the root directory is used all the time, and displaced once in 9 blocks: it may
# have just been, or not.
ONE_BLOCK = 16  # sectors
START = [f"folder{number}/file{number}" for number in (3, 17, 31)]

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: caches of squashfs were not checked"),
    pytest.mark.skipif(
        shutil.which("mksquashfs") is None,
        reason="mksquashfs is missing: caches of squashfs were not checked",
    ),
]


@pytest.fixture(scope="module")
def squashfs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("squashfs")
    for number in range(FOLDERS):
        (folder / f"tree/folder{number}").mkdir(parents=True)
        for file in range(FILES):
            (folder / f"tree/folder{number}/file{file}").write_bytes(os.urandom(2000))
    shutil.copy(shutil.which("busybox"), folder / "tree/busybox")
    words = ["mksquashfs", folder / "tree", folder / "image", "-quiet", "-no-progress"]
    subprocess.run([str(word) for word in words], check=True, capture_output=True)
    shutil.rmtree(folder / "tree")
    with mounted(folder / "image", folder / "mounted"):
        yield folder / "mounted"


def in_python():
    cold.drop()


def in_shell(shell):
    text = (resources.files("foreread.tracer.remote") / "lib.sh").read_text()
    done = subprocess.run(
        [*shell, "-c", f"{text}\ndisplace_squashfs; drop_caches"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""


def disk_of(top: Path) -> Path:
    """Return the folder of the disk in sysfs."""
    dev = top.stat().st_dev
    return Path("/sys/dev/block", f"{os.major(dev)}:{os.minor(dev)}")


def sectors_of_a_start(top: Path) -> int:
    """Return how much the disk reads for the start's files."""
    disk = disk_of(top)
    before = int((disk / "stat").read_text().split()[2])
    for name in START:
        (top / name).read_bytes()
    return int((disk / "stat").read_text().split()[2]) - before


@pytest.mark.thorough
def test_dropping_the_caches_alone_leaves_what_squashfs_keeps(squashfs):
    """If a kernel drops these caches, too, foreread need not displace them there."""
    with nobody_records():
        in_python()
        cold_sectors = sectors_of_a_start(squashfs)
        cold.drop_caches()
        assert sectors_of_a_start(squashfs) + ONE_BLOCK < cold_sectors


def test_each_cold_run_reads_the_same(squashfs):
    with nobody_records():
        in_python()
        first = sectors_of_a_start(squashfs)
        in_python()
        assert abs(sectors_of_a_start(squashfs) - first) <= ONE_BLOCK < first


@pytest.mark.thorough
@pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
def test_each_cold_run_on_a_board_reads_the_same(squashfs, shell):
    with nobody_records():
        in_shell(shell)
        first = sectors_of_a_start(squashfs)
        in_shell(shell)
        assert abs(sectors_of_a_start(squashfs) - first) <= ONE_BLOCK < first


def swept(top: Path, folder: Path, *options: object) -> dict:
    """Return the one point of a sweep over a start that reads a file."""
    sweep = folder / "sweep.json"
    words = ["sweep", *options, "--windows", "0", "--repeat", 1, "--allow-warm", "--wait", left_s()]
    command = [top / "busybox", "cat", top / START[0]]
    line = [sys.executable, "-m", "foreread", *words, "-o", sweep, "--", *command]
    subprocess.run(list(map(str, line)), check=True, capture_output=True, cwd=ROOT)
    (point,) = json.loads(sweep.read_text())["points"]
    return point


@pytest.mark.thorough
def test_what_makes_a_run_cold_is_not_counted_as_its_requests(squashfs, tmp_path):
    """30 other files are read before the start, which reads a program and a file."""
    (requests,) = swept(squashfs, tmp_path)["requests"]
    command = [squashfs / "busybox", "cat", squashfs / START[0]]
    disk = disk_of(squashfs)
    with nobody_records():
        in_python()
        before = int((disk / "stat").read_text().split()[0])
        subprocess.run(command, check=True, capture_output=True)
        read = int((disk / "stat").read_text().split()[0]) - before
    assert 0 < requests <= read + 8  # a block of metadata is two requests
