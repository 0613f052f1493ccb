"""The boot script on emulated boards with busybox init: installed through ssh, applied by a boot.

Figures are printed (``make test-all`` keeps them in its logs), in guest time.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from statistics import median

import pytest
from booted_board import CLOCK, KNOB, SCRIPT, BootedBoard, tell
from named_recordings import record_named_on
from waiting import wait_until

from foreread.analyzer.apply import Board, Prefetch
from foreread.analyzer.apply.write import REPLAYER_SCRIPT, REPLAYER_SOURCE, shipped
from foreread.analyzer.ingest.load import load
from foreread.analyzer.prefetch import encode, find_ranges
from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.machine.install import install
from foreread.tracer.error import InstallError
from foreread.tracer.install.install import uninstall
from foreread.tracer.install.manifest import MANIFEST
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions

pytestmark = pytest.mark.boards

MARK = f"#!/bin/sh\nread -r now <{CLOCK}\necho $now >/run/${{0##*/}}\n"


@pytest.fixture(scope="module")
def booted():
    # No swap file: while it is in use, the root cannot become read-only.
    with EmulatedTarget(LiveOptions("arm64", swap_mib=0)) as target:
        yield BootedBoard(target)


@pytest.fixture
def board(booted):
    yield booted
    booted.sh("mount -o remount,rw /; rm -f /ballast /etc/init.d/S04* /etc/init.d/S06*")
    booted.take_off()


def test_values_are_in_force_before_the_application_starts(board):
    assert board.kb == 128
    done = install(board.target, board.plan(64))
    assert (done.manifest.init, done.fits) == ("busybox", True)
    assert board.kb == 128, "not before the next boot"
    board.boot()
    assert board.start().kb == 64
    assert "128 -> 64" in board.log
    assert board.status(f"{SCRIPT} status") == 0
    assert board.status(f"{SCRIPT} stop") == 0
    assert board.kb == 128
    assert board.status(f"{SCRIPT} status") == 3
    assert board.status("/etc/init.d/S05foreread restart") == 0
    assert board.kb == 64
    uninstall(board.target)
    assert board.kb == 128
    board.boot()
    assert board.start().kb == 128


def test_two_phases_end_with_the_init_scripts(board):
    board.sh("cp /usr/bin/app /etc/init.d/S06early")
    install(board.target, board.plan(64, after=32))
    board.boot()
    assert board.start("S06early").kb == 64
    assert board.start().kb == 32, "inittab's come after the init scripts"
    assert board.status(f"{SCRIPT} status") == 0
    board.sh(f"{SCRIPT} stop")
    assert board.kb == 128


def test_two_phases_by_time(board):
    install(board.target, board.plan(64, after=32, boot_done_seconds=15))
    board.boot()
    assert board.start().kb == 64
    wait_until(lambda: board.kb == 32)
    assert float(board.text("/proc/uptime").split()[0]) > 15


def test_board_it_was_not_made_for(board):
    other = replace(board.plan(64), board=Board("aarch64", "5.10", "Some Board"))
    with pytest.raises(InstallError, match=r"made for kernel '5\.10'"):
        install(board.target, other)
    assert not install(board.target, other, force=True).fits
    board.boot()
    assert board.start().kb == 128
    assert "made for kernel '5.10', and this is '6.1" in board.log
    assert board.status(f"{SCRIPT} status") == 3


def test_read_only_knob(board):
    install(board.target, board.plan(64))
    lock = (
        "mkdir /run/ro",
        "mount -t tmpfs ro /run/ro",
        f"cat {KNOB} >/run/ro/knob",
        "mount -t tmpfs -o remount,ro ro /run/ro",
        f"mount -o bind /run/ro/knob {KNOB}",
    )
    board.put("/etc/init.d/S04lock", "\n".join(["#!/bin/sh", *lock, ""]))
    board.boot()
    assert board.start().kb == 128
    assert f"{KNOB}: asked for 64, the kernel has 128" in board.log
    assert board.status(f"{SCRIPT} status") == 1


def test_full_root_keeps_what_it_had(board):
    install(board.target, board.plan(64))
    before = board.sh(f"sha256sum {SCRIPT} {MANIFEST}")
    board.sh(
        "dd if=/dev/zero of=/ballast bs=64k 2>/dev/null; dd if=/dev/zero bs=512 >>/ballast"
        " 2>/dev/null; sync; df / | grep -q ' 100% '"
    )
    with pytest.raises(InstallError, match="No space left") as error:
        install(board.target, board.plan(32))
    assert "free some space" in error.value.remedy
    assert board.sh(f"sha256sum {SCRIPT} {MANIFEST}") == before
    assert ".foreread" not in board.files_of_foreread()
    uninstall(board.target)
    board.sh(": >/ballast; dd if=/dev/zero of=/ballast bs=64k 2>/dev/null; :")
    board.sh("dd if=/dev/zero bs=512 >>/ballast 2>/dev/null; :")
    with pytest.raises(InstallError, match="No space left"):
        install(board.target, board.plan(32))
    assert board.files_of_foreread() == ""


def test_read_only_root(board):
    board.sh("mount -o remount,ro /")
    with pytest.raises(InstallError, match="/etc of the target is read-only") as error:
        install(board.target, board.plan())
    assert "remount,rw" in error.value.remedy
    board.sh("mount -o remount,rw /")
    install(board.target, board.plan(64))
    board.sh("mount -o remount,ro /")
    with pytest.raises(InstallError, match="read-only"):
        uninstall(board.target)
    assert board.status(f"[ -e {SCRIPT} ]") == 0


def test_root_that_boots_read_only_is_set_too(board):
    install(board.target, board.plan(64))
    board.put("/etc/init.d/S04readonly", "#!/bin/sh\nmount -o remount,ro /\n")
    board.boot()
    assert board.start().kb == 64
    assert "/dev/slow0 / ext4 ro," in board.text("/proc/mounts")
    assert board.status(f"{SCRIPT} stop") == 0
    assert board.kb == 128


def test_inittab_where_init_scripts_are_not_run(board):
    rcs = board.text("/etc/init.d/rcS")
    own = rcs.replace("for script in /etc/init.d/S??*; do", "for script in $LIST; do")
    assert own != rcs
    board.put(
        "/etc/init.d/rcS",
        f"#!/bin/sh\nLIST='/etc/init.d/S40network /etc/init.d/S50dropbear'\n{own}\n",
    )
    inittab = board.text("/etc/inittab")
    try:
        done = install(board.target, board.plan(64))
        assert "::sysinit:/usr/sbin/foreread-apply start" in board.text("/etc/inittab")
        assert done.notes
        board.boot()
        assert board.start().kb == 64
        uninstall(board.target)
        assert board.text("/etc/inittab") == inittab
    finally:
        board.put("/etc/init.d/rcS", rcs + "\n")


def test_kernel_command_line_switches_it_off(capsys):
    with EmulatedTarget(LiveOptions("arm64", swap_mib=0, append="foreread=off")) as target:
        board = BootedBoard(target)
        install(target, board.plan(64))
        board.boot()
        assert board.start().kb == 128
        assert "foreread=off: nothing is set" in board.log
        assert board.status(f"{SCRIPT} status") == 3


@pytest.fixture(scope="module")
def listing(booted, tmp_path_factory):
    """The list of the application's start, recorded on the board."""
    output = tmp_path_factory.mktemp("recorded") / "capture"
    options = RecordOptions(RunOptions(["/usr/bin/app"], allow_warm=True))
    record_named_on(booted.target, options, output)
    return encode(find_ranges(load(output)).listing)


@pytest.mark.parametrize("which", ["program", "script"])
def test_the_list_is_replayed_while_the_board_boots(board, listing, which, tmp_path, capsys):
    replayer = shipped(REPLAYER_SCRIPT)
    if which == "program":
        source, program = tmp_path / REPLAYER_SOURCE, tmp_path / "program"
        source.write_bytes(shipped(REPLAYER_SOURCE))
        compiler = ["aarch64-linux-gnu-gcc", "-std=c11", "-O2", "-static"]
        subprocess.run([*compiler, "-o", program, source], check=True)
        replayer = program.read_bytes()
    board.boot()
    alone = board.start()
    plan = replace(board.plan(128), prefetch=Prefetch(listing, replayer))
    install(board.target, plan)
    board.boot()
    listed = board.start()
    ms = [one.guest_ns / 1e6 for one in (alone, listed)]
    tell(
        capsys,
        f"arm64, {which}: first start after boot, without a list {ms[0]:.1f} ms and "
        f"{alone.requests} requests, with it {ms[1]:.1f} ms and {listed.requests}",
    )
    assert listed.sectors < alone.sectors / 2
    assert board.text("/run/foreread.prefetching").isdigit()
    assert board.status(f"{SCRIPT} stop") == 0
    assert board.status("[ -e /run/foreread.prefetching ]") == 1
    uninstall(board.target)
    assert board.files_of_foreread() == ""


def test_cost_of_the_boot_and_the_first_start(board, capsys):
    """Three boots with and without: the script's time, and the application right after boot."""
    for name in ("S04mark", "S06mark"):
        board.put(f"/etc/init.d/{name}", MARK)

    def boots():
        spans, ends, starts = [], [], []
        for _ in range(3):
            board.boot()
            begin, end = (int(board.text(f"/run/{name}")) for name in ("S04mark", "S06mark"))
            spans.append((end - begin) / 1e6)
            ends.append(end / 1e6)
            starts.append(board.start())
        return median(spans), median(ends), starts

    span, end, default = boots()
    install(board.target, board.plan(64))
    span_with, end_with, applied = boots()
    ms = [median(one.guest_ns for one in starts) / 1e6 for starts in (default, applied)]
    tell(
        capsys,
        f"arm64: the script takes {span_with - span:.1f} ms of a boot, which is "
        f"{end_with - end:+.1f} ms longer up to there",
    )
    tell(
        capsys,
        f"arm64: first start after boot, 128 KiB {ms[0]:.1f} ms, 64 KiB {ms[1]:.1f} ms: "
        f"ratio {ms[1] / ms[0]:.3f}",
    )
    assert {one.kb for one in default} == {128}
    assert {one.kb for one in applied} == {64}
    assert {one.sectors for one in applied} < {one.sectors for one in default} or ms[1] < ms[0]
    assert span_with - span <= 20
