"""The boot script unchanged but for /run, on a loop device of the running kernel."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from shells import BASH, BUSYBOX, DASH, each_shell

from analyzer.apply import ApplyPlan, Board, Disk, Setting, write_scripts

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(
        os.geteuid() != 0 or not Path("/dev/loop-control").exists(),
        reason="needs root and loop devices: the boot script was not run on a real disk",
    ),
]

IMAGE_BYTES = 3 << 20
KNOBS = ("scheduler", "read_ahead_kb", "nr_requests", "max_sectors_kb")


class LoopBoard:
    """A loop device, and the script for it with /run replaced: another test may run one too."""

    def __init__(self, directory: Path, shell: tuple[str, ...], loop: str) -> None:
        self.directory = directory
        self.shell = shell
        self.name = Path(loop).name
        self.disk = Disk(self.name, IMAGE_BYTES)
        self.queue = Path("/sys/block", self.name, "queue")
        self.run_directory = directory / "run"
        self.run_directory.mkdir()

    def install(self, *settings: Setting) -> None:
        series = ".".join(platform.release().split(".")[:2])
        write_scripts(ApplyPlan(settings, Board(platform.machine(), series)), self.directory)
        script = self.directory / "foreread-apply"
        own = script.read_text().replace("run=/run\n", f"run={self.run_directory}\n")
        script.write_text(own)

    def run(self, verb: str) -> subprocess.CompletedProcess[str]:
        command = [*self.shell, str(self.directory / "foreread-apply"), verb]
        # With INVOCATION_ID, as under systemd, the kernel log is left alone.
        environment = {**os.environ, "INVOCATION_ID": "test"}
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=20, env=environment
        )

    def setting(self, knob: str, value: str, phase="boot") -> Setting:
        return Setting(f"queue/{knob}", value, "tested", self.disk, phase)

    def values(self) -> dict[str, str]:
        return {knob: (self.queue / knob).read_text() for knob in KNOBS}


@pytest.fixture
def loop(tmp_path):
    image = tmp_path / "image"
    image.write_bytes(b"\0" * IMAGE_BYTES)
    command = ["losetup", "--find", "--show", str(image)]
    name = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    yield name
    subprocess.run(["losetup", "--detach", name], check=True)


@pytest.fixture(params=each_shell(of=(BUSYBOX, DASH, BASH)))
def board(request, tmp_path, loop):
    if shutil.which(request.param[0]) is None:
        pytest.skip(f"{request.param[0]} is not installed: the boot script was not run under it")
    return LoopBoard(tmp_path, request.param, loop)


@pytest.mark.parametrize(
    "board", each_shell(DASH, BUSYBOX, of=(BUSYBOX, DASH, BASH)), indirect=True
)
def test_start_then_stop_restores_exactly(board):
    board.install(board.setting("read_ahead_kb", "512"))
    before = board.values()
    assert board.run("status").returncode == 3
    assert board.run("start").returncode == 0
    assert board.values()["read_ahead_kb"] == "512\n"
    assert board.run("status").returncode == 0
    board.run("start")
    assert board.run("stop").returncode == 0
    assert board.values() == before
    assert board.run("status").returncode == 3


def test_two_phases(board):
    first = board.setting("read_ahead_kb", "2048")
    board.install(first, board.setting("read_ahead_kb", "512", "after"))
    before = board.values()
    board.run("start")
    assert board.values()["read_ahead_kb"] == "2048\n"
    board.run("boot-done")
    assert board.values()["read_ahead_kb"] == "512\n"
    board.run("stop")
    assert board.values() == before


def test_value_that_the_kernel_rounds(board):
    board.install(board.setting("read_ahead_kb", "514"))
    before = board.values()
    result = board.run("start")
    page_kb = os.sysconf("SC_PAGE_SIZE") // 1024
    taken = 514 // page_kb * page_kb
    assert f"asked for 514, the kernel took {taken}" in result.stderr
    board.run("stop")
    assert board.values() == before


def test_scheduler_and_the_queue_depth_it_resets_are_both_restored(board):
    offered = (board.queue / "scheduler").read_text().replace("[none]", "").split()
    if not offered:
        pytest.skip("this kernel offers no scheduler but none: changing it was not checked")
    board.install(board.setting("nr_requests", "32"), board.setting("scheduler", offered[0]))
    before = board.values()
    board.run("start")
    assert f"[{offered[0]}]" in board.values()["scheduler"]
    assert board.values()["nr_requests"] == "32\n"
    board.run("stop")
    assert board.values() == before


@pytest.mark.parametrize("changed", [("scheduler", "none"), ("nr_requests", "64")])
def test_requests_and_a_depth_of_ones_own_are_restored_with_what_resets_them(board, changed):
    if "mq-deadline" not in (board.queue / "scheduler").read_text():
        pytest.skip("this kernel has no mq-deadline: its depth was not changed")
    depth = board.queue / "iosched/async_depth"
    (board.queue / "scheduler").write_text("mq-deadline")
    (board.queue / "nr_requests").write_text("33")
    if depth.exists():  # since Linux 5.16
        depth.write_text("11")
    board.install(board.setting(*changed))
    before = board.values()
    assert board.run("start").returncode == 0
    assert board.values() != before
    assert board.run("stop").returncode == 0
    assert board.values() == before
    assert not depth.exists() or depth.read_text() == "11\n"


@pytest.mark.parametrize("windows", [[], ["64"]])
def test_a_limit_of_the_queue_and_the_window_it_resets_are_both_restored(board, windows):
    (board.queue / "read_ahead_kb").write_text("84")
    before = board.values()
    chosen = [board.setting("read_ahead_kb", window) for window in windows]
    board.install(*chosen, board.setting("max_sectors_kb", "16"))
    assert board.run("start").returncode == 0
    assert board.values()["max_sectors_kb"] == "16\n"
    if windows:
        assert board.values()["read_ahead_kb"] == "64\n"
    assert board.run("stop").returncode == 0
    assert board.values() == before


def test_scheduler_that_is_not_offered_is_skipped(board):
    board.install(board.setting("scheduler", "no-such-one"), board.setting("read_ahead_kb", "64"))
    result = board.run("start")
    assert result.returncode == 0
    assert "no-such-one is not offered" in result.stderr
    assert result.stdout == ""
    assert board.values()["read_ahead_kb"] == "64\n"


def test_read_only_attribute_is_reported(board):
    board.install(board.setting("hw_sector_size", "1"))
    result = board.run("start")
    assert result.returncode == 0
    assert "read-only" in result.stderr
    assert board.run("stop").returncode == 0


@pytest.mark.parametrize(
    "board", each_shell(DASH, BUSYBOX, of=(BUSYBOX, DASH, BASH)), indirect=True
)
def test_full_run(board):
    board.install(board.setting("read_ahead_kb", "512"))
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(board.run_directory)]
    subprocess.run(mount, check=True)
    try:
        (board.run_directory / "ballast").write_bytes(b"\0" * 4096)
        result = board.run("start")
        assert result.returncode == 0
        assert "cannot be written" in result.stderr
        assert board.values()["read_ahead_kb"] == "512\n"
        assert board.run("stop").returncode == 0
    finally:
        subprocess.run(["umount", str(board.run_directory)], check=True)


def test_vanished_disk(board, tmp_path):
    board.install(board.setting("read_ahead_kb", "512"))
    board.run("start")
    with (board.run_directory / "foreread.saved").open("a") as saved:
        saved.write("/sys/block/no-such-disk/queue/read_ahead_kb 128\n")
    result = board.run("stop")
    assert result.returncode == 0
    assert "absent, nothing put back" in result.stderr


def test_start_starts_no_process(board, tmp_path):
    if not Path("/proc/sys/kernel/arch").exists():
        pytest.skip("this kernel has no /proc/sys/kernel/arch: start needs uname once")
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed: the processes that start makes were not counted")
    board.install(board.setting("read_ahead_kb", "512"))
    log = tmp_path / "strace"
    board.shell = ["strace", "-f", "-o", str(log), "-e", "trace=process", *board.shell]
    assert board.run("start").returncode == 0
    assert board.values()["read_ahead_kb"] == "512\n"
    calls = [line.split("(")[0].split()[-1] for line in log.read_text().splitlines()]
    assert "execve" in calls
    assert not {"fork", "vfork", "clone", "clone3"} & set(calls)


def udev_change(rules: Path, disk: str) -> str:
    """Let udev handle a change of ``disk`` by ``rules``, in a /run and a /dev of its own."""
    script = (
        "mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev && mkdir -p /run/udev/rules.d && "
        'cp "$1" /run/udev/rules.d/ && udevadm test --action=change "/sys/block/$2" 2>&1'
    )
    command = ["unshare", "--mount", "sh", "-c", script, "sh", str(rules), disk]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("board", [DASH], indirect=True)
def test_udev_rule_sets_the_window_on_this_kernel_only(board, tmp_path):
    if shutil.which("udevadm") is None:
        pytest.skip("udevadm is not installed: the udev rule was not run")
    board.install(board.setting("read_ahead_kb", "512"))
    rules = tmp_path / "udev/60-foreread.rules"
    before = board.values()
    foreign = tmp_path / "60-foreign.rules"
    foreign.write_text(re.sub(r'(SYSCTL.*!=)".*?"', r'\1"1.2|1.2[!0-9]*"', rules.read_text()))
    assert "1.2" in foreign.read_text()
    udev_change(foreign, board.name)
    assert board.values() == before
    said = udev_change(rules, board.name)
    # Newer versions of udevadm's test write nothing, and say what they would have written.
    would_write = re.search(r"test mode.*512.*read_ahead_kb|test mode.*read_ahead_kb.*512", said)
    assert would_write or board.values() == {**before, "read_ahead_kb": "512\n"}


def test_a_scheduler_comes_back_with_its_tunables(board):
    """The kernel makes them anew; what this board had set is put back after the scheduler."""
    expire = board.queue / "iosched/read_expire"
    if "mq-deadline" not in (board.queue / "scheduler").read_text():
        pytest.skip("this kernel offers no mq-deadline: its tunables were not put back")
    (board.queue / "scheduler").write_text("mq-deadline")
    expire.write_text("200")
    before = board.values()
    other = "bfq" if "bfq" in before["scheduler"] else "none"
    tunables = [board.setting("iosched/slice_idle", "0")] if other == "bfq" else []
    board.install(*tunables, board.setting("scheduler", other))
    assert board.run("start").returncode == 0
    assert f"[{other}]" in (board.queue / "scheduler").read_text()
    if tunables:
        assert (board.queue / "iosched/slice_idle").read_text() == "0\n"
    stopped = board.run("stop")
    assert stopped.returncode == 0, stopped.stderr
    assert board.values() == before
    assert expire.read_text() == "200\n"
    assert not list(board.run_directory.iterdir())
