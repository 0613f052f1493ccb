"""Places of a real labgrid lab on loopback: acquired, used by ssh and by console, released."""

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from console_board import ConsoleBoard, tty_to
from labs import MISSING, OTHERS, Lab, power_port
from ssh_servers import SshServer, free_port
from ssh_servers import missing as ssh_missing
from terminal_servers import MISSING as SER2NET_MISSING
from terminal_servers import ser2net
from waiting import left_s, wait_until

from foreread.boards import shell
from foreread.boards.labgrid import held, place
from foreread.boards.open import open_target
from foreread.boards.target import TargetError

ROOT = Path(__file__).parents[3]
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(MISSING, reason="no labgrid: no place of a lab is acquired"),
    pytest.mark.skipif(SER2NET_MISSING, reason="no ser2net: no console of a lab is reached"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A board's ssh server."""
    if why := ssh_missing("openssh"):
        pytest.skip(why)
    running = SshServer("openssh", tmp_path_factory.mktemp("ssh"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def switch():
    with power_port() as found:
        yield found


@pytest.fixture(scope="module")
def console(tmp_path_factory):
    """The port of a terminal server, at a board's console."""
    folder = tmp_path_factory.mktemp("console")
    board = ConsoleBoard(["busybox", "ash", "-i"], folder)
    try:
        with tty_to(board) as path, ser2net(path, folder) as port:
            yield port
    finally:
        board.stop()


@pytest.fixture(scope="module")
def started(tmp_path_factory, server, switch, console):
    """A lab with a board with an ssh server, one with a console, and one with neither."""
    user = server.url.partition("//")[2].partition("@")[0]
    network = {"address": "127.0.0.1", "username": user, "port": server.port}
    serial = {"host": "127.0.0.1", "port": console, "speed": 115200}
    boards = {
        "by-ssh": {"NetworkService": network, "NetworkPowerPort": switch[0]},
        "by-console": {"NetworkSerialPort": serial},
        "bare": {"NetworkPowerPort": switch[0]},
    }
    lab = Lab(tmp_path_factory.mktemp("lab"), boards)
    yield lab
    lab.stop()


@pytest.fixture
def lab(started, monkeypatch):
    """The lab, which this process uses; all places are free again after the test."""
    for name, value in started.environment.items():
        monkeypatch.setenv(name, value)
    yield started
    assert started.holders() == {}
    assert not list(held.folder().iterdir())


def opened(server, url="labgrid://by-ssh"):
    return open_target(url, server.known_hosts, server.identity)


def test_a_place_is_acquired_used_by_ssh_and_released(lab, server):
    with opened(server) as target:
        assert lab.holder("by-ssh") is not None
        assert target.place == server.url
        assert target.run(["cat"], b"in").stdout == b"in"
    assert lab.holder("by-ssh") is None


def test_a_place_without_an_address_is_used_by_its_console(lab):
    with open_target("labgrid://by-console") as target:
        assert target.place.startswith("rfc2217://127.0.0.1:")
        assert target.run(["echo", "at the console"]).stdout == b"at the console\n"
        assert lab.holder("by-console") is not None


def test_a_place_is_released_after_an_error(lab, server):
    with pytest.raises(ZeroDivisionError), opened(server):
        raise ZeroDivisionError
    assert lab.holder("by-ssh") is None


def test_a_place_that_somebody_holds_is_refused_with_its_holder(lab, server):
    lab.client("by-ssh", "acquire", by=OTHERS)
    try:
        with pytest.raises(TargetError, match="already acquired by elsewhere/somebody") as refused:
            opened(server).__enter__()
        assert "?wait=600" in refused.value.remedy
        assert lab.holder("by-ssh") == "elsewhere/somebody"
    finally:
        lab.client("by-ssh", "release", by=OTHERS)


def test_a_place_that_somebody_holds_is_waited_for(lab, server, monkeypatch):
    lab.client("by-ssh", "acquire", by=OTHERS)
    waits, asked = threading.Event(), []

    def release_then():
        waits.wait()
        lab.client("by-ssh", "release", by=OTHERS)

    def tell(step):
        asked.append(step)
        waits.set()

    other = threading.Thread(target=release_then)
    other.start()
    try:
        url = "labgrid://by-ssh?wait=300"
        with open_target(url, server.known_hosts, server.identity, tell) as target:
            assert target.run(["true"]).status == 0
    finally:
        waits.set()
        other.join()
    assert asked == ["waiting up to 300 s for labgrid://by-ssh"]


def test_a_place_that_its_user_acquired_by_hand_stays_acquired(lab, server):
    lab.client("by-ssh", "acquire")
    try:
        with opened(server) as target:
            assert target.run(["true"]).status == 0
        assert lab.holder("by-ssh") is not None
    finally:
        lab.client("by-ssh", "release")


def test_two_forereads_of_one_user_do_not_share_a_place(lab, server):
    with opened(server):
        with pytest.raises(TargetError, match="already acquired"):
            opened(server).__enter__()
        assert lab.holder("by-ssh") is not None


def other_foreread(server):
    """Start another process that holds the place until it is ended."""
    script = (
        "import sys, time, pathlib; from foreread.boards.open import open_target\n"
        "with open_target('labgrid://by-ssh', *map(pathlib.Path, sys.argv[1:])):\n"
        "    print('held', flush=True); time.sleep(1000)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, server.known_hosts, server.identity],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_the_guard_of_a_killed_foreread_releases_its_place(lab, server):
    process = other_foreread(server)
    assert lab.holder("by-ssh") is not None
    process.kill()
    process.communicate()
    wait_until(lambda: lab.holder("by-ssh") is None)
    wait_until(lambda: not list(held.folder().iterdir()))


def test_a_living_foreread_keeps_its_place_when_another_one_looks_for_leftovers(lab, server):
    process = other_foreread(server)
    try:
        assert held.release_leftovers() == []
        assert lab.holder("by-ssh") is not None
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()


def left_note(lab, name):
    """Note a place as a foreread does that has been killed together with its guard."""
    note = held.note(name)
    dead = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True)
    return note.rename(note.with_name(f"foreread-place-{dead.stdout.strip()}-1-aaaaaaaa"))


def test_the_next_foreread_releases_what_a_dead_one_held(lab, server):
    left_note(lab, "by-ssh")
    lab.client("by-ssh", "acquire")
    with open_target("labgrid://by-console"):
        assert lab.holder("by-ssh") is None


def test_a_note_of_a_place_that_somebody_else_has_now_is_dropped(lab, monkeypatch):
    monkeypatch.setattr(held, "_SETTLE_S", 0.0)
    lab.client("by-ssh", "acquire", by=OTHERS)
    try:
        left_note(lab, "by-ssh")
        assert held.release_leftovers() == []
        assert lab.holder("by-ssh") == "elsewhere/somebody"
    finally:
        lab.client("by-ssh", "release", by=OTHERS)


def test_a_note_that_a_crash_cut_short_is_dropped(lab):
    left_note(lab, "by-ssh").write_text('{"pla')
    assert held.release_leftovers() == []


def test_a_place_that_cannot_be_released_is_said_and_stays_noted(lab, monkeypatch):
    note = left_note(lab, "by-ssh")
    found = json.loads(note.read_text())
    found["environment"]["LG_COORDINATOR"] = f"127.0.0.1:{free_port()}"
    note.write_text(json.dumps(found))
    ((name, why),) = held.release_leftovers()
    assert name == "by-ssh"
    assert "export LG_COORDINATOR=" in why
    note.unlink()


def test_a_board_that_does_not_come_back_is_switched_off_and_on(lab, server, switch, monkeypatch):
    """The server's own reboot does nothing, so that its boot_id stays."""
    monkeypatch.setattr(shell, "REBOOT", "true")
    monkeypatch.setattr(place, "ORDERLY", 0.005)
    with opened(server) as target:
        target.reboot(timeout_s=left_s())
    assert switch[1][-2:] == ["/1/0", "/1/1"]


def test_a_place_with_neither_address_nor_console_is_refused(lab):
    with pytest.raises(TargetError, match="neither a NetworkService nor a NetworkSerialPort"):
        open_target("labgrid://bare").__enter__()


def test_a_key_for_a_console_is_refused(lab, server):
    with pytest.raises(TargetError, match="has only a console, which takes no key"):
        opened(server, "labgrid://by-console").__enter__()


@pytest.mark.parametrize(
    ("name", "coordinator", "reason", "remedy"),
    [
        ("by-nobody", None, "matches nothing", "labgrid-client places"),
        ("by-", None, "matches multiple places", "labgrid-client places"),
        ("by-ssh", "127.0.0.1:{}", "connect to coordinator", "LG_COORDINATOR"),
    ],
)
def test_what_cannot_be_acquired_is_said(lab, name, coordinator, reason, remedy):
    with pytest.MonkeyPatch.context() as changed:
        if coordinator:
            changed.setenv("LG_COORDINATOR", coordinator.format(free_port()))
        with pytest.raises(TargetError, match=reason) as refused:
            open_target(f"labgrid://{name}").__enter__()
    assert remedy in refused.value.remedy


def test_a_coordinator_that_ended_leaves_the_place_to_the_next_foreread(
    tmp_path, server, monkeypatch
):
    user = server.url.partition("//")[2].partition("@")[0]
    network = {"address": "127.0.0.1", "username": user, "port": server.port}
    lab = Lab(tmp_path, {"by-ssh": {"NetworkService": network}})
    try:
        for name, value in lab.environment.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(TargetError, match="release"), opened(server):
            lab.coordinator.kill()
            lab.coordinator.wait()
        (note,) = held.folder().iterdir()
        assert json.loads(note.read_text())["place"] == "by-ssh"
    finally:
        lab.stop()
