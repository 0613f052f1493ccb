"""Boots that hang after the boot script ran: two at most, then the board has its defaults.

The boards hang whenever the script has set its window, as settings would that a kernel cannot
bear. A reset ends the hang: what was not synced is lost, as after a power cut. Marks are on a disk
of their own, since the root of these boards is in memory.
"""

from __future__ import annotations

import pytest
from booted_board import KNOB, SCRIPT, BootedBoard, tell
from waiting import left_s, wait_until

from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.machine.install import install

# Up to eight boots, each with its own patience: the limit of most tests is that of one boot.
pytestmark = [pytest.mark.boards, pytest.mark.timeout(2400)]

MOUNT = """#!/bin/sh
mkdir -p /data
for disk in /sys/block/vd*; do
	[ "$(cat "$disk/serial")" != data ] || mount "/dev/${disk##*/}" /data
done
"""
# The kernel panics at once, or init waits forever and somebody cuts the power after 3 seconds.
ENDS = {
    "panic": "echo c >/proc/sysrq-trigger",
    "hang": "(sleep 3; echo b >/proc/sysrq-trigger) &\nwhile :; do sleep 1000; done",
}
HUNG = "board: this boot hangs"
LEFT = "the defaults stay; to try again: foreread-apply reset"


def hang(how):
    """Return a script that never ends with the window of the boot script."""
    condition = f'read -r kb <{KNOB}; [ "$kb" = 64 ] || exit 0'
    return f"#!/bin/sh\n{condition}\necho '{HUNG}' >/dev/console\n{ENDS[how]}\n"


def options(init):
    # panic=1: restart a second after a panic, as products do.
    return LiveOptions("arm64", init=init, swap_mib=0, data_mib=8, append="panic=1")


def hangs(target):
    """Return how many boots of the board hung so far."""
    return target.board.log.read_text(errors="replace").count(HUNG)


def check_that_the_third_boot_leaves_the_defaults(board, capsys, what):
    """Boot, and return once the board is up: in its third boot."""
    plan = board.plan(64, attempts=2, state_dir="/data")
    done = install(board.target, plan)
    assert done.notes == []
    before = hangs(board.target)
    board.target.reboot(left_s())  # one reboot, and three boots until it answers
    assert hangs(board.target) - before == 2
    assert board.kb == 128
    assert LEFT in board.sh("dmesg | grep foreread: || journalctl -b -u foreread.service || :")
    status = board.sh(f"{SCRIPT} status || :")
    assert "2 of 2 boots in a row did not reach boot-done" in status
    assert "to try again: foreread-apply reset" in status
    tell(capsys, f"arm64, {what}: 2 boots hung, the third left the defaults")


def check_that_reset_sets_it_again(board):
    """Without what made it hang, the board has its window at each boot."""
    board.sh(f"{SCRIPT} reset")
    for _ in range(3):
        board.boot()
        assert board.start().kb == 64
        wait_until(lambda: board.text("/data/foreread-apply.attempts").startswith("0 "))
    assert board.status(f"{SCRIPT} status") == 0


@pytest.mark.parametrize("how", ENDS)
def test_boot_that_hangs_is_not_repeated(how, capsys):
    with EmulatedTarget(options("busybox")) as target:
        board = BootedBoard(target)
        board.put("/etc/init.d/S03data", MOUNT)
        board.sh("sh /etc/init.d/S03data")
        board.put("/etc/init.d/S06hang", hang(how))
        check_that_the_third_boot_leaves_the_defaults(board, capsys, f"busybox init, {how}")
        board.boot()
        assert board.kb == 128, "nor does the fourth boot"
        board.sh("rm /etc/init.d/S06hang")
        check_that_reset_sets_it_again(board)


def test_boot_that_hangs_is_not_repeated_with_systemd(capsys):
    with EmulatedTarget(options("systemd")) as target:
        board = BootedBoard(target)
        for name, script, wanted, lines in (
            ("data", MOUNT, "sysinit", "DefaultDependencies=no\nBefore=foreread.service"),
            ("hang", hang("hang"), "multi-user", "Before=board-ssh.service"),
        ):
            board.put(f"/usr/bin/{name}", script)
            board.add_unit(name, f"/usr/bin/{name}", lines, wanted)
        board.sh("systemctl daemon-reload; systemctl start data.service")
        check_that_the_third_boot_leaves_the_defaults(board, capsys, "systemd")
        board.put("/usr/bin/hang", "#!/bin/sh\n")
        check_that_reset_sets_it_again(board)


def test_root_that_is_read_only_at_that_point_still_gets_its_window(capsys):
    """No boot can be counted there: the window is set, and a scheduler waits for boot-done."""
    with EmulatedTarget(LiveOptions("arm64", swap_mib=0)) as target:
        board = BootedBoard(target)
        board.put("/etc/init.d/S04readonly", "#!/bin/sh\nmount -o remount,ro /\n")
        board.put("/etc/init.d/S60writable", "#!/bin/sh\nmount -o remount,rw /\n")
        install(target, board.plan(64, attempts=2))
        board.boot()
        assert board.start().kb == 64
        assert "/etc/foreread-apply.attempts: cannot be written yet" in board.log
        counted = "cat /etc/foreread-apply.attempts || :"
        wait_until(lambda: board.sh(counted).startswith("0 "))
