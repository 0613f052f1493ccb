"""``foreread script``: what it writes, installs, removes, and says."""

import json
from contextlib import nullcontext
from pathlib import Path

import pytest
from chroot_board import ChrootBoard, plan
from requirements import busybox_chroot_missing

from foreread.boards.emulated.live import EmulatedTarget
from foreread.cli.commands import script
from foreread.machine.install import install
from foreread.tracer.doctor.disks import SeenDisk
from foreread.tracer.doctor.examine import Diagnosis
from foreread.tracer.install.install import check_installed

CAPTURE = str(Path(__file__).parents[3] / "examples/python-start/python-start.capture.tar.xz")
PUBLISHED = [CAPTURE, "--criterion", "published"]  # its disk is unknown, so it has no seconds


@pytest.fixture
def board(tmp_path, monkeypatch):
    if reason := busybox_chroot_missing():
        pytest.skip(reason)
    board = ChrootBoard(tmp_path / "board")
    monkeypatch.setattr(script, "open_target", lambda text, identity, tell: nullcontext(board))
    return board


@pytest.mark.parametrize(
    "words",
    [
        [],
        [CAPTURE],
        ["-o", "out"],
        [CAPTURE, "-o", "out", "--target", "ssh://board"],
        [CAPTURE, "-o", "out", "--init", "sysv"],
        [CAPTURE, "-o", "out", "--after-seconds", "3", "--attempts", "0"],
        [CAPTURE, "-o", "out", "--state-dir", "/data", "--attempts", "0"],
        ["--uninstall", "--attempts", "1"],
        ["--uninstall", "--init", "sysv"],
        ["--uninstall", "--read-ahead-kb", "4"],
        ["--uninstall", CAPTURE],
        ["--check", CAPTURE],
        ["--check", "-o", "out"],
    ],
)
def test_wrong_usage(words, tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    assert run("script", *words, code=2).err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_install_and_uninstall_say_what_they_did(board, tmp_path, run):
    out = str(tmp_path / "out")
    words = ["script", *PUBLISHED, "-o", out, "--install", "--target", "ssh://a b"]
    said = run(*words, code=1).err
    assert "cannot set every value on this board" in said
    assert "--force" in said
    said = run(*words, "--force").out
    assert "installed for busybox; active from the next boot" in said
    assert "/etc/init.d/S05foreread -> /usr/sbin/foreread-apply" in said
    assert "undo: foreread script --uninstall --target 'ssh://a b'" in said
    assert "removed: /usr/sbin/foreread-apply\n" in run("script", "--uninstall").out
    assert "nothing is installed" in run("script", "--uninstall", code=1).err


def test_where_udev_runs_the_rule_is_installed(board, tmp_path, run):
    board.run_udev()
    words = ["script", *PUBLISHED, "-o", str(tmp_path / "out"), "--install", "--force"]
    said = run(*words).out
    assert "installed for udev; active from the next boot:\n  /etc/udev/rules.d/99-zz-" in said
    assert "without a reboot: udevadm trigger --action=change --subsystem-match=block\n" in said
    assert "repeat this with --init busybox" in said
    said = run(*words, "--init", "busybox").out
    assert "installed for busybox" in said
    assert "without a reboot: /usr/sbin/foreread-apply start\n" in said
    assert "udev" not in {path.parent.name for path in (board.root / "etc").rglob("99-zz-*")}


@pytest.mark.thorough
def test_a_board_that_ends_with_the_command_is_refused(tmp_path, monkeypatch, run):
    brief = EmulatedTarget.__new__(EmulatedTarget)  # which boots none
    monkeypatch.setattr(script, "open_target", lambda text, identity, tell: nullcontext(brief))
    out = str(tmp_path / "out")
    said = run("script", *PUBLISHED, "-o", out, "--install", "--target", "arm64", code=1).err
    assert "foreread boards start arm64" in said


def test_json_of_both(board, tmp_path, run, run_json):
    words = ["script", *PUBLISHED, "-o", str(tmp_path / "out"), "--install", "--force", "--json"]
    document = json.loads(run(*words).out)
    assert document["schema"] == 1
    assert document["installed"]["init"] == "busybox"
    assert document["installed"]["fits"] is False
    assert "/usr/sbin/foreread-apply" in document["installed"]["paths"]
    assert "/usr/sbin/foreread-apply" in run_json("script", "--uninstall")["removed"]


def with_search(board):
    """Give the board the programs that look up what sets a window."""
    for applet in ("grep", "sed", "sort", "tr"):
        (board.root / "bin" / applet).symlink_to("busybox")


def test_check_reports_an_installed_script_and_what_sets_other_values(
    board, tmp_path, run, run_json
):
    with_search(board)
    install(board, plan(512))
    board.put("etc/rc.local", "#!/bin/sh\necho 64 >/sys/block/slow0/queue/read_ahead_kb\n")
    board.run(["/usr/sbin/foreread-apply", "start"])
    assert "read_ahead_kb: 512 as wanted (always; predicted best; " in run("script", "--check").out
    board.put("sys/block/slow0/queue/read_ahead_kb", "64\n")
    said = run("script", "--check", code=1).out
    assert "read_ahead_kb: 64 -> 512 (always; predicted best; before: 128)" in said
    assert "read_ahead_kb: /etc/rc.local:2 sets 64 KiB" in said
    document = run_json("script", "--check", code=1)
    assert (document["script"], document["holds"]) == ("/usr/sbin/foreread-apply", False)
    assert document["lines"] == said.splitlines()


def test_check_without_a_script_shows_the_windows(board, monkeypatch, run):
    with_search(board)
    disk = SeenDisk("slow0", "", 128, {}, ["slow0"])
    found = Diagnosis("6.1.0", "C3", "", [], [disk])
    monkeypatch.setattr(script, "examine", lambda target: found)
    board.put("etc/tmpfiles.d/a.conf", "w /sys/block/slow?/queue/read_ahead_kb - - - - 8\n")
    said = run("script", "--check", code=1).out
    assert "no boot script or udev rule of foreread is installed" in said
    assert "/sys/block/slow0/queue/read_ahead_kb: 128" in said
    assert "/etc/tmpfiles.d/a.conf:1 sets 8 KiB" in said


def test_install_notes_what_else_sets_the_window(board, tmp_path, capsys):
    with_search(board)
    rule = 'KERNEL=="slow0", ATTR{queue/read_ahead_kb}="128"'
    board.put("etc/udev/rules.d/60-x.rules", f"{rule}\n")
    notes = install(board, plan(512)).notes
    assert len(notes) == 1
    assert "/etc/udev/rules.d/60-x.rules:1 sets 128 KiB" in notes[0]


def test_a_board_without_grep_is_not_said_to_have_no_other_rule(board):
    install(board, plan(512))
    board.run(["/usr/sbin/foreread-apply", "start"])
    board.put("sys/block/slow0/queue/read_ahead_kb", "64\n")
    said = "\n".join(check_installed(board).lines)
    assert "was not looked up, for want of programs: grep sed" in said
    assert "no udev rule" not in said
