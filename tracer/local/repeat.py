"""Run a recorded command again in the same environment and control groups."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from foreread.boards.mounts import read_mounts
from foreread.tracer.error import RecordError

_NAMES = {"PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TERM", "SHELL", "USER", "LOGNAME"} | {
    "DISPLAY",
    "WAYLAND_DISPLAY",
}
_FAMILIES = re.compile(
    r"(LC|LD|XDG|QT|QML\d?|GTK|GDK|SDL|GST|PYTHON|PERL5?|NODE|JAVA|JDK|R|MALLOC|MESA)_?\w*"
)
# Captures are shared with others: nothing that looks like a secret is stored.
_SECRET = re.compile(r"SECRET|TOKEN|PASS|KEY|CREDENTIAL|AUTH|COOKIE", re.IGNORECASE)
_LONGEST = 4096
_LIMITS = ("io.max", "blkio.throttle.read_bps_device", "blkio.throttle.read_iops_device")


def environment(of: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables that change how programs start: search paths, locale, toolkits."""
    return {
        name: value
        for name, value in sorted(of.items())
        if _repeated(name) and len(value) <= _LONGEST
    }


def cgroups(cgroup_file: Path = Path("/proc/self/cgroup")) -> list[str]:
    """Return the lines of /proc/PID/cgroup with a group that limits reads, or is below one."""
    try:
        lines = cgroup_file.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    return [line for line in lines if (folder := _folder(line)) and _is_limited(folder)]


@contextmanager
def repeated(variables: Mapping[str, str], groups: Sequence[str]) -> Iterator[None]:
    """Start processes in the block with these variables, in these control groups.

    Without ``variables`` (a capture that holds none) the environment stays as it is. Raises
    RecordError if a group is gone.
    """
    before = dict(os.environ)
    own = [line for line in _own_groups() if _hierarchy(line) in set(map(_hierarchy, groups))]
    try:
        if variables:
            for name in [name for name in os.environ if _repeated(name)]:
                del os.environ[name]
            os.environ.update(variables)
        for line in groups:
            _join(line)
        yield
    finally:
        for line in own:
            _join(line)
        os.environ.clear()
        os.environ.update(before)


def _repeated(name: str) -> bool:
    known = name in _NAMES or _FAMILIES.fullmatch(name) is not None
    return known and not _SECRET.search(name)


def _hierarchy(line: str) -> str:
    """Return the controllers of a line of /proc/PID/cgroup; its number differs by boot."""
    return line.split(":", 2)[1] if line.count(":") >= 2 else line


def _own_groups() -> list[str]:
    try:
        return Path("/proc/self/cgroup").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []


def _join(line: str) -> None:
    folder = _folder(line)
    if folder is None:
        raise RecordError(
            f"the control group {line!r} of the recorded run is not mounted here",
            "mount it and set its limits, or record again",
        )
    try:
        if line not in _own_groups():
            (folder / "cgroup.procs").write_text(f"{os.getpid()}\n")
    except OSError as error:
        raise RecordError(
            f"the control group {folder} of the recorded run cannot be joined: {error.strerror}",
            "create it and set its limits, or record again without it",
        ) from error


def _folder(line: str) -> Path | None:
    """Return the folder of a line of /proc/PID/cgroup; None if its hierarchy is not mounted."""
    _, controllers, path = line.split(":", 2) if line.count(":") >= 2 else ("", "", "")
    if not path.startswith("/") or ".." in path.split("/"):
        return None
    for mount in read_mounts():
        options = mount.super_options.split(",")
        fits = mount.fstype == "cgroup2" if not controllers else mount.fstype == "cgroup"
        if fits and set(filter(None, controllers.split(","))) <= set(options):
            return Path(mount.mountpoint + path) if path != "/" else Path(mount.mountpoint)
    return None


def _is_limited(folder: Path) -> bool:
    """Return whether reads are limited in the group or in one above it."""
    for group in (folder, *folder.parents):
        for name in _LIMITS:
            try:
                text = (group / name).read_text()
            except OSError:
                continue
            if any("=" not in line or re.search(r"\br(bps|iops)=\d", line) for line in _rows(text)):
                return True
        if not (group / "cgroup.procs").exists():
            return False
    return False


def _rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]
