"""The power is cut at each command of an installation: the board boots, and the next call repairs.

Every file that foreread pushes and every command that changes a file on the board is a step. At
one of them the board's shell is killed, and the board is out of reach from then on.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from chroot_board import ChrootBoard, plan
from requirements import busybox_chroot_missing

from foreread.boards.target import TargetError
from foreread.machine.install import install
from foreread.tracer.install.install import uninstall
from foreread.tracer.install.manifest import MANIFEST

MISSING = busybox_chroot_missing()
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)
COUNT = "dev/steps"  # not a part of the compared tree
STEPS = """
taken=0
step() { [ "$taken" -lt %d ] || kill -9 $$; taken=$((taken + 1)); echo "$taken" >/%s; }
%s
"""
COMMANDS = ("cp", "ln", "mkdir", "mv", "rm", "rmdir", "sync")
NEVER = 1 << 30
SCRIPT_64 = replace(plan(512, 64), attempts=2), "busybox"
SCRIPT_32 = plan(32), "busybox"
RULE_64 = plan(64), "udev"
RULE_32 = plan(32), "udev"


class Cut(ChrootBoard):
    """A board whose power is cut after ``left`` steps."""

    left = NEVER

    def _spend(self, steps):
        self.left -= steps
        if self.left < 0:
            raise TargetError("the power was cut", "switch it on")

    def push(self, *words):
        self._spend(1)
        super().push(*words)

    def pull(self, *words):
        self._spend(0)
        super().pull(*words)

    def run(self, command, stdin=b"", timeout_s=None):
        self._spend(0)
        if stdin:
            own = "\n".join(f'{name}() {{ step; command {name} "$@"; }}' for name in COMMANDS)
            stdin = (STEPS % (self.left, COUNT, own)).encode() + stdin
        self.put(COUNT, "0")
        done = super().run(command, stdin, timeout_s)
        killed = done.status in (-9, 137)
        self._spend(self.left + 1 if killed else int(self.get(COUNT)))
        return done


def boots(board):
    """Boot as rcS does, and return the window that the application finds."""
    board.put("sys/block/slow0/queue/read_ahead_kb", "128\n")
    ChrootBoard.run(board, ["udevadm", "trigger"])
    for path in sorted((board.root / "etc/init.d").glob("S??*")):
        if board.run(["test", "-x", f"/etc/init.d/{path.name}"]).status == 0:
            assert board.run([f"/etc/init.d/{path.name}", "start"]).status == 0, path
    window = board.get("sys/block/slow0/queue/read_ahead_kb").strip()
    if (board.root / "usr/sbin/foreread-apply").exists():
        assert board.run(["/usr/sbin/foreread-apply", "restore"]).status == 0
    board.put("sys/block/slow0/queue/read_ahead_kb", "128\n")
    return window


def new_board(kind, folder):
    board = kind(folder)
    board.put("proc/sys/kernel/random/boot_id", "one\n")
    board.run_udev()
    board.directory("etc/udev/rules.d")
    return board


def trees(folder, *steps):
    """Return the files of a board after each installation."""
    board = new_board(ChrootBoard, folder)
    states = [board.tree()]
    for made, init in steps:
        install(board, made, init)
        boots(board)
        states.append(board.tree())
    return states


MOST_STEPS = 1000  # more than an installation has


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("old", "new", "then"),
    [
        (old, new, then)
        for old, new in (
            (SCRIPT_64, SCRIPT_32),
            (None, SCRIPT_32),
            (None, RULE_32),
            (SCRIPT_64, RULE_32),
            (RULE_64, SCRIPT_32),
        )
        for then in ("install", "uninstall")
    ],
)
def test_wherever_the_power_is_cut_the_board_boots_and_is_repaired(old, new, then, tmp_path):
    bare, *_, whole = trees(tmp_path / "clean", *([old] if old else []), new)
    windows = []
    for cut in range(MOST_STEPS):
        board = new_board(Cut, tmp_path / str(cut))
        if old:
            install(board, *old)
            boots(board)
        board.left = cut
        try:
            done = install(board, *new)
        except TargetError:
            board.left = NEVER
        else:
            break
        windows.append(boots(board))
        if then == "install":
            install(board, *new)
            boots(board)
            assert board.tree() == whole, cut
        else:
            if board.run(["test", "-e", "/etc/foreread-apply.manifest"]).status == 0:
                uninstall(board)
            else:
                install(board, *new)
                uninstall(board)
            assert board.tree() == bare, cut
    assert 4 * len([MANIFEST, *done.manifest.paths]) < cut < MOST_STEPS - 1
    before = "64" if old else "128"
    assert set(windows) == {before, "32"}
    assert windows == sorted(windows, key=lambda window: window != before), "from old to new, once"
