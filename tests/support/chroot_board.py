"""A board in a folder: busybox in a chroot, with the files of /proc and /sys it needs as files."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from foreread.analyzer.apply import ApplyPlan, Board, Disk, Prefetch, Setting
from foreread.boards.target import LocalTarget, Result

UDEVADM = """#!/bin/sh
echo "$*" >>/dev/udevadm
[ "$1" = trigger ] || exit 0
for rules in /etc/udev/rules.d/*.rules; do
    [ -f "$rules" ] || continue
    while read -r line; do
        case $line in *'ATTR{queue/read_ahead_kb}="'*) ;; *) continue ;; esac
        kb=${line##*'ATTR{queue/read_ahead_kb}="'}
        echo "${kb%%'"'*}" >/sys/block/slow0/queue/read_ahead_kb
    done <"$rules"
done
"""
APPLETS = ("cp", "ln", "mkdir", "mv", "readlink", "rm", "rmdir", "sh", "sync", "test")
DISK = Disk("slow0", 1 << 20)
BOARD = Board("aarch64", "6.1")
SYSINIT_RCS = "::sysinit:/etc/init.d/rcS\n::respawn:/app\n"
BUILDROOT_RCS = "#!/bin/sh\nfor i in /etc/init.d/S??* ;do\n  $i start\ndone\n"
ROOT_MOUNT = "20 1 179:2 / / rw,relatime - ext4 /dev/root rw\n"


def plan(
    kb: int = 512,
    after: int | None = None,
    seconds: int | None = None,
    prefetch: Prefetch | None = None,
) -> ApplyPlan:
    """Return a plan that fits the board."""
    knob = "queue/read_ahead_kb"
    settings = [Setting(knob, str(kb), "predicted best", DISK)]
    if after is not None:
        settings.append(Setting(knob, str(after), "asked for", DISK, "after"))
    return ApplyPlan(
        tuple(settings), BOARD, "a run of app", boot_done_seconds=seconds, prefetch=prefetch
    )


class ChrootBoard(LocalTarget):
    """Commands run in the chroot; files are reached from outside."""

    def __init__(self, root: Path, init: str = "/bin/busybox") -> None:
        super().__init__(root)
        busybox = shutil.which("busybox")
        assert busybox
        self.directory("bin", "etc/init.d", "usr/sbin", "run", "dev", "proc/1", "tmp")
        shutil.copy(busybox, root / "bin/busybox")
        for applet in APPLETS:
            (root / "bin" / applet).symlink_to("busybox")
        (root / "proc/1/exe").symlink_to(init)
        self.put("proc/self/mountinfo", ROOT_MOUNT)
        self.put("proc/cmdline", "quiet\n")
        self.put("proc/sys/kernel/osrelease", "6.1.0-25-arm64\n")
        self.put("proc/sys/kernel/arch", "aarch64\n")
        self.put("sys/block/slow0/size", f"{DISK.sectors}\n")
        self.put("sys/block/slow0/queue/read_ahead_kb", "128\n")
        self.put("etc/inittab", SYSINIT_RCS)
        self.put("etc/init.d/rcS", BUILDROOT_RCS)

    def run(self, command, stdin=b"", timeout_s=None) -> Result:
        """Run it in the chroot."""
        enter = ["chroot"] if os.geteuid() == 0 else ["unshare", "-r", "chroot"]
        done = subprocess.run(
            [*enter, self.root, *command],
            input=stdin,
            capture_output=True,
            timeout=timeout_s,
            check=False,
            env={"PATH": "/bin:/usr/sbin:" + os.environ["PATH"]},
        )
        return Result(done.returncode, done.stdout, done.stderr)

    def write_knob(self, path: str, value: str) -> str:
        """Set the knob, and end its line as the kernel does."""
        return super().write_knob(path, f"{value}\n")

    def run_udev(self) -> None:
        """Let a udev run on the board whose udevadm sets what the rules set, when triggered."""
        self.put("run/udev/control", "")
        self.put("bin/udevadm", UDEVADM)
        (self.root / "bin/udevadm").chmod(0o755)

    def directory(self, *names: str) -> None:
        """Make directories."""
        for name in names:
            (self.root / name).mkdir(parents=True, exist_ok=True)

    def put(self, name: str, text: str) -> None:
        """Write a file."""
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def get(self, name: str) -> str:
        """Read a file."""
        return (self.root / name).read_text()

    def tree(self) -> dict[str, str]:
        """Return every path with what is there, but for /dev, to be compared."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            name = str(path.relative_to(self.root))
            if name.startswith("dev/"):
                continue
            if path.is_symlink():
                found[name] = f"-> {path.readlink()}"
            elif path.is_file():
                found[name] = f"{path.stat().st_mode:o} {path.read_bytes()!r}"
            else:
                found[name] = "directory"
        return found


# By the program that init is, and by what each one reads.
INITS = {
    "busybox": "/bin/busybox",
    "inittab": "/bin/busybox",
    "systemd": "/usr/lib/systemd/systemd",
    "procd": "/sbin/procd",
    "sysv": "/sbin/init",
}
FOLDERS = {
    "systemd": ("etc/systemd/system",),
    "procd": ("etc/rc.d",),
    "sysv": ("etc/rcS.d", *(f"etc/rc{number}.d" for number in range(7))),
}


def board_with_init(
    init: str, folder: Path, kind: Callable[[Path, str], ChrootBoard] = ChrootBoard
) -> ChrootBoard:
    """Return a board in a folder with one of INITS; ``inittab``: its rcS calls no other scripts."""
    board = kind(folder, INITS[init])
    board.directory(*FOLDERS.get(init, ()))
    if init == "inittab":
        board.put("etc/init.d/rcS", "#!/bin/sh\nmount -a\n")
    return board
