"""The boot script on an emulated board with systemd: installed through ssh, applied by a boot."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import pytest
from booted_board import KNOB, SCRIPT, UNITS, BootedBoard, tell
from waiting import wait_until

from foreread.analyzer.apply import Board
from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.machine.install import install
from foreread.tracer.install.install import uninstall

pytestmark = pytest.mark.boards


@pytest.fixture(scope="module")
def booted():
    with EmulatedTarget(LiveOptions("arm64", init="systemd", swap_mib=0)) as target:
        yield BootedBoard(target)


@pytest.fixture
def board(booted):
    yield booted
    booted.take_off()


def active(board, unit="foreread.service"):
    return board.status(f"systemctl is-active {unit}") == 0


def test_values_are_in_force_before_the_application_starts(board):
    done = install(board.target, board.plan(64))
    assert (done.manifest.init, done.fits) == ("systemd", True)
    board.boot()
    assert board.start().kb == 64
    assert active(board)
    assert board.status(f"{SCRIPT} status") == 0
    assert "128 -> 64" in board.sh("journalctl -b -u foreread.service")
    board.sh("systemctl stop foreread.service")
    assert board.kb == 128
    board.sh("systemctl start foreread.service")
    assert board.kb == 64
    uninstall(board.target)
    assert board.kb == 128
    assert not active(board)
    board.boot()
    assert board.start().kb == 128
    assert "foreread" not in board.sh("systemctl list-units --all --no-pager")


def test_two_phases_end_with_the_boot(board):
    install(board.target, board.plan(64, after=32))
    board.boot()
    assert board.start().kb == 64
    wait_until(lambda: active(board, "foreread-boot-done.service"))
    assert board.kb == 32
    board.sh("systemctl stop foreread.service")
    assert board.kb == 128


def test_two_phases_by_time(board):
    install(board.target, board.plan(64, after=32, boot_done_seconds=20))
    board.boot()
    assert board.start().kb == 64
    wait_until(lambda: board.kb == 32)
    assert float(board.text("/proc/uptime").split()[0]) >= 20


def test_board_it_was_not_made_for(board):
    other = replace(board.plan(64), board=Board("aarch64", "5.10"))
    assert not install(board.target, other, force=True).fits
    board.boot()
    assert board.start().kb == 128
    assert "made for kernel '5.10'" in board.sh("journalctl -b -u foreread.service")
    assert active(board), "the boot goes on, and nothing has failed"


def test_read_only_knob(board):
    lock = (
        "#!/bin/sh",
        "mkdir /run/ro",
        "mount -t tmpfs ro /run/ro",
        f"cat {KNOB} >/run/ro/knob",
        "mount -o remount,ro /run/ro",
        f"mount -o bind /run/ro/knob {KNOB}",
    )
    board.put("/usr/bin/lock", "\n".join([*lock, ""]))
    early = "DefaultDependencies=no\nBefore=foreread.service"
    board.add_unit("lock", "/usr/bin/lock", early, "sysinit")
    try:
        install(board.target, board.plan(64))
        board.boot()
        assert board.start().kb == 128
        assert "asked for 64, the kernel has 128" in board.sh("journalctl -b -u foreread.service")
        assert active(board)
    finally:
        board.sh(f"rm {UNITS}/sysinit.target.wants/lock.service; umount {KNOB} || :")


def test_kernel_command_line_switches_it_off():
    options = LiveOptions("arm64", init="systemd", swap_mib=0, append="foreread=off")
    with EmulatedTarget(options) as target:
        board = BootedBoard(target)
        install(target, board.plan(64, after=32))
        board.boot()
        assert board.start().kb == 128
        assert not active(board)
        assert "failed" not in board.sh("systemctl list-units --all --no-pager 'foreread*'")


def test_cost_of_the_boot(board, capsys):
    """Three boots with and without; beside it a dozen other units want processor and disk."""

    def show(what, unit=""):
        return int(board.sh(f"systemctl show -P {what} {unit}"))

    def boot():
        board.boot()
        board.sh("systemctl is-system-running --wait || :")
        return show("FinishTimestampMonotonic") / 1000

    without = median(boot() for _ in range(3))
    install(board.target, board.plan(64))
    applied, cpu = [], []
    for _ in range(3):
        applied.append(boot())
        cpu.append(show("CPUUsageNSec", "foreread.service") / 1e6)
    tell(
        capsys,
        f"arm64, systemd: the script takes {median(cpu):.1f} ms of processor time; the whole boot "
        f"{without:.0f} ms without it, {median(applied) - without:+.0f} ms with it and its window",
    )
    assert median(cpu) <= 20
