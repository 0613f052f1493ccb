"""SerialTarget at a busybox shell on a real pty, over lines that are as bad as real ones."""

import contextlib
import os
import shutil
import socket
import sys
import termios
import threading
from pathlib import Path

import pytest
from clocks import AheadClock
from console_board import PRINTK, ConsoleBoard, tty_to
from hypothesis import strategies as st
from rings import further
from scripted_lines import ScriptedLine
from waiting import has_text, left_s, wait_until

import foreread.boards.console.agent
import foreread.boards.console.serial
from foreread.boards.console.line import SerialAddress
from foreread.boards.console.prompt import Prompt
from foreread.boards.console.serial import PASSWORD_VARIABLE, SerialTarget
from foreread.boards.target import TargetError

pytestmark = pytest.mark.skipif(
    not shutil.which("busybox"), reason="no busybox: serial targets are not checked"
)
ASH = ["busybox", "ash", "-i"]
NAMES = ["plain", "two words", "quo'te", 'dou"ble', "new\nline", "-dash", "$HOME `id`;*", "\udcff"]
anything = st.binary(max_size=300).map(lambda data: os.fsdecode(data.replace(b"\0", b"")))


@contextlib.contextmanager
def console(folder, command=ASH, **more):
    board = ConsoleBoard(command, folder, **more)
    try:
        yield board
    finally:
        board.stop()


def connect(board, password=lambda: pytest.fail("no password was asked for")):
    return SerialTarget(SerialAddress.parse(board.url), password)


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    with console(tmp_path_factory.mktemp("board")) as running:
        yield running


@pytest.fixture(scope="module")
def target(board):
    with connect(board) as opened:
        yield opened


@pytest.fixture
def own_board(tmp_path):
    """A board with which the test does what it likes."""
    (tmp_path / "home").mkdir()
    with console(tmp_path / "home") as running:
        yield running


@pytest.mark.parametrize("size", [0, 1, 20_000])
def test_stdin_and_both_outputs_are_kept_apart(target, size):
    data = os.urandom(size)
    done = target.run(["sh", "-c", 'tee /dev/stderr | cat; printf %s "$0" >&2', "end"], data)
    assert (done.stdout, done.stderr) == (data, data + b"end")


def test_after_a_time_out_the_command_is_gone_and_the_prompt_back(target, tmp_path, monkeypatch):
    clock, pid = AheadClock(), tmp_path / "pid"
    monkeypatch.setattr(foreread.boards.console.agent, "time", clock)
    monkeypatch.setattr(foreread.boards.console.serial, "time", clock)
    monkeypatch.setattr(
        foreread.boards.console.agent, "SILENT_S", 0.3
    )  # so often the clock is looked at

    def pass_time():
        wait_until(lambda: has_text(pid))
        clock.ahead_s = 3600.0

    passing = threading.Thread(target=pass_time)
    passing.start()
    with pytest.raises(TargetError, match=r"running sh -c .* took longer than 3600 s") as slow:
        target.run(["sh", "-c", f"echo $$ > {pid}; exec sleep 1000"], timeout_s=3600.0)
    passing.join()
    assert slow.value.remedy
    assert target.run(["true"]).status == 0
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()


def test_a_command_that_was_begun_is_not_begun_again(target, board, tmp_path, monkeypatch):
    """The answer to its line is lost, so that the line is sent again."""
    monkeypatch.setattr(foreread.boards.console.agent, "SILENT_S", 0.3)
    log = tmp_path / "log"
    target.run(["true"])
    board.faults.silent = True

    def answer_again():
        wait_until(lambda: board.received.count(b"echo ran") == 2)
        board.faults.silent = False

    answering = threading.Thread(target=answer_again)
    answering.start()
    assert target.run(["sh", "-c", f"echo ran >> {log}; echo out"]).stdout == b"out\n"
    answering.join()
    assert log.read_text() == "ran\n"


@pytest.mark.parametrize("shell", [["dash", "-i"], ["bash", "-i"], ["bash", "--norc", "-i"]])
def test_other_shells_at_the_prompt(shell, tmp_path):
    if not shutil.which(shell[0]):
        pytest.skip(f"no {shell[0]}")
    with console(tmp_path, shell) as board, connect(board) as target:
        assert target.run(["echo", "one", "two"], b"in").stdout == b"one two\n"


def test_a_console_that_is_not_a_terminal_of_its_shell(tmp_path):
    """As /dev/console: no job control, and Ctrl-C reaches nobody."""
    with console(tmp_path, controls=False) as board:
        for _ in range(2):
            with connect(board) as target:
                assert target.run(["cat"], b"in").stdout == b"in"


def test_over_a_tty_and_over_a_socket_file(own_board, tmp_path):
    with tty_to(own_board) as path, SerialTarget(SerialAddress.parse(f"serial://{path}")) as target:
        assert target.run(["cat"], b"in" * 1000).stdout == b"in" * 1000
        with pytest.raises(TargetError, match="lock") as busy:
            SerialTarget(SerialAddress.parse(f"serial://{path}")).run(["true"])
        assert "fuser" in busy.value.remedy
    with console(tmp_path, socket_file=tmp_path / "sock") as board, connect(board) as target:
        assert board.url == f"serial://{tmp_path}/sock"
        assert target.run(["cat"], b"in").stdout == b"in"


def test_unusable_consoles_are_reported(tmp_path):
    (tmp_path / "file").touch()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{probe.getsockname()[1]}"
        for place in (f"{tmp_path}/absent", f"{tmp_path}/file", closed):
            with pytest.raises(TargetError) as refused:
                SerialTarget(SerialAddress.parse(f"serial://{place}")).run(["true"])
            assert refused.value.remedy


def test_without_pyserial_the_remedy_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "serial", None)
    with pytest.raises(TargetError, match="pyserial") as refused:
        SerialTarget(SerialAddress("/dev/null")).run(["true"])
    assert "foreread[serial]" in refused.value.remedy


APPLETS = "sh cat wc mv rm chmod printf dd mkdir sleep echo sed kill stty"


@pytest.mark.parametrize(
    "more",
    further(["md5sum base64", "sha1sum uuencode", "sha256sum hexdump", "md5sum od"]),
)
def test_the_applets_that_are_there_are_used(tmp_path, more):
    data = bytes(range(256)) * 100
    shell = applets(tmp_path / "bin", f"{APPLETS} {more}")
    with console(tmp_path, shell) as board, connect(board) as target:
        assert target.run(["cat"], data).stdout == data


def test_without_stty_the_terminal_echoes_and_nothing_is_lost(tmp_path):
    names = f"{APPLETS} md5sum base64".replace(" stty", "")
    with console(tmp_path, applets(tmp_path / "bin", names)) as board, connect(board) as target:
        assert target.run(["cat"], bytes(range(256))).stdout == bytes(range(256))


@pytest.mark.parametrize(
    ("more", "lacking"), [("base64", "md5sum"), ("md5sum", "none of base64, uuencode")]
)
def test_missing_parts_are_named(tmp_path, more, lacking):
    with (
        console(tmp_path, applets(tmp_path / "bin", f"{APPLETS} {more}")) as board,
        connect(board) as target,
        pytest.raises(TargetError, match=lacking) as refused,
    ):
        target.run(["true"])
    assert refused.value.remedy


def applets(folder, names):
    """Return a shell that finds these applets of busybox only: busybox's own finds all of them."""
    if not shutil.which("dash"):
        pytest.skip("no dash: which applets are needed is not checked")
    folder.mkdir()
    for name in names.split():
        (folder / name).symlink_to(shutil.which("dash" if name == "sh" else "busybox"))
    return ["env", f"PATH={folder}", "ENV=", str(folder / "sh"), "-i"]


def test_the_kernels_messages_do_no_harm(own_board):
    data = os.urandom(60_000)
    with connect(own_board) as target:
        target.run(["true"])
        own_board.faults.printk_each = 3000
        assert target.run(["cat"], data[:3000]).stdout == data[:3000]
        assert target.run(["sh", "-c", "head -c 100000 /dev/zero; echo end >&2"]).stderr == b"end\n"
    assert PRINTK[:30] not in own_board.heard


def test_messages_without_a_time_are_asked_for_again(own_board):
    own_board.faults.noise = b"\r\nusb 1-1: new high-speed device\r\n"
    with connect(own_board) as target:
        target.run(["true"])
        own_board.faults.printk_each = 25_000
        assert target.run(["head", "-c", "100000", "/dev/zero"]).stdout == bytes(100_000)


@pytest.mark.thorough
def test_a_uart_that_loses_bytes(own_board):
    data = os.urandom(1_500)
    with connect(own_board) as target:
        own_board.faults.dropped_to_board = own_board.faults.dropped_from_board = 0.0005
        assert target.run(["cat"], data).stdout == data


def test_a_slow_line_that_hands_over_few_bytes_at_once(own_board):
    own_board.faults.piece = 7
    own_board.faults.byte_s = 1 / 11520
    with connect(own_board) as target:
        assert target.run(["cat"], b"slow" * 100).stdout == b"slow" * 100


@pytest.mark.thorough
def test_noise_without_end_is_given_up(own_board, monkeypatch):
    own_board.faults.noise = b"noise\n"
    with connect(own_board) as target:
        target.run(["true"])
        own_board.faults.printk_each = 20
        with (
            pytest.raises(TargetError, match=r"running seq .* no valid answer") as lost,
            monkeypatch.context() as impatient,
        ):
            impatient.setattr(foreread.boards.console.agent, "LOST_S", 1.0)
            target.run(["seq", "1000"])
        assert lost.value.remedy
        own_board.faults.printk_each = 0
        assert target.run(["true"]).status == 0


LOGIN = """
while printf 'board login: '; read -r name; do
    [ "$name" = root ] || continue
    printf 'Password: '; stty -echo; read -r word; stty echo; echo
    [ "$word" = 'se cret' ] && busybox ash -i && exit
    sleep 0.1; echo 'Login incorrect'
done
"""


def test_login_with_a_password_that_no_command_line_shows(tmp_path, monkeypatch):
    monkeypatch.setenv(PASSWORD_VARIABLE, "se cret")
    with console(tmp_path, ["sh", "-c", LOGIN]) as board:
        with SerialTarget(SerialAddress.parse(board.url)) as target:
            assert target.run(["echo", "in"]).stdout == b"in\n"
        board.process.wait(left_s())  # who logged in has logged out


def test_a_wrong_password_is_said_and_tried_once(tmp_path):
    with console(tmp_path, ["sh", "-c", LOGIN]) as board, connect(board, lambda: "wrong") as target:
        with pytest.raises(TargetError, match="refused root's password"):
            target.run(["true"])
        assert board.heard.count(b"Login incorrect") == 1


def test_no_password_to_give_names_the_variable(tmp_path, monkeypatch):
    monkeypatch.delenv(PASSWORD_VARIABLE, raising=False)
    with (
        console(tmp_path, ["sh", "-c", LOGIN]) as board,
        SerialTarget(SerialAddress.parse(board.url)) as target,
        pytest.raises(TargetError, match="password") as refused,
    ):
        target.run(["true"])
    assert PASSWORD_VARIABLE in refused.value.remedy


def test_a_console_that_wants_enter_first(tmp_path):
    ask = "printf 'Please press Enter to activate this console. '; read -r x; exec busybox ash -i"
    with console(tmp_path, ["sh", "-c", ask]) as board, connect(board) as target:
        assert target.run(["echo", "in"]).stdout == b"in\n"


@pytest.mark.parametrize(("reply", "said"), [(b"", "is silent"), (b"=> \r\n", "last output: =>")])
def test_a_missing_shell_is_reported(reply, said):
    line = ScriptedLine(reply=reply)
    with pytest.raises(TargetError, match=said) as refused:
        Prompt(line, lambda: pytest.fail("no password was asked for")).find()
    assert refused.value.remedy
    assert line.written.startswith(b"\n")


def test_closing_leaves_the_console_as_it_was(own_board, tmp_path):
    # At its prompt the shell edits the line itself.
    wait_until(lambda: not termios.tcgetattr(own_board.master)[3] & termios.ICANON)
    before = termios.tcgetattr(own_board.master)
    with connect(own_board) as target:
        target.run(["true"])
        (folder,) = (tmp_path / "home").glob("foreread-*")
        assert folder.is_dir()
        assert not termios.tcgetattr(own_board.master)[3] & termios.ECHO
    wait_until(lambda: not folder.exists())
    wait_until(lambda: termios.tcgetattr(own_board.master) == before)


@pytest.mark.thorough
def test_one_host_after_another_finds_the_console(own_board, tmp_path):
    """The first is gone without a word, as after a kill -9 or with the cable pulled."""
    first = connect(own_board)
    assert first.run(["true"]).status == 0
    own_board.hang_up()
    with connect(own_board) as second:
        assert second.run(["true"]).status == 0
    assert not list((tmp_path / "home").glob("foreread-*"))
