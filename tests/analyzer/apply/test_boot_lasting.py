"""A window that something else sets after start: boot-done and status report it and its origin."""

from __future__ import annotations

import re
import subprocess

import pytest
from scratch_roots import below
from shells import BUSYBOX, DASH, each_shell

from foreread.analyzer.apply import ApplyPlan, Board, Disk, Setting, write_scripts

DISK = Disk("mmcblk0", 7_818_182_656, "SD8GB")
BOARD = Board("armv7l", "6.1", "Some Board 3")
ONE = ApplyPlan((Setting("queue/read_ahead_kb", "32", "predicted best", DISK),), BOARD)
TWO = ApplyPlan(
    (*ONE.settings, Setting("queue/read_ahead_kb", "64", "later", DISK, "after")), BOARD
)
WINDOW = "sys/block/mmcblk0/queue/read_ahead_kb"
SINCE = "at the end of the boot: not set at its start, or set by something else since"


@pytest.mark.parametrize(("plan", "after"), [(ONE, "32"), (TWO, "64")])
@pytest.mark.parametrize("other", ["512", "128"])
def test_boot_done_reports_a_window_that_was_set_since_start(board, plan, after, other):
    board.install(plan)
    board.start()
    board.put(WINDOW, other)
    board.run("boot-done")
    log = board.get("dev/kmsg")
    assert f"{board.root}/{WINDOW}: {other} -> 32, {SINCE}" in log
    assert board.window == after
    assert log.count(SINCE) == 1
    assert board.run("status").returncode == 0


def test_status_shows_a_window_that_something_else_has_set(board):
    board.install(ONE)
    board.start()
    board.put(WINDOW, "512")
    status = board.run("status")
    assert status.returncode == 1
    shown = f"{board.root}/{WINDOW}: 512 -> 32 (always; predicted best; before: 128)"
    assert shown in status.stdout.splitlines()


@pytest.mark.parametrize("plan", [ONE, TWO])
def test_a_boot_that_keeps_its_window_has_no_note(board, plan):
    board.install(plan)
    board.start()
    board.run("boot-done")
    board.run("boot-done")
    assert board.run("status").returncode == 0
    assert SINCE not in board.get("dev/kmsg") + board.err


def commands_of(rules, **names):
    """Return the commands that a rule runs, as udev replaces %k, %S, %p and $$ in them."""
    (line,) = [one for one in rules.read_text().splitlines() if 'SUBSYSTEM=="bdi"' in one]
    (command,) = re.findall(r"""RUN\+="/bin/sh -c '([^'"]*)'\"""", line)
    values = {"%k": names["kernel"], "%S": "/sys", "%p": names["path"], "$$": "$"}
    return re.sub(r"%[kSp]|\$\$", lambda found: values[found.group()], command)


def run_of_udev(command, root, shell):
    """Run the command of a rule below a root, without its pauses."""
    text = below(root, command.replace("sleep 1", "sleep 0"))
    subprocess.run([*shell, "-c", text], check=True, capture_output=True)


MOUNTS = [
    ("0:50 / / rw - nfs4 server:/x rw", "/", "0:50", "2048"),
    ("0:50 / /mnt/a rw - fuse.sshfs x rw", "/mnt/a", "0:50", "2048"),
    ("8:1 / /mnt/a rw - fuseblk /dev/sda1 rw", "/mnt/a", "8:1-fuseblk", "2048"),
    ("0:51 / /mnt/a rw - 9p host rw", "/mnt/a", "9p-2", "2048"),
    ("0:51 / /mnt/b rw - nfs4 server:/x rw", "/mnt/a", "0:51", "128"),
    ("0:52 / /mnt/a rw - nfs4 server:/x rw", "/mnt/a", "0:51", "128"),
]


@pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
@pytest.mark.parametrize(("line", "point", "kernel", "window"), MOUNTS)
def test_the_udev_rule_sets_the_window_of_a_new_mount(shell, line, point, kernel, window, tmp_path):
    write_scripts(ApplyPlan((Setting(f"window:{point}", "2048", "why"),)), tmp_path / "out")
    bdi = tmp_path / f"sys/class/bdi/{kernel}"
    bdi.mkdir(parents=True)
    (bdi / "read_ahead_kb").write_text("128\n")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(f"20 1 {line}\n")
    rules = tmp_path / "out/udev/99-zz-foreread.rules"
    command = commands_of(rules, kernel=kernel, path=f"/class/bdi/{kernel}")
    run_of_udev(command, tmp_path, shell)
    assert (bdi / "read_ahead_kb").read_text() == f"{window}\n"


def test_the_udev_rule_does_not_guess_between_two_numbered_windows(tmp_path):
    write_scripts(ApplyPlan((Setting("window:/a", "2048", "why"),)), tmp_path / "out")
    for name in ("9p-1", "9p-2"):
        (tmp_path / f"sys/class/bdi/{name}").mkdir(parents=True)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text("20 1 0:51 / /a rw - 9p host rw\n")
    rules = tmp_path / "out/udev/99-zz-foreread.rules"
    run_of_udev(commands_of(rules, kernel="9p-2", path="/class/bdi/9p-2"), tmp_path, DASH)
    assert not (tmp_path / "sys/class/bdi/9p-2/read_ahead_kb").exists()


def test_the_udev_rule_of_a_btrfs_waits_for_its_uuid(tmp_path):
    knob = "/sys/fs/btrfs/26c877ca-2d7d-47ef-ac87-622e60ee297d/bdi/read_ahead_kb"
    write_scripts(ApplyPlan((Setting(knob, "64", "why", mounted="/"),)), tmp_path / "out")
    place = tmp_path / knob.lstrip("/")
    rules = tmp_path / "out/udev/99-zz-foreread.rules"
    command = commands_of(rules, kernel="btrfs-1", path="/devices/virtual/bdi/btrfs-1")
    run_of_udev(command.replace("sleep 1", f"mkdir -p {place.parent}"), tmp_path, DASH)
    assert place.read_text() == "64\n"


@pytest.mark.parametrize(
    ("disk", "condition"),
    [
        (Disk("dm-3", 512, "vg-root"), 'KERNEL=="dm-*", ATTR{dm/name}=="vg-root"'),
        (Disk("sda", 512, "ST4000"), 'KERNEL=="sd*", ATTR{device/model}=="ST4000"'),
        (Disk("loop4", 512, "/a.img"), 'KERNEL=="loop*", ATTR{loop/backing_file}=="?a.img"'),
        (Disk("vda", 512), 'KERNEL=="vda", ATTR{size}=="1"'),
        (Disk("dm-3"), 'KERNEL=="dm-3", ATTR{queue'),
    ],
)
def test_a_disk_that_gets_another_number_is_known_by_its_model(disk, condition, tmp_path):
    plan = ApplyPlan((Setting("queue/read_ahead_kb", "32", "why", disk),))
    write_scripts(plan, tmp_path)
    assert condition in (tmp_path / "udev/99-zz-foreread.rules").read_text()
