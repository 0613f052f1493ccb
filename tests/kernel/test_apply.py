"""The boot script unchanged but for /run, on a loop device of the running kernel."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from loop_board import IMAGE_BYTES, LoopBoard, loop_device
from shells import BASH, BUSYBOX, DASH, each_shell
from waiting import wait_until

from foreread.analyzer.apply import ApplyPlan, Board, Disk, Setting
from foreread.boards.target import LocalTarget
from foreread.machine.install import install
from foreread.tracer.formats.boot_files import RULE_PLACE
from foreread.tracer.install.install import check_installed, uninstall

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(
        os.geteuid() != 0 or not Path("/dev/loop-control").exists(),
        reason="needs root and loop devices: the boot script was not run on a real disk",
    ),
]


@pytest.fixture
def loop(tmp_path):
    with loop_device(tmp_path / "image") as name:
        yield name


@pytest.fixture(params=each_shell(of=(BUSYBOX, DASH, BASH)))
def board(request, tmp_path, loop):
    if shutil.which(request.param[0]) is None:
        pytest.skip(f"{request.param[0]} is not installed: the boot script was not run under it")
    return LoopBoard(tmp_path, request.param, loop)


@pytest.mark.parametrize("board", each_shell(BUSYBOX, of=(BUSYBOX, DASH, BASH)), indirect=True)
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


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_value_that_the_kernel_rounds(board):
    board.install(board.setting("read_ahead_kb", "514"))
    before = board.values()
    result = board.run("start")
    page_kb = os.sysconf("SC_PAGE_SIZE") // 1024
    taken = 514 // page_kb * page_kb
    assert f"asked for 514, the kernel has {taken}" in result.stderr
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


@pytest.mark.thorough
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


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_scheduler_that_is_not_offered_is_skipped(board):
    board.install(board.setting("scheduler", "no-such-one"), board.setting("read_ahead_kb", "64"))
    result = board.run("start")
    assert result.returncode == 0
    assert "asked for no-such-one, the kernel has " in result.stderr
    assert result.stdout == ""
    assert board.values()["read_ahead_kb"] == "64\n"


@pytest.mark.thorough
def test_value_that_the_kernel_refuses_is_reported(board):
    board.install(board.setting("nr_requests", "1048576"))
    result = board.run("start")
    assert result.returncode == 0
    assert "asked for 1048576, the kernel has " in result.stderr
    assert board.run("stop").returncode == 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    "board", each_shell(DASH, BUSYBOX, of=(BUSYBOX, DASH, BASH)), indirect=True
)
def test_full_run(board):
    board.install(board.setting("read_ahead_kb", "512"))
    before = board.values()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(board.run_directory)]
    subprocess.run(mount, check=True)
    try:
        (board.run_directory / "ballast").write_bytes(b"\0" * 4096)
        result = board.run("start")
        assert result.returncode == 0
        assert "cannot be written" in result.stderr
        assert board.values() == before, "stop could not restore them"
        assert board.run("stop").returncode == 0
    finally:
        subprocess.run(["umount", str(board.run_directory)], check=True)


@pytest.mark.thorough
def test_vanished_disk(board):
    """Another disk was set, too, and has no directory any more."""
    knob = board.setting("read_ahead_kb", "512")
    board.install(knob, replace(knob, disk=Disk("gone", 512)))
    before = board.values()
    board.run("start")
    saved = board.run_directory / "foreread.saved"
    begin, _, end = saved.read_text().rpartition("end ")
    saved.write_text(f"{begin}gone/queue/read_ahead_kb 128\nend {end}")
    result = board.run("stop")
    assert result.returncode == 1
    assert "(no disk like gone size=1)" in result.stderr
    assert board.values() == before
    assert saved.read_text().endswith(f"begin\ngone/queue/read_ahead_kb 128\nkept {end}")


@pytest.mark.thorough
def test_device_that_lost_its_image_is_restored(board, tmp_path):
    """The queue belongs to the device, whose size is another one now."""
    board.install(board.setting("read_ahead_kb", "512"))
    before = board.values()
    board.run("start")
    subprocess.run(["losetup", "--detach", f"/dev/{board.name}"], check=True)
    try:
        assert board.run("stop").returncode == 1
        assert board.run("restore", "force").returncode == 0
        assert board.values()["read_ahead_kb"] == before["read_ahead_kb"]
    finally:
        image = str(tmp_path / "image")
        subprocess.run(["losetup", f"/dev/{board.name}", image], check=True)


@pytest.mark.thorough
@pytest.mark.parametrize(("attempts", "processes"), [(0, 1), (2, 2)])
def test_start_starts_no_process_but_flock_and_sync(board, tmp_path, attempts, processes):
    if not Path("/proc/sys/kernel/arch").exists():
        pytest.skip("this kernel has no /proc/sys/kernel/arch: start needs uname once")
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed: the processes that start makes were not counted")
    changes = {"attempts": attempts, "state_dir": str(tmp_path)}
    board.install(board.setting("read_ahead_kb", "512"), **changes)
    log = tmp_path / "strace"
    board.shell = ["strace", "-f", "-o", str(log), "-e", "trace=process", *board.shell]
    assert board.run("start").returncode == 0
    assert board.values()["read_ahead_kb"] == "512\n"
    calls = [line.split("(")[0].split()[-1] for line in log.read_text().splitlines()]
    assert "execve" in calls
    made = {"fork", "vfork", "clone", "clone3"}
    assert sum(call in made for call in calls) == processes


def udev_change(rules: Path, disk: str, *others: Path) -> str:
    """Let udev handle a change of ``disk`` by ``rules``, in a /run and a /dev of its own."""
    script = (
        "mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev && mkdir -p /run/udev/rules.d && "
        'disk=$1; shift; cp "$@" /run/udev/rules.d/ && '
        'udevadm test --action=change "/sys/block/$disk" 2>&1'
    )
    command = ["unshare", "--mount", "sh", "-c", script, "sh", disk, str(rules), *map(str, others)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("board", [DASH], indirect=True)
def test_udev_rule_sets_the_window_on_this_kernel_only(board, tmp_path):
    if shutil.which("udevadm") is None:
        pytest.skip("udevadm is not installed: the udev rule was not run")
    board.install(board.setting("read_ahead_kb", "512"))
    rules = tmp_path / "udev/99-zz-foreread.rules"
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


OTHER_RULES = {
    "60-readahead": 'ATTR{queue/read_ahead_kb}="128"',
    "99-vendor": 'ATTR{queue/read_ahead_kb}="256"',
    "99-zfs": 'ATTR{bdi/read_ahead_kb}="64", RUN+="/sbin/blockdev --setra 64 /dev/%k"',
}


@pytest.mark.thorough
@pytest.mark.parametrize("board", [DASH], indirect=True)
def test_udev_rules_of_others_come_first(board, tmp_path):
    if shutil.which("udevadm") is None:
        pytest.skip("udevadm is not installed: the order of udev rules was not checked")
    board.install(board.setting("read_ahead_kb", "512"))
    others = []
    for name, assignment in OTHER_RULES.items():
        others.append(tmp_path / f"{name}.rules")
        others[-1].write_text(f'ACTION=="add|change", KERNEL=="{board.name}", {assignment}\n')
    said = udev_change(tmp_path / "udev/99-zz-foreread.rules", board.name, *others)
    # What udev writes, or says that it would write, and what it would run after all rules.
    commands = re.findall(r"(?:run|RUN)[^/]*(/\S.*setra.*|/\S.*echo.*read_ahead_kb.*)", said)
    assert "echo 512" in commands[-1]
    assert len(commands) > 1
    would_write = [
        one for one in said.splitlines() if "test mode" in one and "read_ahead_kb" in one
    ]
    if would_write:
        assert "512" in would_write[-1]
    else:
        assert board.values()["read_ahead_kb"] == "512\n"


UDEVD = Path("/usr/lib/systemd/systemd-udevd")
# A /run, a /dev and an /etc of its own, which is mounted last, and no rules but those of /etc.
MACHINE = """
mount -t tmpfs tmpfs /run && mkdir -p /run/udev && mount -t tmpfs tmpfs /usr/lib/udev/rules.d &&
mount -t tmpfs tmpfs /dev && mknod /dev/null c 1 3 && chmod 666 /dev/null &&
mount --bind "$1" /etc && exec "$2"
"""


class UdevMachine(LocalTarget):
    """This machine with a udevd, seen from the mount namespace of that udevd."""

    def __init__(self, udevd: subprocess.Popen[bytes]) -> None:
        super().__init__(Path(f"/proc/{udevd.pid}/root"))
        self.enter = ["nsenter", f"--target={udevd.pid}", "--mount"]

    def run(self, command, *words, **named):
        """Run it in the namespace."""
        return super().run([*self.enter, *command], *words, **named)


@pytest.fixture
def udev_machine(tmp_path):
    if not UDEVD.exists():
        pytest.skip("udevd is not installed: the installed rule was not run by it")
    etc = tmp_path / "etc"
    etc.mkdir()
    (etc / etc.parent.name).touch()  # until it is there, the machine's own /etc is seen
    for name in ("passwd", "group", "nsswitch.conf"):
        shutil.copy(Path("/etc", name), etc)
    command = ["unshare", "--mount", "sh", "-c", MACHINE, "sh", str(etc), str(UDEVD)]
    with (tmp_path / "udevd.log").open("wb") as log:
        udevd = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        machine = UdevMachine(udevd)
        wait_until((machine.root / "etc" / etc.parent.name).exists)
        wait_until((machine.root / "run/udev/control").exists)
        yield machine
    finally:
        udevd.terminate()
        udevd.wait()


def test_udevd_sets_the_window_by_the_installed_rule(udev_machine, loop):
    window = Path("/sys/block", loop, "queue/read_ahead_kb")
    window.write_text("128")
    series = ".".join(platform.release().split(".")[:2])
    setting = Setting("queue/read_ahead_kb", "512", "tested", Disk(loop, IMAGE_BYTES))
    done = install(udev_machine, ApplyPlan((setting,), Board(platform.machine(), series)))
    assert set(done.manifest.files) == {RULE_PLACE}
    assert not check_installed(udev_machine).holds
    change = ["udevadm", "trigger", "--action=change", "--subsystem-match=block"]
    assert udev_machine.run([*change, f"--sysname-match={loop}"]).status == 0
    wait_until(lambda: window.read_text() == "512\n")
    assert udev_machine.run(["udevadm", "settle"]).status == 0
    assert check_installed(udev_machine).holds
    assert uninstall(udev_machine).said == [f"foreread: {window}: 512 -> 128"]
    assert udev_machine.run([*change, f"--sysname-match={loop}"]).status == 0
    assert udev_machine.run(["udevadm", "settle"]).status == 0
    assert window.read_text() == "128\n"


@pytest.mark.thorough
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
