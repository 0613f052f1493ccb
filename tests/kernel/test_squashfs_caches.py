"""A squashfs keeps metadata and fragments that drop_caches leaves: cold runs displace them."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib import resources
from pathlib import Path

import pytest
from loop_image import mounted
from shells import BUSYBOX, DASH, each_shell

from tracer.local import cold

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
    words = ["mksquashfs", folder / "tree", folder / "image", "-quiet", "-no-progress"]
    subprocess.run([str(word) for word in words], check=True, capture_output=True)
    shutil.rmtree(folder / "tree")
    with mounted(folder / "image", folder / "mounted"):
        yield folder / "mounted"


def in_python():
    cold.drop()


def in_shell(shell):
    text = (resources.files("tracer.remote") / "lib.sh").read_text()
    done = subprocess.run(
        [*shell, "-c", f"{text}\ndisplace_squashfs; drop_caches"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""


def sectors_of_a_start(top: Path) -> int:
    """Return how much the disk reads for the start's files."""
    disk = Path("/sys/dev/block", f"{os.major(top.stat().st_dev)}:{os.minor(top.stat().st_dev)}")
    before = int((disk / "stat").read_text().split()[2])
    for name in START:
        (top / name).read_bytes()
    return int((disk / "stat").read_text().split()[2]) - before


def test_dropping_the_caches_alone_leaves_what_squashfs_keeps(squashfs):
    """If a kernel drops these caches, too, foreread need not displace them there."""
    in_python()
    cold_sectors = sectors_of_a_start(squashfs)
    cold.drop_caches()
    assert sectors_of_a_start(squashfs) + ONE_BLOCK < cold_sectors


def test_each_cold_run_reads_the_same(squashfs):
    in_python()
    first = sectors_of_a_start(squashfs)
    in_python()
    assert abs(sectors_of_a_start(squashfs) - first) <= ONE_BLOCK < first


@pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
def test_each_cold_run_on_a_board_reads_the_same(squashfs, shell):
    in_shell(shell)
    first = sectors_of_a_start(squashfs)
    in_shell(shell)
    assert abs(sectors_of_a_start(squashfs) - first) <= ONE_BLOCK < first
