"""``foreread doctor --judge`` on the running kernel, on file systems of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from loop_image import WINDOW_KB, LoopImage, mounted
from machine_lock import nobody_records
from waiting import left_s, wait_until

import foreread
from foreread.analyzer.judge.programs import programs
from foreread.boards.judged import judged_kernels
from foreread.cli.main import main
from foreread.emulator.linux.rules import rules_for
from foreread.judging import judge as judging

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no kernel was judged"),
]
SIZES = {"ext4": "48M", "xfs": "320M"}


@contextmanager
def disk(folder, fstype):
    """Yield a mounted file system with room for the files."""
    image = folder / "image"
    subprocess.run(["truncate", "-s", SIZES[fstype], image], check=True)
    subprocess.run([f"mkfs.{fstype}", "-q", image], check=True)
    with mounted(image, folder / "mounted") as device:
        loop = LoopImage(folder / "mounted", device)
        with nobody_records():
            loop.knob.write_text(str(WINDOW_KB))
        yield loop


@pytest.fixture
def ext4(tmp_path):
    with disk(tmp_path, "ext4") as loop:
        yield loop


def left(loop):
    return list(loop.mountpoint.glob("foreread-judge-*"))


@pytest.mark.thorough
@pytest.mark.parametrize("fstype", SIZES)
def test_this_kernel_is_confirmed_and_all_is_put_back(tmp_path, fstype):
    if shutil.which(f"mkfs.{fstype}") is None:
        pytest.skip(f"no mkfs.{fstype}: readahead on it was not judged")
    with disk(tmp_path, fstype) as loop:
        found = foreread.judge(folder=loop.mountpoint, wait_s=left_s(), tell=print)
        assert found.confirmed, found.kernel.difference
        assert found.disk == loop.device
        assert found.kernel.file_system == fstype
        assert found.kernel.windows_kb == [0, 4, 16, 32, 128, 512]
        assert found.folios > 10_000
        assert found.requests > 4_000
        assert loop.restored_kb() == WINDOW_KB
        assert not left(loop)
    (stored,) = [one for one in judged_kernels() if one.file_system == fstype]
    assert stored == found.kernel
    assert stored.release == os.uname().release


@pytest.mark.thorough
def test_an_emulation_with_other_rules_is_found_out(ext4, monkeypatch, capsys):
    monkeypatch.setattr(judging, "rules_for", lambda version: rules_for((5, 10)))
    words = ["doctor", "--judge", "--folder", str(ext4.mountpoint), "--wait", str(left_s())]
    assert main(words) == 1
    said = capsys.readouterr()
    assert "first difference: program" in said.out, said.err
    assert "the emulation reads page" in said.out
    assert not left(ext4)


@pytest.mark.thorough
def test_a_killed_judgement_leaves_neither_files_nor_settings(ext4):
    words = [sys.executable, "-m", "foreread", "doctor", "--judge", "--folder", ext4.mountpoint]
    words += ["--wait", str(left_s())]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            assert any(b"cold" in line for line in process.stderr)
            assert left(ext4)
        finally:
            process.kill()
    wait_until(lambda: not left(ext4))
    wait_until(lambda: ext4.restored_kb() == WINDOW_KB)


def test_files_of_a_dead_judgement_are_removed_by_the_next_one(ext4, monkeypatch):
    monkeypatch.setattr(judging, "WINDOWS_KB", (16,))
    monkeypatch.setattr(judging, "programs", lambda page_size: programs(page_size)[::3])
    dead = ext4.mountpoint / "foreread-judge-0123456789abcdef"
    dead.mkdir()
    (dead / "0").write_bytes(bytes(5 << 20))
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    (dead / "owner").write_text(f"{boot} 1 1\n")  # a process with another start time
    found = foreread.judge(folder=ext4.mountpoint, wait_s=left_s())
    assert found.confirmed, found.kernel.difference
    assert (found.disk, found.kernel.file_system) == (ext4.device, "ext4")
    assert ext4.restored_kb() == WINDOW_KB
    assert not left(ext4)


@pytest.mark.thorough
def test_a_full_disk_is_an_error_and_leaves_nothing(ext4):
    (ext4.mountpoint / "large").write_bytes(bytes(30 << 20))
    with pytest.raises(foreread.ERRORS, match="cannot be written") as caught:
        foreread.judge(folder=ext4.mountpoint, wait_s=left_s())
    assert "--folder" in caught.value.remedy
    assert not left(ext4)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("folder", "said"),
    [("/nonexistent", "has no folder"), ("/proc", "in memory"), ("/dev/shm", "in memory")],
)
def test_places_that_cannot_be_judged_are_named(folder, said):
    with pytest.raises(foreread.ERRORS, match=said) as caught:
        foreread.judge(folder=folder)
    assert caught.value.remedy
