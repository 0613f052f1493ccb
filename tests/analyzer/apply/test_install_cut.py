"""The power is cut at each command of an installation: the board boots, and the next call repairs.

Every file that foreread pushes and every command that changes a file on the board is a step. At
one of them the board's shell is killed, and the board is out of reach from then on.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from chroot_board import ChrootBoard, plan
from requirements import busybox_chroot_missing

from analyzer.apply import install, uninstall
from boards.target import TargetError

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
OLD = replace(plan(512, 64), attempts=2)
NEW = plan(32)


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
    for path in sorted((board.root / "etc/init.d").glob("S??*")):
        if board.run(["test", "-x", f"/etc/init.d/{path.name}"]).status == 0:
            assert board.run([f"/etc/init.d/{path.name}", "start"]).status == 0, path
    window = board.get("sys/block/slow0/queue/read_ahead_kb").strip()
    if (board.root / "usr/sbin/foreread-apply").exists():
        assert board.run(["/usr/sbin/foreread-apply", "restore"]).status == 0
    return window


def trees(folder, *plans):
    """Return the files of a board after each installation."""
    board = ChrootBoard(folder)
    board.put("proc/sys/kernel/random/boot_id", "one\n")
    found = [board.tree()]
    for made in plans:
        install(board, made)
        boots(board)
        found.append(board.tree())
    return found


THOROUGH = pytest.mark.thorough
MOST_STEPS = 1000  # more than an installation has


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("upgrade", "then"),
    [
        (True, "install"),
        pytest.param(False, "install", marks=THOROUGH),
        pytest.param(True, "uninstall", marks=THOROUGH),
        pytest.param(False, "uninstall", marks=THOROUGH),
    ],
)
def test_wherever_the_power_is_cut_the_board_boots_and_is_repaired(upgrade, then, tmp_path):
    bare, *_, whole = trees(tmp_path / "clean", *([OLD] if upgrade else []), NEW)
    windows = []
    for cut in range(MOST_STEPS):
        board = Cut(tmp_path / str(cut))
        board.put("proc/sys/kernel/random/boot_id", "one\n")
        if upgrade:
            install(board, OLD)
            boots(board)
        board.left = cut
        try:
            install(board, NEW)
        except TargetError:
            board.left = NEVER
        else:
            break
        windows.append(boots(board))
        if then == "install":
            install(board, NEW)
            boots(board)
            assert board.tree() == whole, cut
        else:
            if board.run(["test", "-e", "/etc/foreread-apply.manifest"]).status == 0:
                uninstall(board)
            else:
                install(board, NEW)
                uninstall(board)
            assert board.tree() == bare, cut
    assert 12 < cut < MOST_STEPS - 1
    old = "64" if upgrade else "128"
    assert set(windows) == {old, "32"}
    assert windows == sorted(windows, key=lambda window: window != old), "from old to new, once"
