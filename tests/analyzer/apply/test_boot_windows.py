"""The boot script sets the window that counts for the recorded files, and says if it does not."""

from __future__ import annotations

import subprocess

import pytest

from foreread.analyzer.apply import ApplyPlan, Board, Disk, Setting, write_scripts
from foreread.boards import window

BY_UUID = "/sys/fs/btrfs/26c877ca-2d7d-47ef-ac87-622e60ee297d/bdi/read_ahead_kb"
BOARD = Board("armv7l", "6.1", "Some Board 3")


def mounted_plan(knob, disk=None, mounted="/"):
    setting = Setting(knob, "2048", "predicted best", disk, mounted=mounted)
    return ApplyPlan(
        (setting, Setting(setting.knob, "2048", "again", disk, "after", mounted)), BOARD
    )


def mountinfo(board, *lines):
    board.put("proc/self/mountinfo", "\n".join(f"{n} 1 {one}" for n, one in enumerate(lines, 20)))


ROOT_NFS = "0:50 / / rw,relatime shared:1 - nfs4 server:/x rw,vers=4.2"


def test_the_window_of_a_mounted_file_system_is_set_and_put_back(board):
    board.install(mounted_plan("window:/"))
    mountinfo(board, "0:2 / / rw - rootfs rootfs rw", ROOT_NFS, "0:6 / /dev rw - devtmpfs d rw")
    board.put("sys/class/bdi/0:50/read_ahead_kb", "128")
    board.start()
    assert board.get("sys/class/bdi/0:50/read_ahead_kb") == "2048"
    assert board.run("status").returncode == 0
    assert board.run("stop").returncode == 0
    assert board.get("sys/class/bdi/0:50/read_ahead_kb") == "128"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("0:51 / / rw - 9p host rw,cache=0x5", "9p-2"),
        ("0:51 / / rw - erofs /image ro", "erofs-4"),
        ("0:51 / / rw - fuse.squashfuse x rw", "0:51"),
        ("8:1 / / rw - fuseblk /dev/sda1 rw", "8:1-fuseblk"),
        ("8:1 / / rw - squashfs /dev/sda1 rw", "squashfs_8_1"),
    ],
)
def test_numbered_windows_are_found_by_the_shell_as_by_python(board, line, name):
    board.install(mounted_plan("window:/"))
    mountinfo(board, line)
    board.put(f"sys/class/bdi/{name}/read_ahead_kb", "128")
    board.start()
    assert board.get(f"sys/class/bdi/{name}/read_ahead_kb") == "2048"


@pytest.mark.parametrize(
    ("lines", "bdis"),
    [
        ((), ["0:50"]),
        (("0:51 / / rw - 9p a rw", "0:52 / /b rw - 9p b rw"), ["9p-1", "9p-2"]),
        ((ROOT_NFS,), []),
    ],
)
def test_a_window_that_cannot_be_found_is_logged_and_nothing_is_set(board, lines, bdis):
    board.install(mounted_plan("window:/"))
    mountinfo(board, *lines)
    for name in bdis:
        board.put(f"sys/class/bdi/{name}/read_ahead_kb", "128")
    board.start()
    assert "(the window of the files on /)" in board.get("dev/kmsg") + board.err
    assert {board.get(f"sys/class/bdi/{name}/read_ahead_kb") for name in bdis} <= {"128"}
    assert board.run("dry-run").returncode == 1


def test_btrfs_by_its_uuid_is_set_and_put_back(board):
    board.install(mounted_plan(BY_UUID))
    board.put(BY_UUID[1:], "4096")
    board.start()
    assert board.get(BY_UUID[1:]) == "2048"
    board.run("stop")
    assert board.get(BY_UUID[1:]) == "4096"


def test_a_mapped_disk_is_found_by_its_name_whatever_its_number(board):
    sectors = 4096
    for number, name in enumerate(("swap", "root")):
        board.put(f"sys/block/dm-{number}/size", str(sectors))
        board.put(f"sys/block/dm-{number}/dm/name", name)
        board.put(f"sys/block/dm-{number}/queue/read_ahead_kb", "128")
    disk = Disk("dm-0", sectors * 512, "root")
    board.install(mounted_plan("queue/read_ahead_kb", disk, mounted=""))
    board.start()
    assert board.get("sys/block/dm-0/queue/read_ahead_kb") == "128"
    assert board.get("sys/block/dm-1/queue/read_ahead_kb") == "2048"


def test_shellcheck_passes_on_a_script_that_looks_for_windows(tmp_path):
    plan = ApplyPlan((Setting("window:/", "64", "why"), Setting(BY_UUID, "32", "why", mounted="/")))
    script = write_scripts(plan, tmp_path)[0]
    done = subprocess.run(["shellcheck", script], capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == ""
    assert window.is_window("window:/")
    assert "\tfiles_on '/'\n\tknob always 'read_ahead_kb' '64'" in script.read_text()
