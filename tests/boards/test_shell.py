"""The common behaviour of all targets with a shell: over ssh, at a serial console, through adb.

All are real: OpenSSH's server, dropbear with a busybox shell, busybox's shell on a pty, and the
adb client with a device of ours that speaks its protocol.
"""

import contextlib
import errno
import os
import shutil
import stat
import threading
from pathlib import Path

import pytest
from adbd import Adbd, client_of
from console_board import ConsoleBoard
from hypothesis import example, given, settings
from hypothesis import strategies as st
from property_tests import examples
from rings import further
from ssh_servers import SshServer, can_mount, missing
from waiting import wait_until

from foreread.boards.console.line import SerialAddress
from foreread.boards.console.serial import SerialTarget
from foreread.boards.ssh import SshTarget
from foreread.boards.ssh_connection import SshAddress
from foreread.boards.target import LocalTarget, TargetError

# A full disk and a read-only one, of the target alone.
MOUNTS = "mount -t tmpfs -o size=16k none /media\nmount -t tmpfs -o ro none /mnt\n"
INSIDE = ["unshare", "--mount", "--propagation=private", "sh", "-c", MOUNTS + 'exec "$@"', "sh"]
NAMES = ["plain", "two words", "quo'te", 'dou"ble', "new\nline", "-dash", "$HOME `id`;*", "\udcff"]
anything = st.binary(max_size=300).map(lambda data: os.fsdecode(data.replace(b"\0", b"")))


def inside():
    return INSIDE if can_mount() else []


@contextlib.contextmanager
def over_ssh(kind, folder):
    reason = missing(kind)
    if reason:
        pytest.skip(reason)
    server = SshServer(kind, folder, MOUNTS)
    try:
        address = SshAddress.parse(server.url)
        with SshTarget(address, server.known_hosts, server.identity) as target:
            yield target
    finally:
        server.stop()


@contextlib.contextmanager
def at_console(kind, folder):
    if not shutil.which("busybox"):
        pytest.skip("no busybox: serial targets are not checked")
    board = ConsoleBoard([*inside(), "busybox", "ash", "-i"], folder)
    try:
        with SerialTarget(SerialAddress.parse(board.url)) as target:
            yield target
    finally:
        board.stop()


@contextlib.contextmanager
def by_adb(kind, folder):
    if not (shutil.which("adb") and shutil.which("busybox")):
        pytest.skip("no adb client, or no busybox: adb targets are not checked")
    device = Adbd([*inside(), "busybox", "sh", "-c"])
    try:
        with client_of(device, folder) as target:
            yield target
    finally:
        device.stop()


WAYS = {"openssh": over_ssh, "dropbear": over_ssh, "serial": at_console, "adb": by_adb}
# A console takes its time: just more than one piece of it (console/serial.py).
LARGE = {"serial": 70_000}


@pytest.fixture(scope="module", params=WAYS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def target(kind, tmp_path_factory):
    with WAYS[kind](kind, tmp_path_factory.mktemp(kind)) as opened:
        yield opened


HARD = [
    *("-n", " leading and trailing ", "%s \\c ! \\041", "'\n\\'\"$(exit 3)`exit 4`"),
    *(os.fsdecode(bytes(range(1, 256))), "x" * 60_000 + "'" * 2_000),
]


@settings(max_examples=examples(20))
@given(words=st.lists(anything, min_size=1, max_size=5))
@example(words=HARD)
@example(words=["-n"])
def test_any_word_reaches_the_command_as_it_is(target, words):
    """One connection and one process on the target for several words: these take the time."""
    expected = b"".join(os.fsencode(word) + b"\0" for word in words)
    assert target.run(["printf", "%s\\0", *words]).stdout == expected


@pytest.mark.parametrize("size", further([300_000, 0, 1]))
def test_stdin_reaches_the_command_after_a_line_of_any_length(target, kind, size):
    data = os.urandom(min(size, LARGE.get(kind, size)))
    for word in ("short", "long" * 5_000):
        done = target.run(["sh", "-c", 'cat; printf %s "$0" >&2', word], data)
        assert (done.stdout, done.stderr) == (data, word.encode())


def test_output_goes_to_a_file_as_it_comes(target, tmp_path):
    begun, out = tmp_path / "begun", tmp_path / "out"
    script = f"echo first; while [ ! -e {begun} ]; do :; done; head -c 3000000 /dev/zero; exit 3"
    with out.open("wb") as file:
        watcher = threading.Thread(
            target=lambda: (wait_until(lambda: out.stat().st_size == 6), begun.touch())
        )
        watcher.start()
        done = target.run(["sh", "-c", script], stdout=file)
        watcher.join()
    assert (done.status, done.stdout) == (3, b"")
    assert out.read_bytes() == b"first\n" + bytes(3_000_000)


@pytest.mark.parametrize("status", [0, 1, 126, 254, 255])
def test_the_status_is_the_commands(target, status):
    script = f"echo out; echo err >&2; exit {status}"
    done = target.run(["sh", "-c", script])
    assert (done.status, done.stdout, done.stderr) == (status, b"out\n", b"err\n")


def test_statuses_are_a_local_targets(target):
    for command in (["/no/such/command"], ["/etc"], ["sh", "-c", "kill -9 $$"], ["false"]):
        assert target.run(command).status == LocalTarget().run(command).status


def test_a_nul_is_refused(target):
    with pytest.raises(ValueError, match="NUL"):
        target.run(["echo", "a\0b"])


@pytest.mark.parametrize("name", further(NAMES, 3))
def test_files_of_any_name_go_and_come_back(target, tmp_path, name):
    sent, back = tmp_path / "sent", tmp_path / "back"
    sent.write_bytes(bytes(range(256)) * 50)
    target.push(sent, f"{tmp_path}/{name}", mode=0o751)
    target.pull(f"{tmp_path}/{name}", back)
    assert back.read_bytes() == sent.read_bytes()
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o751
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.thorough
def test_a_large_file_goes_and_comes_back(target, kind, tmp_path):
    sent, back = tmp_path / "sent", tmp_path / "back"
    sent.write_bytes(os.urandom(LARGE.get(kind, 24 << 20)) + b"odd")
    target.push(sent, f"{tmp_path}/there")
    target.pull(f"{tmp_path}/there", back)
    assert back.read_bytes() == sent.read_bytes()


def test_missing_files_are_not_pulled_and_leave_nothing(target, tmp_path):
    with pytest.raises(FileNotFoundError):
        target.pull(f"{tmp_path}/absent", tmp_path / "back")
    with pytest.raises(OSError):
        target.push(Path(__file__), f"{tmp_path}/no/such/folder/file")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this machine has no /dev/full")
def test_a_full_disk_is_reported_as_no_space(target, tmp_path):
    (tmp_path / "file.part").symlink_to("/dev/full")
    with pytest.raises(OSError) as full:
        target.push(Path(__file__), f"{tmp_path}/file")
    assert full.value.errno == errno.ENOSPC
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough
def test_a_full_and_a_read_only_disk_keep_nothing(target, tmp_path):
    if not can_mount():
        pytest.skip("needs root to mount: full and read-only disks are not checked")
    sent = tmp_path / "sent"
    sent.write_bytes(bytes(40_000))
    for folder, code in (("/media", errno.ENOSPC), ("/mnt", errno.EROFS)):
        with pytest.raises(OSError) as refused:
            target.push(sent, f"{folder}/file")
        assert refused.value.errno == code
        assert target.run(["ls", "-A", folder]).stdout == b""


def test_knobs_are_read_written_and_refused_as_on_this_machine(target, tmp_path):
    knob = tmp_path / "kn'ob"
    knob.write_text("128\n")
    assert target.read_knob(str(knob)) == "128"
    assert target.write_knob(str(knob), "64") == "64" == LocalTarget().read_knob(str(knob))
    absent = f"{tmp_path}/absent"
    for act in (lambda: target.read_knob(absent), lambda: target.write_knob(absent, "1")):
        with pytest.raises(FileNotFoundError):
            act()
    assert not Path(absent).exists()


def test_the_kernels_refusal_is_the_same_oserror_as_here(target):
    """The kernel takes no such value, whoever asks: nothing is changed by this."""
    knob = "/proc/sys/vm/swappiness"
    errnos = []
    for machine in (target, LocalTarget()):
        with pytest.raises(OSError) as refused:
            machine.write_knob(knob, "99999")
        errnos.append(refused.value.errno)
    assert errnos[0] == errnos[1]
    assert target.read_knob(knob) == LocalTarget().read_knob(knob)


def test_a_relative_path_is_refused(target):
    for act in (target.read_knob, lambda p: target.push(Path(__file__), p)):
        with pytest.raises(ValueError, match="absolute"):
            act("-rf")


def test_a_time_out_names_the_step(target):
    with pytest.raises(TargetError, match=r"sleep 60 took longer than 0\.3 s") as slow:
        target.run(["sleep", "60"], timeout_s=0.3)
    assert slow.value.remedy
    assert target.run(["true"]).status == 0
