"""Mount options as knobs, changed by a remount, here and on a target.

A knob ``mount:WORDS:DIRECTORY`` belongs to the file system that is mounted on the directory. Its
words are alternatives (``relatime,noatime,strictatime``), or a key whose value is a number
(``commit=``). Read and written by the shell file that jobs on targets and boot scripts include.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from boards.mounts import MountPoint, mount_of
from boards.target import Target

PREFIX = "mount:"
DIRECTORY = "{mount}"  # in a template of a knob
_PLAIN = re.compile(r"/[A-Za-z0-9_./+-]{0,99}")  # else mountinfo has it in octal
_KNOB = re.compile(rf"{PREFIX}([a-z0-9_]+(?:,[a-z0-9_]+)*|[a-z0-9_]+=):({_PLAIN.pattern})")
# A second Ctrl-C while everything is put back must not end this half-way.
_CALL = """trap '' INT TERM HUP; "$@" && mount_value "$2" && printf %s "$value\""""


def is_mount_option(knob: str) -> bool:
    """Return whether the knob is a mount option; its directory is then a plain path."""
    match = _KNOB.fullmatch(knob)
    return match is not None and ".." not in match[2].split("/")


def alternatives(knob: str) -> list[str]:
    """Return the words that a mount option chooses among, none for one that is a number."""
    words = knob.split(":")[1]
    return [] if words.endswith("=") else words.split(",")


def read_option(target: Target, knob: str) -> str:
    """Return the value in force; FileNotFoundError where that cannot be determined."""
    return _call(target, errno.ENOENT, "mount_value", knob)


def write_option(target: Target, knob: str, value: str) -> str:
    """Remount with ``value`` and return the value in force; OSError if it is refused."""
    return _call(target, errno.EINVAL, "mount_write", knob, value)


def shell_functions() -> str:
    """Return ``mount_value`` and ``mount_write`` for a POSIX shell."""
    return (resources.files("boards") / "remount.sh").read_text()


def remountable(mounts: list[MountPoint], wanted: Iterable[MountPoint]) -> str:
    """Return where the first of ``wanted`` is mounted that its options can be changed of, or "".

    It must be seen, its path plain, and read-only only together with its file system.
    """
    for mount in wanted:
        at = mount.mountpoint
        alone = mount.options.split(",")[0] != mount.super_options.split(",")[0]
        seen = mount_of(Path(at), mounts, follow=False) == mount
        if seen and not alone and _PLAIN.fullmatch(at):
            return at
    return ""


def _call(target: Target, otherwise: int, *words: str) -> str:
    script = f"{shell_functions()}\n{_CALL}"
    done = target.run(["sh", "-c", script, "sh", *words])
    if done.status:
        why = os.fsdecode(done.stderr).strip() or os.strerror(otherwise)
        raise OSError(otherwise, why, words[1])
    return os.fsdecode(done.stdout)
