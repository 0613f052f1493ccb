"""The udev rule, installed where udev runs and the rule is enough, on a board in a chroot."""

from __future__ import annotations

from dataclasses import replace

import pytest
from chroot_board import ChrootBoard, board_with_init, plan
from requirements import busybox_chroot_missing
from rings import further

from foreread.analyzer.apply import Board, Prefetch, Setting
from foreread.machine.install import install
from foreread.tracer.error import InstallError
from foreread.tracer.formats.boot_files import RULE_PLACE
from foreread.tracer.install.install import check_installed, uninstall
from foreread.tracer.install.manifest import MANIFEST

MISSING = busybox_chroot_missing()
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)
WINDOW = "sys/block/slow0/queue/read_ahead_kb"
KNOB = f"/{WINDOW}"


@pytest.fixture
def board(tmp_path):
    board = ChrootBoard(tmp_path)
    board.run_udev()
    return board


def trigger(board):
    """Let the rule act, as the line that the installation prints does."""
    assert board.run(["udevadm", "trigger", "--action=change"]).status == 0
    return board.get(WINDOW).strip()


@pytest.mark.parametrize("kind", further(["systemd", "busybox", "procd"]))
def test_the_rule_is_installed_and_leaves_nothing(kind, tmp_path):
    board = board_with_init(kind, tmp_path)
    board.run_udev()
    before = board.tree()
    done = install(board, replace(plan(512), attempts=2))
    assert (done.manifest.init, done.manifest.script) == ("udev", "")
    assert set(done.manifest.files) == {RULE_PLACE}
    assert done.manifest.windows == {KNOB: ("128", "512")}
    assert done.fits
    assert any("128 -> 512" in line for line in done.would_do)
    assert any(f"--init {kind}" in note for note in done.notes)
    assert board.get("dev/udevadm") == "control --reload\n"
    assert trigger(board) == "512"
    removed = uninstall(board)
    assert removed.said == [f"foreread: {KNOB}: 512 -> 128"]
    assert {RULE_PLACE, MANIFEST} <= set(removed.paths)
    assert board.get("dev/udevadm").splitlines()[-1] == "control --reload"
    assert board.tree() == before


def test_the_script_is_installed_if_its_init_system_is_given(board):
    done = install(board, plan(), "busybox")
    assert (done.manifest.init, done.manifest.windows) == ("busybox", {})
    assert not any("--init" in note for note in done.notes)


DISK = plan().settings[0].disk
NOT_ENOUGH = {
    "phases": plan(512, 64),
    "prefetch": plan(prefetch=Prefetch(b"foreread-prefetch 1\n0 4096 /app\n", b"#!/bin/sh\n")),
    "knob": replace(plan(), settings=(Setting("queue/nr_requests", "64", "tested", DISK),)),
}


@pytest.mark.parametrize("made", further(NOT_ENOUGH))
def test_the_script_is_installed_where_a_rule_is_not_enough(board, made):
    board.put("sys/block/slow0/queue/nr_requests", "128\n")
    before = board.tree()
    with pytest.raises(match="needs the script") as error:
        install(board, NOT_ENOUGH[made], "udev")
    assert "--init udev" in error.value.remedy
    assert board.tree() == before
    assert install(board, NOT_ENOUGH[made]).manifest.init == "busybox"


def test_the_rule_can_be_installed_where_udev_does_not_run(tmp_path):
    board = ChrootBoard(tmp_path, "/sbin/runit-init")
    before = board.tree()
    done = install(board, plan(), "udev")
    assert done.manifest.program == RULE_PLACE
    uninstall(board)
    assert board.tree() == before


def test_another_board_gets_no_rule(board):
    before = board.tree()
    other = replace(plan(), board=Board("aarch64", "6.1", "another model"))
    with pytest.raises(InstallError, match="made for model 'another model'"):
        install(board, other)
    assert board.tree() == before
    assert not install(board, other, force=True).fits


def test_a_rule_without_its_disk_has_no_window(board):
    board.put("sys/block/slow0/size", "8\n")
    assert install(board, plan(), force=True).manifest.windows == {}
    checked = check_installed(board)
    assert not checked.holds
    assert checked.lines == ["no disk of the udev rule was there when it was installed"]
    assert uninstall(board).said == []


def test_a_window_that_something_else_set_since_is_left(board):
    install(board, plan())
    trigger(board)
    board.put(WINDOW, "64\n")
    assert uninstall(board).said == [
        f"foreread: {KNOB}: is 64, not 512 as the udev rule sets: left as it is"
    ]
    assert board.get(WINDOW) == "64\n"


@pytest.mark.parametrize("kept", ["64", None])
def test_check_compares_the_window_with_the_rule(board, kept):
    install(board, plan())
    assert not check_installed(board).holds
    trigger(board)
    checked = check_installed(board)
    assert (checked.program, checked.holds) == (RULE_PLACE, True)
    assert checked.lines == [f"{KNOB}: 512 as wanted (always; udev rule; before: 128)"]
    if kept is None:
        (board.root / WINDOW).unlink()
    else:
        board.put(WINDOW, kept)
    checked = check_installed(board)
    assert not checked.holds
    shown = f"{KNOB}: {kept or 'absent'} -> 512 (always; udev rule; before: 128)"
    assert checked.lines[0] == shown
    assert any("for want of programs" in line for line in checked.lines[1:]) == bool(kept)
    (board.root / RULE_PLACE.lstrip("/")).unlink()
    assert check_installed(board) is None


@pytest.mark.thorough
def test_from_script_to_rule_and_back_nothing_of_the_earlier_is_left(board):
    board.put("proc/sys/kernel/random/boot_id", "one\n")
    board.directory("etc/udev/rules.d")
    bare = board.tree()
    made = replace(plan(512), attempts=2)
    install(board, made, "busybox")
    scripted = board.tree()
    assert board.run(["/usr/sbin/foreread-apply", "start"]).status == 0
    done = install(board, plan(64))
    assert done.manifest.windows == {KNOB: ("128", "64")}
    assert f"foreread: {KNOB}: 512 -> 128" in done.notes
    ruled = board.tree()
    assert not any("foreread-apply" in name for name in ruled if not name.endswith("manifest"))
    assert "run/foreread.saved" not in ruled
    assert trigger(board) == "64"
    done = install(board, made, "busybox")
    assert f"foreread: {KNOB}: 64 -> 128" in done.notes
    assert board.tree() == scripted
    install(board, plan(64))
    assert board.tree() == ruled
    uninstall(board)
    assert board.tree() == bare


def test_a_rule_that_is_installed_again_keeps_the_first_value(board):
    install(board, plan(512))
    trigger(board)
    done = install(board, plan(512))
    assert done.manifest.windows == {KNOB: ("128", "512")}
    assert board.get(WINDOW) == "512\n", "a rule that stays is not taken out of force"
    done = install(board, plan(64))
    assert done.manifest.windows == {KNOB: ("128", "64")}
    assert board.get(WINDOW) == "128\n"
    assert trigger(board) == "64"
    uninstall(board)
    assert board.get(WINDOW) == "128\n"


def test_a_rule_that_was_changed_is_kept_unless_forced(board):
    install(board, plan())
    name = RULE_PLACE.lstrip("/")
    board.put(name, board.get(name) + "# my own line\n")
    for act in (uninstall, lambda board: install(board, plan(64))):
        with pytest.raises(InstallError, match="99-zz-foreread"):
            act(board)
    uninstall(board, force=True)
    assert not (board.root / name).exists()
