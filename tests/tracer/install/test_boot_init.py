"""The program that records a boot from its first process: as process 1, and how it gets there.

It runs as process 1 of namespaces of its own, on a root in memory: busybox, and an init that notes
what it finds. tests/kernel/test_record_boot.py boots boards.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib import resources

import pytest
from chroot_board import FOLDERS, INITS, ROOT_MOUNT, board_with_init
from hook_board import FILES, SCRIPT, TOKEN, WATCH_S, Board, files_of
from requirements import busybox_chroot_missing
from rings import further
from waiting import left_s

from foreread.tracer.error import InstallError
from foreread.tracer.install.boot_hook import BoardHook

MISSING = busybox_chroot_missing()
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)
as_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="needs root: no process 1 of a namespace was recorded"
)
STAND_IN = (resources.files("foreread.tracer.remote") / "boot_init.sh").read_bytes()
LAID = "etc/foreread-boot"
# Runs in the place of the real init; /out is seen from outside.
REAL_INIT = """\
#!/bin/sh
echo "$$ ${0##*/} $*" >/out/ran
[ ! -e /etc/foreread-boot/armed ] || : >/out/armed
[ ! -d /sbin/.foreread-init ] || cat /sbin/init >/out/init
cat /etc/foreread-boot/memory/foreread-*/marks/trace_marker >/out/marked 2>/dev/null
while read -r _ place _ options _; do
    [ "$place" != / ] || printf %s "${options%%,*}" >/out/root
done </proc/mounts
[ ! -e /broken ] || exit 0
[ ! -e /etc/foreread-boot/hook ] || sh /etc/foreread-boot/hook done
tries=0
[ "$(cat /out/root)" = rw ] || tries=600
while [ -d /etc/foreread-boot ] && [ -s /out/marked ] && [ $tries -lt 600 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
[ ! -e /recorded ] || cp /recorded /out
cp /sbin/init /out/after
find / -xdev -name '*foreread*' >/out/left
"""
NAMESPACE = """\
set -e
mount -t tmpfs root "$1"
cp -a "$2/." "$1"
rm -rf "$1/proc" "$1/sys" "$1/dev"
mkdir -p "$1/proc" "$1/sys" "$1/dev" "$1/out"
mount --bind "$3" "$1/out"
[ "$4" = rw ] || mount -o remount,ro "$1"
exec chroot "$1" /sbin/init --of kernel
"""


def hook_on(board, done=True):
    return BoardHook(board, SCRIPT, done=done, stand_in=STAND_IN)


def board_that_starts(kind, folder):
    """Return a board on which the kernel starts the program that process 1 is."""
    board = board_with_init(kind, folder, Board)
    program = folder / INITS[kind].lstrip("/")
    if not program.exists():
        board.put(INITS[kind].lstrip("/"), REAL_INIT)
        program.chmod(0o755)
    board.directory("sbin", "out")
    if INITS[kind] != "/sbin/init":
        (folder / "sbin/init").symlink_to(os.path.relpath(program, folder / "sbin"))
    return board


@pytest.mark.parametrize("done", further([True, False]))
@pytest.mark.parametrize("kind", INITS)
def test_removing_leaves_the_board_as_it_was(kind, done, tmp_path):
    board = board_that_starts(kind, tmp_path)
    before = board.tree()
    hook = hook_on(board, done)
    hook.install(FILES, TOKEN, WATCH_S)
    assert board.get("sbin/init").encode() == STAND_IN
    assert (tmp_path / LAID / "memory").exists() == (kind != "systemd")
    assert "S00foreread-boot" not in str(board.tree())
    assert hook.remove() is True
    assert board.tree() == before
    assert hook.remove() is False


@pytest.mark.parametrize("kind", further(["busybox", "sysv", "systemd"]))
def test_power_cut_at_any_step_leaves_an_init_that_starts_and_a_hook_that_is_removed(
    kind, tmp_path
):
    cuts = 0
    for at in range(1, 100):
        root = tmp_path / str(at)
        root.mkdir()
        board = board_that_starts(kind, root)
        before = files_of(board)
        board.fail_at = at
        hook = hook_on(board)
        hook.remove = lambda: None  # nobody can, after a power cut
        try:
            hook.install(FILES, TOKEN, WATCH_S)
        except InstallError:
            cuts += 1
        else:
            break
        board.fail_at = None
        assert starts(board, kind), f"cut at call {at}"
        hook_on(board).remove()
        assert files_of(board) == before, f"cut at call {at}"
        assert starts(board, kind)
    assert cuts > 12


def starts(board, kind):
    """Return whether /sbin/init becomes the board's own init program, under its own name."""
    done = board.run(["/sbin/init"])
    if kind == "busybox":
        return b"init: must be run as PID 1" in done.stderr
    written = board.root / "out/ran"
    ran = written.read_text().split()[1:] if written.exists() else []
    for path in (board.root / "out").iterdir():
        path.unlink()
    return ran == ["init"]


class Booted:
    """What an init found that the stand-in has started; ``boot`` starts it once more."""

    def __init__(self, tmp_path):
        self.tree, self.out, self.root = (tmp_path / name for name in ("tree", "out", "root"))
        for folder in (self.tree, self.out, self.root):
            folder.mkdir()
        self.board = Board(self.tree, "/sbin/init")
        self.board.directory(*FOLDERS["sysv"])
        for applet in ("cat", "find", "mount", "umount"):
            link = self.tree / "bin" / applet
            if not link.is_symlink():
                link.symlink_to("busybox")
        self.board.put("sbin/init", REAL_INIT)
        (self.tree / "sbin/init").chmod(0o755)
        self.hook = hook_on(self.board)

    def install(self, files=FILES, watch_s=WATCH_S):
        self.hook.install(files, TOKEN, watch_s)
        self.hook.arm()  # in "boot-1", which is not the boot of this machine

    def boot(self, root="rw"):
        for path in self.out.iterdir():
            path.unlink()
        enter = ["unshare", "--mount", "--propagation=private", "--pid", "--fork"]
        places = [self.root, self.tree, self.out]
        subprocess.run(
            [*enter, "sh", "-c", NAMESPACE, "sh", *places, root],
            env={"PATH": os.environ["PATH"]},
            check=False,
            timeout=left_s(),
        )
        assert self.said("ran").split() == ["1", "init", "--of", "kernel"]
        return self

    def said(self, name):
        """Return what the init wrote down."""
        path = self.out / name
        return path.read_text() if path.exists() else ""


@pytest.fixture
def booted(tmp_path):
    if shutil.which("unshare") is None:
        pytest.skip("no unshare: no process 1 of a namespace was recorded")
    return Booted(tmp_path)


@as_root
@pytest.mark.parametrize("root", ["rw", "ro"])
def test_the_boot_is_recorded_from_its_first_process(booted, root):
    """The init program is in its place before anything is recorded, and the root as it was."""
    booted.install()
    booted.boot(root)
    assert booted.said("marked") == "start\n"
    assert booted.said("init") == REAL_INIT
    assert not (booted.out / "armed").exists()
    assert booted.said("root") == root
    assert booted.said("after") == REAL_INIT
    if root == "rw":
        assert booted.said("recorded") == "boot-done\n"
        assert booted.said("left") == ""


@as_root
def test_unarmed_stand_in_executes_init_alone(booted):
    booted.install()
    (booted.tree / LAID / "armed").unlink()
    booted.boot()
    assert booted.said("marked") == ""
    assert booted.said("after").encode() == STAND_IN


@as_root
@pytest.mark.parametrize(
    ("recorder", "watch_s"),
    [
        pytest.param(b"exit 1\n", WATCH_S, id="fails"),
        pytest.param(b"sleep 99\n", 1, id="hangs", marks=pytest.mark.thorough),
    ],
)
def test_init_starts_without_a_recorder(booted, recorder, watch_s):
    booted.install(FILES | {"job.sh": recorder}, watch_s)
    booted.boot()
    assert booted.said("marked") == ""
    assert booted.said("after") == REAL_INIT


@as_root
def test_init_starts_if_the_hook_hangs(booted):
    booted.install()
    stand_in = STAND_IN.replace(b"limit_s=90", b"limit_s=1")
    assert stand_in != STAND_IN
    (booted.tree / "sbin/init").write_bytes(stand_in)
    booted.board.put(f"{LAID}/hook", "sleep 1000\n")
    booted.board.put("broken", "")
    booted.boot()


@as_root
@pytest.mark.parametrize("name", further(["hook", "place.sh", "paths"]))
def test_init_starts_whatever_a_damaged_disk_left_of_the_recorder(booted, name):
    """A file of the recorder that ends at any of its lines, for the shell within a construct."""
    booted.install()
    booted.board.put("broken", "")
    lines = booted.board.get(f"{LAID}/{name}").splitlines(keepends=True)
    for length in range(0, len(lines), max(1, len(lines) // 12)):
        booted.board.put(f"{LAID}/{name}", "".join(lines[:length]))
        booted.boot()


@as_root
@pytest.mark.parametrize("refused", ["mount -t", "provide devtmpfs /dev"])
def test_board_that_refuses_a_mount_boots_on_and_the_next_boot_is_as_usual(booted, refused):
    booted.install()
    stand_in = STAND_IN.decode().replace(refused, "false")
    assert stand_in != STAND_IN.decode()
    (booted.tree / "sbin/init").write_text(stand_in)
    booted.boot()
    assert booted.said("marked") == ""
    assert not (booted.out / "armed").exists()
    assert booted.said("init") == REAL_INIT


@pytest.mark.parametrize(
    ("files", "exe", "why"),
    [
        ({"proc/cmdline": "quiet init=/bin/other\n"}, "/sbin/init", "starts /bin/other, but"),
        ({}, "/bin/busybox", "starts /sbin/init, but process 1 is /bin/busybox"),
        (
            {"proc/self/mountinfo": f"{ROOT_MOUNT}21 20 179:3 / /etc rw - ext4 /dev/b rw\n"},
            "/sbin/init",
            "on different mounts",
        ),
        ({"proc/cmdline": "init=/bin/$(reboot)\n"}, "/sbin/init", "cannot stand in"),
    ],
)
def test_boards_that_would_not_start_it_are_refused(files, exe, why, tmp_path):
    board = Board(tmp_path, exe)
    board.directory(*FOLDERS["sysv"])
    board.put("sbin/init", REAL_INIT)
    board.put("bin/other", "")
    for name, text in files.items():
        board.put(name, text)
    before = board.tree()
    with pytest.raises(InstallError, match=why.replace("$", r"\$")) as error:
        hook_on(board).install(FILES, TOKEN, WATCH_S)
    assert error.value.remedy.endswith("leave out --from init")
    assert board.tree() == before
