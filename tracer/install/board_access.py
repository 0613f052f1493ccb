"""The board during an installation: its init system, mounts and files, through a Target."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from foreread.boards.base.scratch import scratch_folder
from foreread.boards.mounts import MountPoint, is_under, parse_mount
from foreread.boards.target import Target
from foreread.tracer.error import InstallError
from foreread.tracer.formats.boot_files import SCRIPT_PLACES
from foreread.tracer.install.init_system import INITTAB, PROBED, RCS
from foreread.tracer.install.manifest import sha256

STEP_S = 60.0  # a board may be slow, and its flash slower
_IN_MEMORY = ("tmpfs", "ramfs", "rootfs")
_REMEDIES = {
    errno.EROFS: "make it writable (mount -o remount,rw), or build the files into the image: "
    'INSTALL.md, "Yocto" and "Buildroot"',
    errno.ENOSPC: "free some space there",
    errno.EACCES: "log in to the target as root",
    errno.EPERM: "log in to the target as root",
}


def refused_by_target(error: OSError) -> InstallError:
    """Return the InstallError for a failed call on the target."""
    remedy = _REMEDIES.get(error.errno or 0, "check this path on the target")
    return InstallError(f"{error.filename} on the target: {error.strerror}", remedy)


@dataclass(frozen=True)
class BoardFacts:
    """Facts that decide how to install: process 1, existing paths, mounts of the directories."""

    exe: str
    has: frozenset[str]
    directories: dict[str, str]  # with symbolic links resolved
    mounts: tuple[MountPoint, ...]
    inittab: str
    rcs: str

    def obstacle(self, directory: str, *, programs: bool = True) -> str:
        """Return why a file, or a program, cannot be kept there, or an empty string."""
        if directory not in self.directories:
            return "is absent"
        mount = self._mount(self.directories[directory])
        if mount is None:
            return ""
        options = {*mount.options.split(","), *mount.super_options.split(",")}
        if "ro" in options:
            return "is read-only"
        if programs and "noexec" in options:
            return "runs no programs (noexec)"
        upper = [o.removeprefix("upperdir=") for o in options if o.startswith("upperdir=")]
        kept = self._mount(upper[0]) if mount.fstype == "overlay" and upper else mount
        return (
            "is in memory and does not survive a reboot"
            if kept and kept.fstype in _IN_MEMORY
            else ""
        )

    def on_one_mount(self, *directories: str) -> bool:
        """Return whether all these directories are on the same mount."""
        return len({self._mount(self.directories[path]) for path in directories}) == 1

    def _mount(self, path: str) -> MountPoint | None:
        covering = [mount for mount in self.mounts if is_under(path, mount.mountpoint)]
        # Of two mounts on one directory the later one is visible: max() keeps the first of equals.
        return max(reversed(covering), key=lambda mount: len(mount.mountpoint), default=None)


class BoardAccess:
    """Calls on_target.sh, and compares files."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._program = (files(__package__) / "on_target.sh").read_bytes()

    def call(self, verb: str, *words: str) -> list[str]:
        """Return the lines that a function of on_target.sh prints. Raises InstallError."""
        command = ["sh", "-s", "--", verb, *words]
        done = self.target.run(command, stdin=self._program, timeout_s=STEP_S)
        if done.status:
            last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise InstallError(
                f"the target could not {verb} the files: {last or f'status {done.status}'}",
                "free some space there, or check the message of its shell",
            )
        return done.stdout.decode(errors="surrogateescape").split("\n")[:-1]

    def look(self, *more: str) -> BoardFacts:
        """Return the facts about the board, and about ``more`` directories."""
        directories = [*more, *(place.rpartition("/")[0] for place in SCRIPT_PLACES), "/etc/init.d"]
        facts: dict[str, list[str]] = {}
        for line in self.call("look", *directories, "--", *PROBED):
            kind, _, rest = line.partition(" ")
            facts.setdefault(kind, []).append(rest)
        resolved = [line.partition(" ") for line in facts.get("directory", [])]
        return BoardFacts(
            exe=facts.get("exe", [""])[0].removesuffix(" (deleted)"),
            has=frozenset(facts.get("has", [])),
            directories={path: real for path, _, real in resolved},
            mounts=tuple(_mounts(facts.get("mount", []))),
            inittab=self.text(INITTAB),
            rcs=self.text(RCS),
        )

    def text(self, path: str) -> str:
        """Return a file of the board, or an empty string if it does not exist."""
        content = self.content(path)
        return "" if content is None else content.decode(errors="surrogateescape")

    def content(self, path: str) -> bytes | None:
        """Return the bytes of a file of the board, or None if it does not exist."""
        with scratch_folder() as folder:
            copy = Path(folder, "copy")
            try:
                self.target.pull(path, copy)
            except FileNotFoundError:
                return None
            return copy.read_bytes()

    def states(self, paths: Sequence[str]) -> dict[str, str]:
        """Return the state of each path: absent, other, "link TARGET", or a file's SHA-256."""
        if not paths:
            return {}
        lines = self.call("states", *paths)
        if len(lines) != len(paths):
            raise InstallError(
                "cannot parse the target's reply",
                "log in and check that its shell prints nothing by itself",
            )
        by_path = dict(zip(paths, lines, strict=True))
        return {p: self._digest(p) if state == "file" else state for p, state in by_path.items()}

    def _digest(self, path: str) -> str:
        with scratch_folder() as folder:
            copy = Path(folder, "copy")
            self.target.pull(path, copy)
            return sha256(copy)


def _mounts(lines: Sequence[str]) -> list[MountPoint]:
    mounts = []
    for line in lines:
        try:
            mounts.append(parse_mount(line))
        except (ValueError, IndexError):
            continue  # the shell's read cannot tell a line with a newline in it
    return mounts
