"""Whole boots of emulated boards: recorded over one reboot, by a hook that is gone after it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from booted_board import BootedBoard, tell
from waiting import left_s, wait_until

from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.choice import predict_by
from foreread.analyzer.program.owners import Owners
from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.boards.open import open_target
from foreread.boards.target import TargetError
from foreread.machine.install import install
from foreread.recording.steps import recorded
from foreread.tracer.error import InstallError, RecordError
from foreread.tracer.install.boot_hook import HOOK_FOLDER, BoardHook
from foreread.tracer.remote.boot import HOOK_SCRIPT, INIT_SCRIPT, BootEnding, boot_on, with_init
from foreread.tracer.remote.job import part
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions

# Up to three boots, each with its own patience.
pytestmark = [pytest.mark.boards, pytest.mark.timeout(1200)]
DATA = """#!/bin/sh
mkdir -p /data
for disk in /sys/block/vd*; do
	[ "$(cat "$disk/serial")" != data ] || mount "/dev/${disk##*/}" /data
done
"""
# While a boot is recorded, the power is cut: what is not synced is lost.
HANG = """#!/bin/sh
for job in /run/foreread-*/pair /etc/foreread-boot/memory/foreread-*/pair; do
	[ ! -e "$job" ] || echo b >/proc/sysrq-trigger
done
"""
ROOT = """#!/bin/sh
while read -r _ place _ options _; do
	[ "$place" != / ] || echo "$options" >/run/root
done </proc/mounts
mount -o remount,rw /
"""
WHERE = "readlink /sbin/init; ls /sbin/.foreread-init /sbin/.init.foreread-before 2>/dev/null || :"


def record(board, output, ending=None, state_dir=HOOK_FOLDER, start="scripts"):
    ending = ending or BootEnding(within_s=left_s())
    hook = BoardHook(
        board.target,
        part(HOOK_SCRIPT),
        done=ending.by_init,
        stand_in=part(INIT_SCRIPT) if start == "init" else None,
        state_dir=state_dir,
    )
    options = with_init(RecordOptions(RunOptions(["/sbin/init"])), board.target)
    return recorded(boot_on(board.target, options, ending, hook, output))


def left(board):
    """What a recording may leave: files, mounts of tracefs, instances, processes, windows."""
    return (
        board.files_of_foreread(),
        board.sh("ls /sys/kernel/tracing/instances 2>/dev/null || :"),
        board.sh("ls -d /run/foreread* /tmp/foreread* 2>/dev/null || :"),
        board.sh("ps | grep '[f]oreread-' || :"),
        board.kb,
    )


NOTHING = ("", "", "", "", 128)


@pytest.mark.parametrize("start", ["scripts", "init"])
@pytest.mark.parametrize("init", ["busybox", "systemd"])
def test_a_boot_is_recorded_and_the_board_is_as_before(init, start, tmp_path, capsys):
    with EmulatedTarget(LiveOptions("arm64", init=init, swap_mib=0)) as target:
        board = BootedBoard(target)
        if init == "busybox":
            board.put("/etc/init.d/S60app", "#!/bin/sh\n[ $1 != start ] || /usr/bin/app\n")
        program = board.sh(WHERE)
        capture = record(board, tmp_path / "capture", start=start)
        wait_until(lambda: left(board) == NOTHING)
        assert board.sh(WHERE) == program
        assert (capture.ended_by, sum(capture.lost.values())) == ("boot-done", 0)
        assert capture.boot is not None
        assert capture.boot.recorded_from == start
        assert 1 in capture.boot.processes
        assert capture.boot.read_before[0].disk == "slow0"
        assert capture.cold.proven
        recording = load(tmp_path / "capture")
        paths = {path for path in recording.paths if path}
        assert any(path.endswith("/madplay") for path in paths)
        # What is read before the first script that init runs.
        early = {"busybox": "/etc/inittab", "systemd": "/lib/systemd/systemd"}[init]
        assert any(path.endswith(early) for path in paths) == (start == "init")
        units = {owner.unit for owner in Owners(recording).all}
        assert ("systemd-journald.service" in units) == (init == "systemd" and start == "init")
        prediction = predict_by(recording)
        assert prediction.verdict.action == "set"
        tell(
            capsys,
            f"arm64, {init}, from {start}: a boot of {capture.wall_seconds:.3f} s at 0 KiB; "
            f"proposed: {prediction.verdict.read_ahead_kb} KiB, {prediction.verdict.why}",
        )


def test_board_that_goes_down_while_it_is_recorded_boots_as_usual_next(tmp_path):
    options = LiveOptions("arm64", swap_mib=0, data_mib=8)
    with EmulatedTarget(options) as target:
        board = BootedBoard(target)
        board.put("/etc/init.d/S00a-data", DATA)
        board.sh("sh /etc/init.d/S00a-data")
        board.put("/etc/init.d/S06hang", HANG)
        with pytest.raises(RecordError, match="the boot was not recorded"):
            # The root of this board is in memory: /data is what a power cut spares.
            record(board, tmp_path / "capture", state_dir="/data")
        assert left(board) == NOTHING
        assert not (tmp_path / "capture").exists()


def test_power_cut_while_a_boot_is_recorded_from_its_first_process(tmp_path):
    """The disk of this board keeps what was synced: the init program is in its place again."""
    options = LiveOptions("arm64", fs="overlay-squashfs", swap_mib=0, data_mib=16)
    with EmulatedTarget(options) as target:
        board = BootedBoard(target)
        program = board.sh(WHERE)
        board.put("/etc/init.d/S06hang", HANG)
        with pytest.raises(RecordError, match="the boot was not recorded"):
            record(board, tmp_path / "capture", start="init")
        assert left(board) == NOTHING
        assert board.sh(WHERE) == program
        # Before the installation, after it, and after the power cut.
        assert target.board.log.read_text().count("board: init") == 3


def test_root_that_the_kernel_mounts_read_only_is_so_again_when_init_starts(tmp_path):
    """As with the root of most distributions: a script of the boot makes it writable."""
    options = LiveOptions("arm64", swap_mib=0, read_only=True)
    with EmulatedTarget(options) as target:
        target.run(["mount", "-o", "remount,rw", "/"])
        board = BootedBoard(target)
        program = board.sh(WHERE)
        board.put("/etc/init.d/S00a-root", ROOT)
        capture = record(board, tmp_path / "capture", start="init")
        wait_until(lambda: left(board) == NOTHING)
        assert board.sh(WHERE) == program
        assert board.text("/run/root").split(",")[0] == "ro"
        assert (capture.ended_by, sum(capture.lost.values())) == ("boot-done", 0)


KERNELS_OWN = (
    "trace_event=filemap:mm_filemap_add_to_page_cache,block:block_bio_queue,block:block_rq_issue,"
    "block:block_rq_complete trace_buf_size=16M trace_clock=mono"
)


def test_trace_that_the_kernel_made_by_itself_is_contaminated_and_has_the_initramfs(tmp_path):
    trace = tmp_path / "boot.trace"
    with EmulatedTarget(LiveOptions("arm64", swap_mib=0, append=KERNELS_OWN)) as target:
        board = BootedBoard(target)
        board.sh("mount -t tracefs tracefs /sys/kernel/tracing")
        board.sh("echo 0 >/sys/kernel/tracing/tracing_on")
        target.pull("/sys/kernel/tracing/trace", trace)
    recording = load(trace)
    assert recording.contaminated
    prediction = predict_by(recording)
    assert prediction.verdict.action == "measure"
    assert any("readahead was on during the recording" in doubt for doubt in prediction.doubts)
    # The initramfs reads the board's image from a disk, before init reads the slow one.
    assert len(set(recording.requests["dev"].tolist())) > 1


@pytest.mark.thorough
def test_boot_of_an_overlay_that_keeps_what_is_written_is_recorded(tmp_path):
    options = LiveOptions("arm64", fs="overlay-squashfs", swap_mib=0, data_mib=16)
    with EmulatedTarget(options) as target:
        board = BootedBoard(target)
        capture = record(board, tmp_path / "capture")
        wait_until(lambda: left(board) == NOTHING)
        assert (capture.ended_by, sum(capture.lost.values())) == ("boot-done", 0)
        on_rom = [one.path for one in load(tmp_path / "capture").entries if one and one.path]
        assert any(path.startswith("/rom/") for path in on_rom)


@pytest.mark.thorough
def test_boot_of_an_overlay_in_memory_is_refused(tmp_path):
    with EmulatedTarget(LiveOptions("arm64", fs="overlay-squashfs", swap_mib=0)) as target:
        board = BootedBoard(target)
        with pytest.raises(InstallError, match="is in memory") as refused:
            record(board, tmp_path / "capture")
        assert "--data-mib" in refused.value.remedy


# Ten minutes in which nobody fetches the recording pass at once: every lease is over.
END_LEASES = (
    "for job in /run/foreread-* /etc/foreread-boot/memory/foreread-*; do "
    "[ ! -e $job/lease ] || echo 0 >$job/lease; done"
)
# While a boot is recorded, the board does not answer, and boots on.
SILENT = """#!/bin/sh
for job in /run/foreread-*/pair; do
	[ ! -e "$job" ] || ifconfig eth0 down
done
"""


def is_as_before(board):
    """Whether a board that answers again has nothing of foreread.

    That is not asked through the console: the agent there is a process with a folder of foreread.
    """
    try:
        return left(board) == NOTHING
    except TargetError:
        return False


@pytest.mark.thorough
def test_board_that_never_answers_again_is_reported_and_removes_the_hook_itself(tmp_path):
    """The board's console ends the leases and brings the network back; the power is not cut."""
    with EmulatedTarget(LiveOptions("arm64", swap_mib=0)) as target:
        board = BootedBoard(target)
        board.put("/etc/init.d/S45silent", SILENT)
        with pytest.raises(RecordError, match="the board did not come back") as error:
            record(board, tmp_path / "capture", BootEnding(within_s=120.0))
        assert error.value.remedy.endswith("foreread doctor --restore --target TARGET")
        assert not (tmp_path / "capture").exists()
        with open_target(target.board.console) as console:
            assert b"S45silent" in console.run(["ls", "/etc/init.d"]).stdout
            assert console.run(["ls", "-d", HOOK_FOLDER]).status == 0
            console.run(["sh", "-c", f"{END_LEASES}; ifconfig eth0 up"])
        wait_until(lambda: is_as_before(board))
        assert board.sh(f"ls {HOOK_FOLDER} 2>/dev/null || :") == ""


def test_other_ends_and_a_board_that_has_the_boot_script(tmp_path):
    with EmulatedTarget(LiveOptions("arm64", swap_mib=0)) as target:
        board = BootedBoard(target)
        install(target, board.plan(64))
        with pytest.raises(InstallError, match="has foreread's boot script"):
            record(board, tmp_path / "refused")
        board.take_off()
        board.put("/etc/init.d/S70said", "#!/bin/sh\necho the shop is open >/dev/kmsg\n")
        ending = BootEnding(output="shop is (open|closed)", within_s=left_s())
        assert record(board, tmp_path / "said", ending).ended_by == "output"
        wait_until(lambda: left(board) == NOTHING)


FOREREAD = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from foreread.boards.ssh import SshTarget
from foreread.boards.ssh_connection import SshAddress
from test_record_boot import BootedBoard, record

target = SshTarget(SshAddress("127.0.0.1", "root", {port}), Path({known!r}), Path({key!r}))
class Board:
    pass
board = Board()
board.target = target
record(board, Path({output!r}), start={start!r})
"""


@pytest.mark.parametrize("start", ["scripts", "init"])
def test_board_removes_the_hook_itself_if_foreread_is_killed(start, tmp_path):
    """Killed while the board restarts: nobody fetches the recording."""
    with EmulatedTarget(LiveOptions("arm64", swap_mib=0)) as target:
        board = BootedBoard(target)
        program = board.sh(WHERE)
        script = FOREREAD.format(
            path=[str(Path(__file__).parent), *sys.path],
            port=target.board.address.port,
            known=str(target.board.known_hosts),
            key=str(target.board.identity),
            output=str(tmp_path / "capture"),
            start=start,
        )
        process = subprocess.Popen([sys.executable, "-c", script])
        boot = board.text("/proc/sys/kernel/random/boot_id")
        wait_until(lambda: target.board.log.read_text().count("board: init") == 2)
        wait_until(lambda: answers(board, boot))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        board.sh(END_LEASES)
        wait_until(lambda: left(board) == NOTHING)
        assert board.sh(WHERE) == program


def answers(board, before):
    try:
        return board.text("/proc/sys/kernel/random/boot_id") != before
    except Exception:
        return False
