"""The hook that records one boot: installed, run, and removed, on a board in a chroot."""

from __future__ import annotations

import errno
import os
from contextlib import suppress

import pytest
from chroot_board import INITS, ROOT_MOUNT, board_with_init, plan
from hook_board import FILES, JOB, RECORDER, SCRIPT, TOKEN, WATCH_S, Board, files_of
from requirements import busybox_chroot_missing
from rings import further
from waiting import wait_until

from foreread.machine.install import install
from foreread.tracer.error import InstallError
from foreread.tracer.install.boot_hook import BoardHook, hook_layout

MISSING = busybox_chroot_missing()
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)


def hook_on(board, done=True):
    return BoardHook(board, SCRIPT, done=done)


def installed(board, done=True):
    hook = hook_on(board, done)
    hook.install(FILES, TOKEN, WATCH_S)
    return hook


def is_as(board, before):
    """Return whether only these files are left; while others are being removed, they are not."""
    with suppress(FileNotFoundError):
        return files_of(board) == before


def start(board, name="/etc/foreread-boot/hook", verb="start"):
    done = board.run([name, verb])
    assert done.status == 0, done
    return board.get("dev/kmsg")


@pytest.fixture
def board(tmp_path):
    return Board(tmp_path)


@pytest.mark.parametrize("done", further([True, False]))
@pytest.mark.parametrize("kind", INITS)
def test_removing_leaves_the_board_as_it_was(kind, done, tmp_path):
    board = board_with_init(kind, tmp_path, Board)
    before = board.tree()
    hook = installed(board, done)
    changed = {n for n, what in board.tree().items() if before.get(n) != what}
    assert any("boot-done" in name for name in changed) == (done and kind != "inittab")
    assert "etc/foreread-boot/armed" not in changed
    assert hook.remove() is True
    assert board.tree() == before
    assert hook.remove() is False


@pytest.mark.parametrize("kind", further(["busybox", "inittab", "systemd"]))
def test_power_cut_at_any_step_leaves_an_unarmed_hook_that_is_removed(kind, tmp_path):
    cuts = 0
    for at in range(1, 100):
        root = tmp_path / str(at)
        root.mkdir()
        board = board_with_init(kind, root, Board)
        before = files_of(board)
        board.fail_at = at
        hook = hook_on(board)
        hook.remove = lambda: None  # nobody can, after a power cut
        try:
            hook.install(FILES, TOKEN, WATCH_S)
        except InstallError:
            cuts += 1
        else:
            break
        board.fail_at = None
        board.boot(2)
        if (root / "etc/foreread-boot/hook").exists():
            assert start(board) == ""
        assert not (root / "recorded").exists()
        hook_on(board).remove()
        assert files_of(board) == before, f"cut at call {at}"
    assert cuts > 8


@pytest.mark.parametrize("kind", further(["inittab", "systemd"]))
def test_full_disk_at_any_step_is_reported_and_leaves_the_board_as_it_was(kind, tmp_path):
    refused = 0
    for at in range(1, 100):
        root = tmp_path / str(at)
        root.mkdir()
        board = board_with_init(kind, root, Board)
        before = board.tree()
        board.failure = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/etc/foreread-boot/x")
        board.fail_at = at
        try:
            installed(board)
        except InstallError as error:
            assert "No space left on device" in str(error)
            refused += 1
        else:
            break
        assert board.tree() == before, f"full at call {at}"
    assert refused > 8


def test_second_recording_takes_the_place_of_a_hook_that_waits_for_its_boot(board):
    before = files_of(board)
    first = installed(board)
    first.arm()
    second = hook_on(board)
    second.install(FILES, "fedcba9876543210", WATCH_S)
    assert "token=fedcba9876543210" in board.get("etc/foreread-boot/paths")
    board.boot(2)
    assert start(board) == ""
    assert not (board.root / "recorded").exists()
    second.arm()
    board.boot(3)
    assert start(board) == ""
    assert (board.root / "run/foreread-fedcba9876543210/pair").exists()
    start(board, verb="done")
    wait_until(lambda: is_as(board, before))


def test_one_boot_is_recorded_and_no_other(board):
    before = files_of(board)
    installed(board).arm()
    assert (board.root / "etc/foreread-boot/armed").read_text().split()[0] == "boot-1"
    board.boot(2)
    assert start(board, "/etc/init.d/S00foreread-boot") == ""
    assert not (board.root / "etc/foreread-boot/armed").exists(), "disarmed before it acted"
    assert board.get(f"{JOB}/marks/trace_marker") == "start\n"
    assert board.get(f"{JOB}/read_before") == "slow0 45 3874\n"
    start(board, "/etc/init.d/S99foreread-boot-done")
    wait_until(lambda: is_as(board, before))
    assert board.get("recorded") == "boot-done\n"
    board.boot(3)
    (board.root / "recorded").unlink()
    assert not (board.root / "etc/init.d/S00foreread-boot").exists()


def test_hook_of_a_power_cut_while_it_recorded_does_nothing(board):
    """The board lost its memory, and not its disk; the file that armed the hook is gone."""
    hook = installed(board)
    hook.arm()
    (board.root / "etc/foreread-boot/armed").unlink()
    board.boot(2)
    assert start(board) == ""
    start(board, "/etc/init.d/S99foreread-boot-done")
    assert not (board.root / JOB).exists()
    hook.remove()


def test_hook_that_cannot_be_disarmed_does_not_act(board):
    """As on a root that is read-only this early: here a folder has the file's name."""
    hook = installed(board)
    (board.root / "etc/foreread-boot/armed").mkdir()
    assert "cannot be removed: the disk is read-only this early" in start(board)
    assert not (board.root / JOB).exists()
    (board.root / "etc/foreread-boot/armed").rmdir()
    hook.remove()


def test_hook_that_is_run_without_a_reboot_does_not_act(board):
    hook = installed(board)
    hook.arm()
    assert "this boot is not recorded: the board has not restarted" in start(board)
    assert not (board.root / "etc/foreread-boot/armed").exists()
    hook.remove()


def test_board_without_memory_for_it_boots_on(board):
    hook = installed(board)
    hook.arm()
    board.boot(2)
    board.put("proc/mounts", "/dev/root / ext4 rw 0 0\n")
    assert "no writable folder in memory" in start(board)
    hook.remove()


@pytest.mark.parametrize(
    ("recorder", "watch_s", "said"),
    [
        (b"exit 1\n", WATCH_S, "the recorder did not start (over)"),
        (b"sleep 99\n", 1, "did not start (late)"),
    ],
)
def test_recorder_that_does_not_start_does_not_hold_the_boot(board, recorder, watch_s, said):
    hook = hook_on(board)
    hook.install(FILES | {"job.sh": recorder}, TOKEN, watch_s)
    hook.arm()
    board.boot(2)
    assert said in start(board)
    hook.remove()


SERVICES = "sys/fs/cgroup/system.slice/cgroup.freeze"
HELD = b"""\
[ "$2" = boot ] || exit 0
read -r held </sys/fs/cgroup/system.slice/cgroup.freeze
echo "$held" >/held
"""


@pytest.mark.parametrize(
    ("recorder", "watch_s"),
    [
        pytest.param(HELD + RECORDER, WATCH_S, id="begins"),
        pytest.param(HELD + b"exit 1\n", WATCH_S, id="fails"),
        pytest.param(HELD + b"sleep 99\n", 8, id="hangs", marks=pytest.mark.thorough),
    ],
)
def test_services_are_held_until_the_recorder_has_begun_or_failed(board, recorder, watch_s):
    board.put(SERVICES, "0\n")
    board.put("sys/fs/cgroup/cgroup.procs", "")
    hook = hook_on(board)
    hook.install(FILES | {"job.sh": recorder}, TOKEN, watch_s)
    hook.arm()
    board.boot(2)
    done = board.run(["sh", "-c", "INVOCATION_ID=1 exec /etc/foreread-boot/hook start"])
    assert done.status == 0
    assert board.get("held") == "1\n"
    assert board.get(SERVICES) == "0\n"
    hook.remove()


def test_services_are_not_held_if_the_hook_would_be_too(board):
    board.put(SERVICES, "0\n")
    board.directory("sys/fs/cgroup/cgroup.procs")  # cannot be written
    hook = hook_on(board)
    hook.install(FILES | {"job.sh": HELD + RECORDER}, TOKEN, WATCH_S)
    hook.arm()
    board.boot(2)
    board.run(["sh", "-c", "INVOCATION_ID=1 exec /etc/foreread-boot/hook start"])
    assert board.get("held") == "0\n"
    hook.remove()


def test_inittab_that_was_edited_since_keeps_its_edits(tmp_path):
    board = board_with_init("inittab", tmp_path, Board)
    text = board.get("etc/inittab")
    hook = installed(board)
    assert board.get("etc/inittab") == (
        "::sysinit:/etc/foreread-boot/hook start\n::sysinit:/etc/init.d/rcS\n"
        "::once:/etc/foreread-boot/hook done\n::respawn:/app\n"
    )
    board.put("etc/inittab", board.get("etc/inittab") + "::respawn:/added\n")
    hook.remove()
    assert board.get("etc/inittab") == text + "::respawn:/added\n"


def test_hook_comes_after_the_mounts_of_an_inittab():
    mounts = "::sysinit:/bin/mount -t proc proc /proc\n::sysinit:/bin/mkdir -p /run\n"
    text = hook_layout("busybox", False, mounts + "::sysinit:/bin/hostname b\n").inittab
    first, second, third = text.splitlines()[1:4]
    assert (first[-4:], second[-5:]) == ("/run", "start")
    assert third == "::sysinit:/bin/hostname b"


def test_inittab_without_a_place_for_it():
    with pytest.raises(match="no place to call the script from"):
        hook_layout("busybox", True, "::respawn:/app\n")


def test_read_only_board_is_refused(board):
    board.put("proc/self/mountinfo", ROOT_MOUNT.replace("rw", "ro"))
    before = board.tree()
    with pytest.raises(InstallError, match="/etc of the target is read-only"):
        installed(board)
    assert board.tree() == before


def test_board_with_the_boot_script_is_refused(board):
    install(board, plan())
    with pytest.raises(InstallError, match="has foreread's boot script") as error:
        installed(board)
    assert "foreread script --uninstall" in error.value.remedy


def test_what_cannot_be_removed_is_reported_with_the_command(board):
    hook = installed(board)
    hook.script = b"exit 1\n"
    with pytest.raises(InstallError, match="cannot be removed") as error:
        hook.remove()
    assert error.value.remedy.endswith("foreread doctor --restore --target TARGET")
