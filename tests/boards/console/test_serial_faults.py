"""Faults at a console: the line is cut, the board hangs, restarts, or refuses the log-in."""

import contextlib
import os
import shutil
import signal
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from clocks import AheadClock
from console_board import ConsoleBoard, session_of
from rings import further
from scripted_lines import ScriptedLine
from waiting import left_s, wait_until

import foreread.boards.console.agent
import foreread.boards.console.prompt
import foreread.boards.console.serial
import foreread.boards.shell
from foreread.boards.console.line import SerialAddress, SerialLine
from foreread.boards.console.prompt import wait_until_up
from foreread.boards.console.serial import SerialTarget
from foreread.boards.target import NoRights, TargetError

pytestmark = pytest.mark.skipif(
    not shutil.which("busybox"), reason="no busybox: serial targets are not checked"
)
ASH = ["busybox", "ash", "-i"]


@pytest.fixture
def board(tmp_path):
    (tmp_path / "home").mkdir()
    running = ConsoleBoard(ASH, tmp_path / "home")
    yield running
    thaw(running)
    running.stop()


@pytest.fixture
def target(board):
    with SerialTarget(SerialAddress.parse(board.url)) as opened:
        opened.run(["true"])
        yield opened


def running(target, folder):
    target.run(["sh", "-c", f"touch {folder}/begun; sleep 1000"])


def pushing(target, folder):
    (folder / "sent").write_bytes(bytes(400_000))
    target.push(folder / "sent", f"{folder}/there")


def pulling(target, folder):
    (folder / "long").write_bytes(os.urandom(40 << 20))
    target.pull(f"{folder}/long", folder / "there")


STEPS = {"running sh -c": running, "pushing": pushing, "pulling": pulling}


def freeze(board):
    for _ in range(3):  # one may begin another one meanwhile
        for pid in session_of(board.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)


def thaw(board):
    for pid in session_of(board.process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def restart(board):
    board.power_off()
    board.say(b"\r\n\r\nU-Boot 2023.04 (Apr 03 2023)\r\nHit any key to stop autoboot:  2 ")
    board.power_on()


@pytest.mark.parametrize("step", further(STEPS))
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (ConsoleBoard.hang_up, "the line was lost"),
        (freeze, "answer"),
        (ConsoleBoard.power_off, "answer"),
        (restart, "the board restarted"),
    ],
)
def test_a_fault_in_the_middle_names_the_step(
    board, target, tmp_path, monkeypatch, step, fault, said
):
    clock = AheadClock()
    monkeypatch.setattr(foreread.boards.console.agent, "time", clock)
    monkeypatch.setattr(
        foreread.boards.console.agent, "SILENT_S", 0.3
    )  # so often the clock is looked at
    before = len(board.received)
    halfway = threading.Event()

    def strike():
        wait_until(lambda: begun(board, tmp_path, before))
        fault(board)
        if said == "answer":
            clock.ahead_s = foreread.boards.console.agent.LOST_S
        halfway.set()

    striker = threading.Thread(target=strike)
    striker.start()
    with pytest.raises(TargetError, match=f"{step}.*{said}") as lost:
        STEPS[step](target, tmp_path)
    striker.join()
    assert halfway.is_set()
    assert lost.value.remedy
    assert not (tmp_path / "there").exists()


def begun(board, folder, before):
    """Return whether a command runs, or much of the data is transferred."""
    part = folder / "there.part"
    return (
        (folder / "begun").exists()
        or len(board.received) - before > 20_000
        or (part.exists() and part.stat().st_size > 20_000)
    )


@pytest.mark.thorough
def test_after_a_cut_line_the_next_command_finds_the_prompt(board, target, tmp_path):
    striker = threading.Thread(
        target=lambda: (wait_until((tmp_path / "begun").exists), board.hang_up())
    )
    striker.start()
    with pytest.raises(TargetError, match="the line was lost"):
        running(target, tmp_path)
    striker.join()
    assert target.run(["echo", "back"]).stdout == b"back\n"


def test_a_user_without_root_rights_gets_an_error(tmp_path):
    if os.getuid() != 0:
        pytest.skip("needs root to be another user: missing rights are not checked")
    board = ConsoleBoard(
        [shutil.which("setpriv"), "--reuid=65534", "--clear-groups", *ASH], Path("/")
    )
    try:
        with SerialTarget(SerialAddress.parse(board.url)) as target:
            for act in (
                lambda: target.write_knob("/proc/sys/vm/swappiness", "60"),
                lambda: target.read_knob("/proc/1/environ"),
                lambda: target.push(Path(__file__), "/root/file"),
            ):
                with pytest.raises(NoRights) as refused:
                    act()
                assert "root" in refused.value.remedy
    finally:
        board.stop()


@pytest.fixture
def reboots(tmp_path, monkeypatch):
    """A command that stands for reboot, a file for the boot_id, and whether the host listens."""
    command, boot_id = tmp_path / "re boot", tmp_path / "boot_id"
    boot_id.write_text("first\n")
    command.write_text(f"#!/bin/sh\necho second > {boot_id}\ntouch {tmp_path}/down\n")
    command.chmod(0o755)
    monkeypatch.setattr(foreread.boards.shell, "REBOOT", str(command))
    monkeypatch.setattr(foreread.boards.shell, "BOOT_ID", str(boot_id))
    monkeypatch.setattr(foreread.boards.console.prompt, "STILL_S", 0.3)
    monkeypatch.setattr(foreread.boards.console.prompt, "STILL_UNSURE_S", 1.0)
    listens = threading.Event()

    def listening(line, end):
        listens.set()
        wait_until_up(line, end)

    monkeypatch.setattr(foreread.boards.console.serial, "wait_until_up", listening)
    return SimpleNamespace(boot_id=boot_id, listens=listens)


LOADER = b"\r\nU-Boot 2023.04 (Apr 03 2023)\r\nHit any key to stop autoboot:  1 "
KERNEL = b"\x08\x08\x08 0 \r\nStarting kernel ...\r\n[    0.000000] Linux version 6.1\r\n"


@pytest.mark.parametrize("prompt", [b"board login: ", b"\x1b[1m~ # \x1b[m"])
def test_after_a_reboot_the_prompt_is_awaited_through_every_pause_of_a_boot(prompt):
    boot = [(20.0, LOADER), (10.0, KERNEL), (50.0, b"ext4: # "), (0.5, b"\r\n"), (40.0, prompt)]
    line = ScriptedLine(*boot)
    wait_until_up(line, end=float("inf"))
    assert (line.said, line.written) == ([], b"")


def test_a_reboot_sends_nothing_that_would_stop_the_boot_loader(
    board, target, tmp_path, monkeypatch, reboots
):
    boots = threading.Event()
    sent, heard = [], bytearray()
    read, write = SerialLine.read, SerialLine.write

    def reading(line, timeout_s):
        data = read(line, timeout_s)
        heard.extend(data)
        return data

    def writing(line, data, *more):
        sent.extend([data] if boots.is_set() else [])
        write(line, data, *more)

    monkeypatch.setattr(SerialLine, "read", reading)
    monkeypatch.setattr(SerialLine, "write", writing)

    def power():
        wait_until(lambda: (tmp_path / "down").exists() and reboots.listens.is_set())
        board.power_off()
        boots.set()
        for said in (LOADER, KERNEL):
            board.say(said)
            wait_until(lambda said=said: heard.endswith(said))
        boots.clear()
        board.power_on()

    powering = threading.Thread(target=power)
    powering.start()
    target.reboot(timeout_s=left_s())
    powering.join()
    assert KERNEL in heard
    assert sent == []
    assert target.read_knob(str(reboots.boot_id)) == "second"


@pytest.mark.thorough
def test_a_board_that_does_not_come_back_is_said(board, target, tmp_path, monkeypatch, reboots):
    (tmp_path / "same").write_text("first\n")
    monkeypatch.setattr(foreread.boards.shell, "BOOT_ID", str(tmp_path / "same"))
    over = threading.Event()

    def power():
        wait_until(lambda: reboots.listens.is_set() or over.is_set())
        board.power_off()

    powering = threading.Thread(target=power)
    powering.start()
    with pytest.raises(TargetError, match="not reachable 2 s after") as gone:
        target.reboot(timeout_s=2)
    over.set()
    powering.join()
    assert gone.value.remedy
