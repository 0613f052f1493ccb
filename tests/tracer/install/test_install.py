"""Installing through a target, on a board that is busybox in a chroot."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from dataclasses import replace

import pytest
from chroot_board import BUILDROOT_RCS, INITS, ROOT_MOUNT, ChrootBoard, board_with_init, plan
from console_board import ConsoleBoard
from requirements import busybox_chroot_missing
from rings import further

from foreread.analyzer.apply import Board, Prefetch
from foreread.boards.console.serial import SerialAddress, SerialTarget
from foreread.boards.target import Result, TargetError
from foreread.machine.install import install
from foreread.tracer.error import InstallError
from foreread.tracer.install.install import uninstall
from foreread.tracer.install.manifest import MANIFEST

MISSING = busybox_chroot_missing()
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)
UNITS = "etc/systemd/system"


@pytest.fixture
def board(tmp_path):
    return ChrootBoard(tmp_path)


PREFETCH = Prefetch(b"foreread-prefetch 1\n0 4096 /app\n", b"#!/bin/sh\n")
PLANS = {
    "one": plan(),
    "done": plan(512, 64),
    "seconds": plan(512, 64, 30),
    "prefetch": plan(512, prefetch=PREFETCH),
    "attempts": replace(plan(512), attempts=2),
}


def started(board):
    """Run the installed script as a boot does, and return the window then in force."""
    done = board.run(["/usr/sbin/foreread-apply", "start"])
    assert done.status == 0
    return board.get("sys/block/slow0/queue/read_ahead_kb").strip()


@pytest.mark.parametrize("made", further(PLANS, ("prefetch",)))
@pytest.mark.parametrize("kind", INITS)
def test_uninstalling_leaves_the_board_as_it_was(kind, made, tmp_path):
    board = board_with_init(kind, tmp_path)
    before = board.tree()
    done = install(board, PLANS[made])
    assert done.fits
    assert any("128 -> 512" in line for line in done.would_do)
    new = board.tree().keys() - before.keys()
    listed = {path.lstrip("/") for path in [*done.manifest.paths, MANIFEST]}
    assert {name for name in new if not (tmp_path / name).is_dir() or name in listed} == listed
    assert not any("foreread-new" in name or "foreread-old" in name for name in new)
    assert started(board) == "512"
    removed = uninstall(board)
    assert {path.lstrip("/") for path in removed.paths} >= listed
    assert any("512 -> 128" in line for line in removed.said)
    assert board.tree() == before


def test_files_of_busybox_init(board):
    done = install(board, plan(512, 64))
    assert done.manifest.init == "busybox"
    done_script = "/etc/init.d/S99foreread-boot-done"
    assert set(done.manifest.files) == {"/usr/sbin/foreread-apply", done_script}
    assert done.manifest.links == {"/etc/init.d/S05foreread": "/usr/sbin/foreread-apply"}
    assert (board.root / done_script.lstrip("/")).stat().st_mode & 0o777 == 0o755
    assert board.run(["/etc/init.d/S05foreread", "start"]).status == 0
    assert board.get("sys/block/slow0/queue/read_ahead_kb") == "512\n"


def test_inittab_line_comes_after_the_last_sysinit(tmp_path):
    board = board_with_init("inittab", tmp_path)
    board.put("etc/inittab", "::sysinit:/etc/init.d/rcS\n# end\n::respawn:/app")
    done = install(board, plan(512, 64, 30))
    assert board.get("etc/inittab").split("\n") == [
        "::sysinit:/etc/init.d/rcS",
        "::sysinit:/usr/sbin/foreread-apply start",
        "::once:/bin/sh -c 'sleep 30; exec /usr/sbin/foreread-apply boot-done'",
        "# end",
        "::respawn:/app",
    ]
    assert "comes before it" in done.notes[0]
    install(board, plan(512, 64))
    assert "::once:/usr/sbin/foreread-apply boot-done\n" in board.get("etc/inittab")
    install(board, plan(512))
    assert "once" not in board.get("etc/inittab")
    assert board.get("etc/inittab").count("foreread") == 1


def test_openrc_under_busybox_init_gets_a_line_before_its_default_services(board):
    openrc = ["::sysinit:/sbin/openrc sysinit", "::sysinit:/sbin/openrc boot"]
    rest = ["::wait:/sbin/openrc default", "", "tty1::respawn:/sbin/getty 38400 tty1", ""]
    board.put("etc/inittab", "\n".join([*openrc, *rest]))
    board.put("sbin/openrc", "")
    install(board, plan())
    line = "::sysinit:/usr/sbin/foreread-apply start"
    assert board.get("etc/inittab").split("\n") == [*openrc, line, *rest]


def test_lines_that_others_add_to_inittab_stay(tmp_path):
    board = board_with_init("inittab", tmp_path)
    install(board, plan())
    board.put("etc/inittab", board.get("etc/inittab") + "::once:/new\n")
    uninstall(board)
    assert board.get("etc/inittab") == "::sysinit:/etc/init.d/rcS\n::respawn:/app\n::once:/new\n"


def test_units_are_enabled_by_links(tmp_path):
    board = board_with_init("systemd", tmp_path)
    install(board, plan(512, 64, 30))
    wants = board.root / UNITS
    for by, name in (("sysinit", "foreread.service"), ("timers", "foreread-boot-done.timer")):
        link = wants / f"{by}.target.wants" / name
        assert str(link.readlink()) == f"/{UNITS}/{name}"
    install(board, plan(512, 64))
    assert not (wants / "timers.target.wants/foreread-boot-done.timer").is_symlink()
    assert (wants / "multi-user.target.wants/foreread-boot-done.service").is_symlink()


def test_boots_are_counted_where_the_plan_says(board):
    board.put("proc/sys/kernel/random/boot_id", "one\n")
    before = board.tree()
    done = install(board, replace(plan(512), attempts=2))
    assert done.notes == []
    assert "/etc/init.d/S99foreread-boot-done" in done.manifest.files
    assert started(board) == "512"
    assert board.get("etc/foreread-apply.attempts").split()[:2] == ["1", "one"]
    assert board.run(["/etc/init.d/S99foreread-boot-done", "start"]).status == 0
    assert board.get("etc/foreread-apply.attempts").split()[:2] == ["0", "one"]
    board.directory("data")
    after = board.tree()
    install(board, replace(plan(512), attempts=2, state_dir="/data"))
    assert not (board.root / "etc/foreread-apply.attempts").exists()
    assert started(board) == "512"
    assert board.run(["/usr/sbin/foreread-apply", "boot-done"]).status == 0
    assert board.get("data/foreread-apply.attempts").split()[:2] == ["0", "one"]
    uninstall(board)
    (board.root / "data").rmdir()
    assert board.tree() == before != after


def init_calls(kind, board):
    """Return the commands of a boot: before the application, and at its end."""
    if kind == "systemd":
        units = (board.get(f"{UNITS}/foreread{end}.service") for end in ("", "-boot-done"))
        lines = [line for unit in units for line in unit.splitlines() if "ExecStart=" in line]
        return [line.removeprefix("ExecStart=").split() for line in lines]
    if kind == "procd":  # rc.common defines and calls such functions
        source = "PATH=/bin; . /etc/init.d/foreread"
        return [["sh", "-c", f"{source}; boot"], ["sh", "-c", f"{source}-boot-done; start"]]
    if kind == "inittab":
        lines = [line.split(":") for line in board.get("etc/inittab").splitlines()]
        return [line[3].split() for line in lines if "foreread" in line[3]]
    folders = {"busybox": ("init.d", "init.d"), "sysv": ("rcS.d", "rc2.d")}[kind]
    names = ("S05foreread", "S99foreread-boot-done")
    return [[f"/etc/{folder}/{name}", "start"] for folder, name in zip(folders, names, strict=True)]


@pytest.mark.parametrize("kind", INITS)
def test_every_init_system_ends_the_attempt_of_a_boot(kind, tmp_path):
    board = board_with_init(kind, tmp_path)
    install(board, replace(plan(512), attempts=2))
    start, boot_done = init_calls(kind, board)
    ends = {1: True, 2: True, 3: False, 4: True, 5: False, 6: False, 7: True, 8: True}
    windows = {}
    for number, reaches_its_end in ends.items():
        board.put("proc/sys/kernel/random/boot_id", f"{number}\n")
        board.put("sys/block/slow0/queue/read_ahead_kb", "128\n")
        assert board.run(start).status == 0
        windows[number] = board.get("sys/block/slow0/queue/read_ahead_kb").strip()
        if reaches_its_end:
            assert board.run(boot_done).status == 0
    assert windows == {number: "512" if number < 7 else "128" for number in ends}


@pytest.mark.parametrize(
    ("mount", "said"),
    [
        ("", "is absent"),
        ("21 20 0:5 / /data rw - tmpfs t rw\n", "in memory"),
        ("21 20 179:3 / /data ro - ext4 /dev/x ro\n", "is read-only"),
        ("21 20 179:3 / /data rw,noexec - ext4 /dev/x rw\n", ""),
    ],
)
def test_a_folder_that_cannot_count_boots_is_noted(board, mount, said):
    if mount:
        board.directory("data")
        board.put("proc/self/mountinfo", ROOT_MOUNT + mount)
    done = install(board, replace(plan(512), attempts=2, state_dir="/data"))
    assert len(done.notes) == bool(said)
    assert all(said in note and "--state-dir" in note for note in done.notes)


def test_list_and_replayer_come_and_go_with_the_plan(board):
    done = install(board, plan(512, prefetch=PREFETCH))
    listed = {"/usr/sbin/foreread-prefetch", "/etc/foreread-prefetch.list"}
    assert listed < set(done.manifest.files)
    assert board.get("etc/foreread-prefetch.list") == PREFETCH.listing.decode()
    assert (board.root / "usr/sbin/foreread-prefetch").stat().st_mode & 0o777 == 0o755
    assert any("brought into memory" in line for line in done.would_do)
    install(board, plan(512))
    assert not any((board.root / path.lstrip("/")).exists() for path in listed)
    assert "prefetch" not in board.get("usr/sbin/foreread-apply")


def test_another_version_is_replaced(board):
    install(board, plan(512))
    install(board, plan(64))
    assert started(board) == "64"


def test_the_same_files_put_there_by_hand_are_taken_over(board):
    before = board.tree()
    install(board, plan())
    listed = board.get(MANIFEST.lstrip("/"))
    (board.root / MANIFEST.lstrip("/")).unlink()
    install(board, plan())
    assert board.get(MANIFEST.lstrip("/")) == listed
    uninstall(board)
    assert board.tree() == before


@pytest.mark.parametrize("act", [lambda board, **more: install(board, plan(64), **more), uninstall])
def test_a_file_that_was_changed_is_kept_unless_forced(board, act):
    install(board, plan(512))
    script = "usr/sbin/foreread-apply"
    board.put(script, board.get(script) + "# my own line\n")
    before = board.tree()
    with pytest.raises(InstallError, match="foreread-apply") as error:
        act(board)
    assert "--force" in error.value.remedy
    assert board.tree() == before
    act(board, force=True)
    assert not (board.root / script).exists() or "my own line" not in board.get(script)


def test_a_foreign_file_is_kept_unless_forced(board):
    board.put("etc/init.d/S05foreread", "mine\n")
    with pytest.raises(InstallError, match="S05foreread"):
        install(board, plan())
    assert board.get("etc/init.d/S05foreread") == "mine\n"


def test_a_directory_in_the_way_is_refused_even_if_forced(board):
    board.directory("etc/init.d/S05foreread")
    with pytest.raises(InstallError, match="not a regular file"):
        install(board, plan(), force=True)


def test_another_board_is_refused_unless_forced(board):
    before = board.tree()
    other = replace(plan(), board=Board("mips", "6.1"))
    with pytest.raises(InstallError, match="made for machine 'mips'") as error:
        install(board, other)
    assert "--force" in error.value.remedy
    assert board.tree() == before
    done = install(board, other, force=True)
    assert not done.fits
    assert started(board) == "128"


def test_a_board_without_the_disk_is_refused(board):
    shutil.rmtree(board.root / "sys/block/slow0")
    with pytest.raises(InstallError, match="no disk like slow0"):
        install(board, plan())


@pytest.mark.parametrize(
    ("mount", "said"),
    [
        ("20 1 179:2 / / ro,relatime - squashfs /dev/root ro\n", "read-only"),
        ("20 1 0:2 / / rw - rootfs rootfs rw\n", "in memory"),
        (
            "19 1 0:5 / /rom/over rw - tmpfs t rw\n"
            "20 1 0:9 / / rw - overlay o rw,lowerdir=/,upperdir=/rom/over/up,workdir=/w\n",
            "in memory",
        ),
    ],
)
def test_a_root_that_keeps_nothing_is_refused(board, mount, said):
    board.put("proc/self/mountinfo", mount)
    with pytest.raises(InstallError, match=said) as error:
        install(board, plan())
    assert "remount" in error.value.remedy
    assert "image" in error.value.remedy


def test_where_etc_alone_can_be_written_the_script_goes_there(board):
    read_only = ROOT_MOUNT.replace("rw", "ro")
    etc = "21 20 179:3 / /etc rw - ext4 /dev/mmcblk0p3 rw\n"
    board.put("proc/self/mountinfo", read_only + etc)
    done = install(board, plan())
    assert done.manifest.script == "/etc/foreread-apply"
    assert board.run(["/etc/init.d/S05foreread", "start"]).status == 0
    assert board.get("sys/block/slow0/queue/read_ahead_kb") == "512\n"
    uninstall(board)
    assert not (board.root / "etc/foreread-apply").exists()


@pytest.mark.parametrize(
    ("exe", "there", "section"),
    [
        ("/sbin/runit-init", None, "Any other init"),
        ("/sbin/init", "sbin/openrc", "Any other init"),
        ("/sbin/init", "etc/init.d/.depend.boot", "busybox init or System V"),
        ("", None, "Any other init"),
    ],
)
def test_other_init_systems_are_pointed_to_install(tmp_path, exe, there, section):
    board = ChrootBoard(tmp_path, exe or "x")
    if not exe:
        (tmp_path / "proc/1/exe").unlink()
    if there:
        board.put(there, "")
    with pytest.raises(InstallError) as error:
        install(board, plan())
    assert section in error.value.remedy


def test_init_can_be_given(tmp_path):
    board = ChrootBoard(tmp_path, "/sbin/runit-init")
    assert install(board, plan(), "busybox").manifest.init == "busybox"


class Faulty(ChrootBoard):
    """Fails at the push or run number ``fail_at``: with ``error``, or as a command does."""

    def __init__(self, root, error):
        super().__init__(root)
        self.error, self.fail_at, self.calls = error, 1 << 30, 0

    def _fails(self):
        self.calls += 1
        return self.calls == self.fail_at

    def push(self, *words):
        if self._fails():
            raise self.error
        super().push(*words)

    def run(self, *words, **more):
        if not self._fails():
            return super().run(*words, **more)
        if isinstance(self.error, OSError):
            return Result(1, b"", f"cp: {self.error.strerror}\n".encode())
        raise self.error


@pytest.mark.parametrize("upgrade", further([True, False]))
@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device", "/x"),
        *further([OSError(errno.EROFS, "Read-only file system", "/x")], 0),
        *further([PermissionError(errno.EACCES, "Permission denied", "/x")], 0),
        *further([TargetError("lost", "look")], 0),
        KeyboardInterrupt(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_step_fails_the_board_keeps_what_it_had(tmp_path, error, upgrade):
    board = Faulty(tmp_path, error)
    if upgrade:
        install(board, plan(512))
    board.calls = 0
    before = board.tree()
    for fail_at in range(1, 30):
        board.calls, board.fail_at = 0, fail_at
        try:
            install(board, plan(64))
        except (InstallError, TargetError, KeyboardInterrupt) as raised:
            # Cut off from a board that may be at work, nothing is removed under its hands.
            ended = isinstance(error, OSError)
            left = {n: x for n, x in board.tree().items() if ended or ".foreread-new" not in n}
            assert left == before, fail_at
            assert isinstance(raised, KeyboardInterrupt) or raised.remedy
        else:
            break
    assert fail_at > 8
    board.fail_at = 0
    assert started(board) == "64"


@pytest.mark.kernel
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount: a failing rename was not made")
def test_a_commit_that_fails_in_the_middle_is_taken_back(board):
    install(board, plan(512))
    before = board.tree()
    busy = str(board.root / MANIFEST.lstrip("/"))
    subprocess.run(["mount", "--bind", busy, busy], check=True)
    try:
        with pytest.raises(InstallError, match="commit"):
            install(board, plan(64))
    finally:
        subprocess.run(["umount", busy], check=True)
    assert board.tree() == before


@pytest.mark.kernel
@pytest.mark.thorough
@pytest.mark.skipif(
    os.geteuid() != 0, reason="needs root for mknod: nothing was installed by a console"
)
def test_a_serial_console_is_enough(tmp_path):
    board = ChrootBoard(tmp_path / "board")
    for name, minor in (("null", 3), ("tty", 0)):
        device = os.makedev(1 if name == "null" else 5, minor)
        os.mknod(board.root / "dev" / name, 0o20666, device)
    subprocess.run(["chroot", board.root, "/bin/busybox", "--install", "-s", "/bin"], check=True)
    before = board.tree()
    console = ConsoleBoard(["chroot", str(board.root), "/bin/sh", "-i"], tmp_path)
    try:
        with SerialTarget(SerialAddress.parse(console.url)) as target:
            assert install(target, plan()).fits
            assert started(board) == "512"
            uninstall(target)
    finally:
        console.stop()
    assert board.tree() == before


def test_remains_of_an_interrupted_installation_are_removed(board):
    board.put("etc/init.d/.S05foreread.foreread-new.part", "half")
    board.put("usr/sbin/.foreread-apply.foreread-new", "old")
    install(board, plan())
    assert not any("foreread-new" in name for name in board.tree())


def test_uninstall_without_installation(board):
    with pytest.raises(InstallError, match="nothing is installed") as error:
        uninstall(board)
    assert "INSTALL.md" in error.value.remedy


@pytest.mark.parametrize(
    "manifest",
    [
        "",
        "\0\xff",
        "{}",
        '{"init":"busybox","script":"/usr/sbin/foreread-apply","files":{"/etc/passwd":"0"}}',
        '{"init":"busybox","script":"/usr/sbin/foreread-apply","files":{},'
        '"links":{"/etc/x/../../root/foreread":"0"}}',
        '{"init":"busybox","script":"/bin/busybox"}',
        '{"init":"busybox","script":"/usr/sbin/foreread-apply","files":{},'
        '"lines":{"/etc/passwd":["root"]}}',
        '{"init":"busybox","script":"/usr/sbin/foreread-apply","files":{},"directories":["/home"]}',
        '{"init":"busybox","script":"/usr/sbin/foreread-apply","attempts":"/etc/passwd"}',
        '{"init":"busybox","script":"/usr/sbin/foreread-apply",'
        '"attempts":"/x/../etc/foreread-apply.attempts"}',
        '{"init":"busybox","script":""}',
        '{"init":"udev","script":"","windows":{"/etc/passwd":["1","2"]}}',
        '{"init":"udev","script":"","windows":{"/sys/block/../x/queue/read_ahead_kb":["1","2"]}}',
        '{"init":"udev","script":"","windows":{"/sys/block/a/queue/scheduler":["1","2"]}}',
        '{"init":"udev","script":"","windows":{"/sys/block/a/queue/read_ahead_kb":["1","$x"]}}',
        '{"init":"udev","script":"","windows":{"/sys/block/a/queue/read_ahead_kb":["","2"]}}',
        '{"init":"udev","script":"","windows":{"/sys/block/a/queue/read_ahead_kb":["1"]}}',
    ],
)
def test_a_hostile_manifest_removes_nothing(board, manifest):
    board.put("etc/passwd", "root\n")
    board.put(MANIFEST.lstrip("/"), manifest)
    before = board.tree()
    for act in (lambda: uninstall(board, force=True), lambda: install(board, plan())):
        with pytest.raises(match="damaged") as error:
            act()
        assert error.value.remedy
    assert board.tree() == before


def test_rcs_is_read_as_init_reads_it(board):
    board.put("etc/init.d/rcS", "# for i in /etc/init.d/S??*\n/etc/init.d/S01mine\n")
    assert install(board, plan()).manifest.lines
    uninstall(board)
    (board.root / "etc/inittab").unlink()
    board.put("etc/init.d/rcS", BUILDROOT_RCS)
    assert not install(board, plan()).manifest.lines
    uninstall(board)
    board.put("etc/init.d/rcS", "")
    with pytest.raises(match="call the script"):
        install(board, plan())
