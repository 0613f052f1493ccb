"""SshTarget against real servers on loopback: OpenSSH's, and dropbear with a busybox shell."""

import contextlib
import gc
import os
import signal
import stat
import threading
from functools import partial
from pathlib import Path

import pytest
from hypothesis import strategies as st
from rings import further
from ssh_servers import SshServer, missing
from waiting import left_s, wait_until

import foreread.boards.shell
import foreread.boards.ssh_connection
from foreread.boards.ssh import SshTarget
from foreread.boards.ssh_connection import SshAddress
from foreread.boards.target import LocalTarget, TargetError

NAMES = ["plain", "two words", "quo'te", 'dou"ble', "new\nline", "-dash", "$HOME `id`;*", "\udcff"]
anything = st.binary(max_size=300).map(lambda data: os.fsdecode(data.replace(b"\0", b"")))


@pytest.fixture(scope="module", params=["openssh", "dropbear"])
def server(request, tmp_path_factory):
    reason = missing(request.param)
    if reason:
        pytest.skip(reason)
    running = SshServer(request.param, tmp_path_factory.mktemp(request.param))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def target(server):
    with connect(server) as opened:
        yield opened


def connect(server):
    return SshTarget(SshAddress.parse(server.url), server.known_hosts, server.identity)


def test_one_connection_serves_all_commands(target):
    connections = {target.run(["sh", "-c", "echo $SSH_CONNECTION"]).stdout for _ in range(3)}
    assert len(connections) == 1


def closed_its_files(pid):
    """Return whether a killed process is gone, its socket too: that is closed last."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


def test_a_killed_master_is_replaced_by_another_one(server):
    with connect(server) as target:
        for _ in range(2):
            assert target.run(["true"]).status == 0
            (master,) = masters(target.connection.directory)
            os.kill(int(master), signal.SIGKILL)
            wait_until(lambda: not masters(target.connection.directory))
            wait_until(partial(closed_its_files, master))
        assert target.connection.socket.exists()


def test_a_connection_that_nobody_closed_ends_with_its_owner(server):
    target = connect(server)
    assert target.run(["true"]).status == 0
    folder = target.connection.directory
    del target
    gc.collect()
    assert not folder.exists()
    wait_until(lambda: not masters(folder))


def test_the_directory_is_private_and_closing_leaves_nothing(server):
    target = connect(server)
    folder = target.connection.directory
    assert target.run(["true"]).status == 0
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert masters(folder)
    target.close()
    assert not folder.exists()
    wait_until(lambda: not masters(folder))
    with pytest.raises(TargetError, match="closed"):
        target.run(["true"])


def test_an_unknown_host_key_is_refused_and_not_added(server, tmp_path):
    (tmp_path / "empty").touch()
    with (
        SshTarget(SshAddress.parse(server.url), tmp_path / "empty", server.identity) as target,
        pytest.raises(TargetError, match="Host key verification failed") as refused,
    ):
        target.run(["true"])
    assert "known_hosts" in refused.value.remedy
    assert (tmp_path / "empty").read_bytes() == b""


def test_a_changed_host_key_is_refused(server, tmp_path):
    other = tmp_path / "known_hosts"
    key = Path(f"{server.identity}.pub").read_text().split()
    other.write_text(f"[127.0.0.1]:{server.port} {key[0]} {key[1]}\n")
    with (
        SshTarget(SshAddress.parse(server.url), other, server.identity) as target,
        pytest.raises(TargetError, match="Host key verification failed"),
    ):
        target.run(["true"])


def test_a_user_without_a_key_gets_a_remedy(server, tmp_path):
    stranger = tmp_path / "identity"
    LocalTarget().run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(stranger)])
    with (
        SshTarget(SshAddress.parse(server.url), server.known_hosts, stranger) as target,
        pytest.raises(TargetError, match="Permission denied") as refused,
    ):
        target.run(["true"])
    assert "public key" in refused.value.remedy


@pytest.fixture(params=["openssh", pytest.param("dropbear", marks=pytest.mark.thorough)])
def own_server(request, tmp_path_factory):
    """A server that the test may stop."""
    reason = missing(request.param)
    if reason:
        pytest.skip(reason)
    running = SshServer(request.param, tmp_path_factory.mktemp("own"))
    yield running
    running.stop()


def test_a_lost_connection_is_said_and_the_next_command_connects_again(own_server, tmp_path):
    sent = tmp_path / "begun"
    with connect(own_server) as target:
        killer = threading.Thread(target=lambda: (wait_until(sent.exists), own_server.cut()))
        killer.start()
        with pytest.raises(TargetError, match="running sh -c") as lost:
            target.run(["sh", "-c", f"touch {sent}; exec sleep 1000"])
        killer.join()
        assert lost.value.remedy
        with pytest.raises(TargetError, match="connecting"):
            wait_until(lambda: not target.connection.socket.exists())
            target.run(["true"])
        own_server.start()
        assert target.run(["true"]).status == 0


def test_a_command_is_never_run_over_a_second_connection(own_server, tmp_path):
    """ssh does so by itself when its master fails: the command might then run twice."""
    log = tmp_path / "log"
    with connect(own_server) as target:
        target.connection.open()
        (master,) = masters(target.connection.directory)
        os.kill(int(master), signal.SIGSTOP)

        def kill():
            wait_until(lambda: len(masters(target.connection.directory)) == 2)  # with the client
            os.kill(int(master), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(TargetError, match="running sh -c"):
            target.run(["sh", "-c", f"echo ran >> {log}"])
        killer.join()
        assert not log.exists()
        target.run(["sh", "-c", f"echo ran >> {log}"])
        assert log.read_text() == "ran\n"


def test_a_file_cut_off_on_its_way_never_gets_its_name(own_server, tmp_path):
    pipe, there = tmp_path / "pipe", tmp_path / "there"
    os.mkfifo(pipe)
    failures = []

    def push():
        try:
            target.push(pipe, str(there))
        except TargetError as error:
            failures.append(error)

    with connect(own_server) as target:
        pushing = threading.Thread(target=push)
        target.connection.open()
        pushing.start()
        with pipe.open("wb", buffering=0) as source, contextlib.suppress(BrokenPipeError):
            source.write(b"half")
            wait_until(lambda: Path(f"{there}.part").exists())
            own_server.cut()
            pushing.join()
        own_server.start()
        wait_until(lambda: not Path(f"{there}.part").exists())
    assert "pushing" in str(failures[0])
    assert not there.exists()


@pytest.mark.parametrize("fault", further(["cut", "freeze"]))
@pytest.mark.parametrize("step", ["running sh -c", "pushing", "pulling"])
def test_a_server_lost_in_the_middle_is_said_with_the_step(
    own_server, tmp_path, monkeypatch, fault, step
):
    monkeypatch.setitem(foreread.boards.ssh_connection._OPTIONS, "ServerAliveInterval", "1")
    there, sign = tmp_path / "there", tmp_path / "sign"
    source = tmp_path / "source"
    with source.open("wb") as file:
        file.truncate(1 << 40)  # more than is copied until it ends
    acts = {
        "running sh -c": lambda: target.run(["sh", "-c", f"touch {sign}; exec sleep 1000"]),
        "pushing": lambda: target.push(source, str(there)),
        "pulling": lambda: target.pull(str(source), there),
    }
    part = Path(f"{there}.part")
    striker = threading.Thread(
        target=lambda: (
            wait_until(lambda: sign.exists() or part.exists()),
            getattr(own_server, fault)(),
        )
    )
    with connect(own_server) as target:
        target.connection.open()
        striker.start()
        with pytest.raises(TargetError, match=step) as lost:
            acts[step]()
        striker.join()
    own_server.stop()
    part.unlink(missing_ok=True)
    assert lost.value.remedy
    assert not there.exists()


@pytest.mark.thorough
def test_reboot_waits_for_another_boot(own_server, tmp_path, monkeypatch):
    """The command that would restart the machine is replaced; it cuts all sessions' lines."""
    boot_id, fake = tmp_path / "boot_id", tmp_path / "re boot"
    boot_id.write_text("first\n")
    fake.write_text(f"#!/bin/sh\ntouch {tmp_path}/down\n")
    fake.chmod(0o755)
    monkeypatch.setattr(foreread.boards.shell, "REBOOT", str(fake))
    monkeypatch.setattr(foreread.boards.shell, "BOOT_ID", str(boot_id))

    def cut():
        wait_until((tmp_path / "down").exists)
        own_server.cut()
        boot_id.write_text("second\n")
        own_server.start()

    with connect(own_server) as target:
        cutter = threading.Thread(target=cut)
        cutter.start()
        target.reboot(timeout_s=left_s())
        cutter.join()
        assert target.read_knob(str(boot_id)) == "second"


def test_a_target_that_does_not_come_back_is_said(target, tmp_path, monkeypatch):
    (tmp_path / "boot_id").write_text("same\n")
    monkeypatch.setattr(foreread.boards.shell, "REBOOT", "true")
    monkeypatch.setattr(foreread.boards.shell, "BOOT_ID", f"{tmp_path}/boot_id")
    with pytest.raises(TargetError, match="not reachable"):
        target.reboot(timeout_s=0.1)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("ssh://board", SshAddress("board")),
        ("ssh://root@board/", SshAddress("board", "root")),
        ("ssh://root@10.0.0.2:2222", SshAddress("10.0.0.2", "root", 2222)),
        ("ssh://root@[fe80::1]:22", SshAddress("fe80::1", "root", 22)),
    ],
)
def test_addresses(url, address):
    assert SshAddress.parse(url) == address
    assert SshAddress.parse(str(address)) == address


@pytest.mark.parametrize(
    "url",
    [
        "ssh://",
        "ssh://-oProxyCommand=id",
        "ssh://-lroot@board",
        "ssh://root:secret@board",
        "ssh://board:port",
        "ssh://board:99999",
        "ssh://board:0",
        "ssh://board/path",
        "ssh://board?x",
        "ssh://bo ard",
        "ssh://bo%64ard",
        "ssh://[::1",
        "ssh://us\ner@board",
    ],
)
def test_invalid_addresses(url):
    with pytest.raises(TargetError) as refused:
        SshAddress.parse(url)
    assert refused.value.remedy


def masters(folder):
    """Return the ssh processes whose command line names the folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.fsencode(folder) in (entry / "cmdline").read_bytes():
                found.append(entry.name)
    return found
