"""Emulated boards as live targets, really booted: ssh, repeatability, reboot, start and stop.

Figures are printed (``make test-all`` keeps them in its logs).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from statistics import median

import pytest
from waiting import left_s, wait_until

from foreread.boards.console.line import SerialAddress
from foreread.boards.console.serial import SerialTarget
from foreread.boards.emulated import MACHINES, BoardError
from foreread.boards.emulated import state as states
from foreread.boards.emulated.image import SAMPLE
from foreread.boards.emulated.live import EmulatedTarget, LiveOptions, running, started
from foreread.boards.open import open_target
from foreread.boards.shell import BOOT_ID

pytestmark = pytest.mark.boards

ROOT = Path(__file__).parents[2]
# Prints guest nanoseconds, requests and sectors of one cold start.
COLD_START = f"""
clock=/sys/module/slowdisk/parameters/now_ns stat=/sys/block/slow0/stat
sync; echo 3 >/proc/sys/vm/drop_caches
read -r ra _ sa _ <$stat; read -r a <$clock
madplay -Q -o null: -t 1 /{SAMPLE} >/dev/null 2>&1 || exit
read -r b <$clock; read -r rb _ sb _ <$stat
echo $((b - a)) $((rb - ra)) $((sb - sa))
"""


@pytest.fixture
def state_home(monkeypatch, tmp_path):
    """Keep the boards that a test starts apart, and end those that it leaves."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield tmp_path
    for board in running():
        board.stop()


def shell(target, script):
    done = target.run(["sh", "-c", script])
    assert (done.status, done.stderr) == (0, b"")
    return done.stdout.decode()


def cold_starts(target):
    """Return five cold starts; the first two after a boot read what later ones do not."""
    return [tuple(map(int, shell(target, COLD_START).split())) for _ in range(7)][2:]


def foreread(*words, **more):
    command = [sys.executable, "-m", "foreread", "boards", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, **more)


def console_of(board):
    return SerialTarget(SerialAddress.parse(board.console))


def alive(process):
    """Return whether it runs; one that has ended may wait for whoever adopted it."""
    try:
        return Path("/proc", process, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def write_kept_file(target, tmp_path):
    (tmp_path / "file").write_bytes(b"kept\n")
    target.push(tmp_path / "file", "/root/kept")


@pytest.mark.parametrize("name", MACHINES)
def test_cold_starts_repeat_and_what_is_written_outlives_a_reboot(name, capsys, tmp_path):
    runs, boots = [], []
    for _ in range(2):
        with EmulatedTarget(LiveOptions(name)) as target:
            boots.append(target.read_knob(BOOT_ID))
            runs += cold_starts(target)
            write_kept_file(target, tmp_path)
            assert "/swapfile" in shell(target, "cat /proc/swaps")
            assert "/dev/slow0 / ext4 rw" in shell(target, "cat /proc/mounts")
    with EmulatedTarget(LiveOptions(name)) as target:
        assert target.run(["test", "-e", "/root/kept"]).status == 1
        write_kept_file(target, tmp_path)
        boots.append(target.read_knob(BOOT_ID))
        target.reboot(left_s())
        boots.append(target.read_knob(BOOT_ID))
        assert shell(target, "cat /root/kept") == "kept\n"
    times = [run[0] / 1e6 for run in runs]
    spread = (max(times) - min(times)) / median(times)
    with capsys.disabled():
        print(f"\n  {name} by ssh: {median(times):.2f} ms, spread {100 * spread:.3f} %", end="")
    assert len(set(boots)) == len(boots)
    assert spread <= 0.01


def test_with_systemd_a_unit_runs_at_the_next_boot(tmp_path):
    unit = (
        "[Service]\nExecStart=/bin/sh -c 'echo ran >/run/ran'\n[Install]\nWantedBy=basic.target\n"
    )
    (tmp_path / "unit").write_text(unit)
    with EmulatedTarget(LiveOptions("arm64", init="systemd", time_out_s=left_s())) as target:
        assert shell(target, "cat /proc/1/comm") == "systemd\n"
        target.push(tmp_path / "unit", "/etc/systemd/system/mine.service")
        target.run(["systemctl", "enable", "mine.service"])
        target.reboot(left_s())
        assert shell(target, "cat /run/ran") == "ran\n"
        assert shell(target, "systemctl --failed --no-legend") == ""


def test_a_board_that_is_started_is_a_target_until_it_is_stopped(state_home):
    done = foreread("start", "arm64", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    board = started("arm64")
    assert answer["url"] == str(board.address)
    ssh = subprocess.run([*board.ssh_words(), "true"], check=False)
    assert ssh.returncode == 0
    with open_target("arm64") as target:
        assert shell(target, "uname -m") == "aarch64\n"
    assert started("arm64")
    with console_of(board) as target:
        assert target.run(["sh", "-c", "exit 3"]).status == 3

    again = foreread("start", "arm64")
    assert again.returncode == 1
    assert "arm64 runs already" in again.stderr
    assert "arm64 runs: ssh " in foreread("list").stdout

    absent = foreread("stop", "nosuch")
    assert absent.returncode == 1
    assert "running boards: arm64" in absent.stderr
    process = (board.folder / states.PROCESS).read_text().split()[0]
    assert foreread("stop", "arm64").stdout == "stopped: arm64\n"
    assert not alive(process)
    assert not board.folder.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_one_that_is_ended_while_it_boots_a_board(number, state_home):
    """Ctrl-C takes the board with it; what is killed leaves one that can be found and ended."""
    words = [sys.executable, "-m", "foreread", "boards", "start", "arm64"]
    with subprocess.Popen(words, cwd=ROOT, start_new_session=True) as process:
        board = wait_until(lambda: started("arm64"))
        process.send_signal(number)
    assert process.returncode == -number
    if number == signal.SIGKILL:
        assert foreread("stop", "--all").stdout == "stopped: arm64\n"
    assert not running()
    assert not board.folder.exists()


def test_a_target_that_is_killed_takes_its_board_with_it(tmp_path):
    code = (
        "from foreread.boards.emulated.live import EmulatedTarget, LiveOptions as L\n"
        "target = EmulatedTarget(L('arm64')); print(target.board.folder, flush=True); input()"
    )
    words = [sys.executable, "-c", code]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    own = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(words, cwd=ROOT, env=own, **pipes) as process:
        folder = Path(process.stdout.readline().strip())
        assert states.runs(folder)
        process.kill()
    wait_until(lambda: not states.runs(folder))


def test_a_root_that_is_not_written_to(tmp_path):
    with EmulatedTarget(LiveOptions("arm64", read_only=True)) as target:
        with pytest.raises(OSError, match="Read-only file system"):
            write_kept_file(target, tmp_path)
        shell(target, "mount -o remount,rw /")
        write_kept_file(target, tmp_path)
        target.reboot(left_s())
        assert shell(target, "cat /root/kept") == "kept\n"
    with EmulatedTarget(LiveOptions("arm64", fs="squashfs")) as target:
        assert "/dev/slow0 / squashfs ro" in shell(target, "cat /proc/mounts")
        target.reboot(left_s())


def test_clock_and_command_line_are_as_requested():
    options = LiveOptions("arm64", rtc="1970-01-01", append="foreread=off", packages=("python3",))
    with EmulatedTarget(options) as target:
        assert shell(target, "date +%Y") == "1970\n"
        assert shell(target, "cat /proc/cmdline").split()[-1] == "foreread=off"
        python = "import ssl, sqlite3, json, sys; print(sys.version_info.major)"
        assert target.run(["python3", "-c", python]).stdout == b"3\n"


def test_a_guest_without_network_has_its_console(state_home):
    options = LiveOptions("arm64", network=False)
    with EmulatedTarget(options) as target, console_of(target.board) as console:
        assert shell(console, "ls /sys/class/net").split() == ["lo"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"append": "rdinit=/nosuch root=/dev/nosuch"}, "booting the kernel.*panic|VFS"),
        ({"append": "init=/nosuch", "time_out_s": 5}, "failed at .*not up after 5 s"),
    ],
)
def test_a_board_that_does_not_come_up_reports_its_last_step(options, message):
    with pytest.raises(BoardError, match=message) as caught:
        EmulatedTarget(LiveOptions("arm64", **options))
    assert caught.value.remedy


def test_no_process_is_left():
    """The last of all: whatever the tests did, the QEMUs that they started are gone."""
    ours = str(os.getpid())
    left = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
            state, parent = rest.split()[:2]
            # A zombie has ended; it goes with the next process that this one starts.
            if name.startswith("qemu-system") and parent == ours and state != "Z":
                left.append(name)
    assert left == []
