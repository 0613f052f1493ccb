"""A console at a real ser2net, by telnet with RFC 2217."""

import os
import sys

import pytest
from console_board import ConsoleBoard, tty_to
from ssh_servers import free_port
from terminal_servers import MISSING, ser2net

from foreread.boards.console.line import SerialAddress
from foreread.boards.console.serial import SerialTarget
from foreread.boards.target import TargetError

pytestmark = pytest.mark.skipif(MISSING, reason="no ser2net: consoles by RFC 2217 are not checked")


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """The port of a ser2net, whose tty leads to a board."""
    folder = tmp_path_factory.mktemp("board")
    board = ConsoleBoard(["busybox", "ash", "-i"], folder)
    try:
        with tty_to(board) as path, ser2net(path, folder) as port:
            yield port
    finally:
        board.stop()


def target(port, more=""):
    return SerialTarget(SerialAddress.parse(f"rfc2217://127.0.0.1:{port}{more}"))


@pytest.mark.thorough
def test_every_byte_passes_in_both_directions(port):
    """255 begins a telnet command: it is doubled on the line."""
    data = bytes(range(256)) * 4 + os.urandom(20_000) + b"\xff" * 9
    with target(port) as opened:
        done = opened.run(["sh", "-c", "tee /dev/stderr"], data)
    assert (done.status, done.stdout, done.stderr) == (0, data, data)


@pytest.mark.thorough
def test_one_user_after_another_with_another_speed(port):
    for more in ("", "?baud=57600"):
        with target(port, more) as opened:
            assert opened.place == f"rfc2217://127.0.0.1:{port}{more}"
            assert opened.run(["echo", "here"]).stdout == b"here\n"


@pytest.mark.thorough
def test_a_command_that_hangs_is_interrupted(port):
    with target(port) as opened:
        with pytest.raises(TargetError, match="took longer than"):
            opened.run(["sleep", "1000"], timeout_s=0.3)
        assert opened.run(["echo", "again"]).stdout == b"again\n"


def test_a_server_that_ends_is_a_lost_line(tmp_path):
    board = ConsoleBoard(["busybox", "ash", "-i"], tmp_path)
    try:
        with tty_to(board) as path, ser2net(path, tmp_path) as port:
            opened = target(port)
            assert opened.run(["true"]).status == 0
        with pytest.raises(TargetError) as lost:
            opened.run(["true"])
        assert lost.value.remedy
        opened.close()
    finally:
        board.stop()


def test_no_server_and_no_pyserial_are_said(monkeypatch):
    with pytest.raises(TargetError, match="rfc2217") as refused:
        target(free_port()).run(["true"])
    assert "terminal server" in refused.value.remedy
    monkeypatch.setitem(sys.modules, "serial", None)
    with pytest.raises(TargetError, match="pyserial") as missing:
        target(1).run(["true"])
    assert "foreread[serial]" in missing.value.remedy


@pytest.mark.parametrize(
    "url", ["rfc2217://host", "rfc2217:///dev/ttyUSB0", "serial://h:1?baud=9600"]
)
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(TargetError, match="is not a serial target"):
        SerialAddress.parse(url)
