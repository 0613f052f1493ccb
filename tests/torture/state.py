"""A full dump of all that a foreread may leave changed on a machine, and its comparison.

Keys are words: what it is, and where. What others change is left out: loop devices that are not the
torture's, processes without its mark, and whatever differed between dumps while nothing ran.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from boards.mounts import read_mounts
from boards.owner import is_alive, is_left

TOKEN = "FOREREAD_TORTURE"  # in the environment of all that a case starts
KNOBS = (
    "sys/block/*/queue/*",
    "sys/block/*/queue/iosched/*",
    "sys/class/bdi/*/*",
    "proc/sys/vm/*",
    "proc/sys/kernel/ftrace_enabled",
    "proc/sys/kernel/perf_event_*",
    "proc/sys/kernel/kptr_restrict",
    "proc/sys/kernel/randomize_va_space",
)
# Writing or reading these is an act; the others are counters. The kernel computes max_bytes and
# min_bytes from the ratios beside them, which are compared, and the memory that is free.
NO_KNOBS = ("stat_refresh", "drop_caches", "compact_memory", "uevent", "dev", "zoned")
NO_KNOBS += ("max_bytes", "min_bytes")
TRACING = (
    "current_tracer",
    "tracing_on",
    "trace_clock",
    "buffer_size_kb",
    "set_event",
    "set_event_pid",
    "set_ftrace_filter",
    "dynamic_events",
    "kprobe_events",
    "uprobe_events",
    "events/enable",
)
# In a mount namespace of its own, so that looking changes nothing.
LOOK = """
mount -t tracefs looking /mnt 2>/dev/null && cd /mnt || exit 0
ls instances | sed 's/^/instances /'
for name; do sed "s|^|$name |" "$name" 2>/dev/null; done
"""
FOLDERS = ("/run/foreread-*", "/dev/shm/foreread-*", "/tmp/foreread-*", "/var/tmp/foreread-*")
NOTES = Path("/run/foreread")
_JOB = re.compile(r"foreread-[0-9a-f]{16}")  # of a target's
_TAG = re.compile(r"foreread[-_](?:[a-z]+-)*(\d+)[-_](\d+)")
_LOOP = re.compile(r"/loop\d+/|/bdi/7:\d+/")
State = dict[str, str]


def dump(own_loops: tuple[str, ...], scratch: Path, token: str) -> State:
    """Return everything; ``own_loops`` are the names of the torture's loop devices."""
    found: State = {}
    found |= dict(_knobs())
    found |= dict(_mounts())
    found |= dict(_tracing())
    found |= dict(_groups())
    found |= dict(_loops(str(scratch)))
    found |= dict(_files(scratch))
    found |= {f"process {pid}": name for pid, name in processes(token)}
    return {key: value for key, value in found.items() if _is_ours(key, own_loops)}


def differences(before: State, after: State, unsteady: set[str]) -> list[str]:
    """Return a line for each thing that is new, gone or different."""
    return [
        f"{key}: {before.get(key, 'not there')!r} -> {after.get(key, 'not there')!r}"
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key) and key not in unsteady and _counts(key, before, after)
    ]


def unsteady(dumps: list[State]) -> set[str]:
    """Return the keys that differ between dumps while nothing was done."""
    first, *others = dumps
    keys = {key for one in dumps for key in one}
    return {key for key in keys for one in others if one.get(key) != first.get(key)}


def processes(token: str) -> Iterator[tuple[int, str]]:
    """Yield the living processes that a case has started, by the mark in their environment."""
    mark = f"{TOKEN}={token}".encode()
    for directory in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (directory / "environ").read_bytes().split(b"\0"):
                words = (directory / "cmdline").read_bytes().replace(b"\0", b" ")
                name = (directory / "comm").read_text().strip()
                yield int(directory.name), f"{name}: {words.decode(errors='replace')[:150]}"


def in_force() -> bool:
    """Return whether a journal or a boot script has written down that something is changed."""
    notes = [path for path in NOTES.glob("*") if path.name not in ("lock", "tracefs")]
    return bool(notes) or any(Path("/run").glob("foreread-apply*"))


def _is_ours(key: str, own_loops: tuple[str, ...]) -> bool:
    """Leave out the knobs of loop devices of others while they come and go."""
    match = _LOOP.search(key)
    return match is None or any(f"/{name}/" in key for name in own_loops) or "/bdi/" in key


def _counts(key: str, before: State, after: State) -> bool:
    """Whether a difference counts: not if another program's loop device came or went."""
    return not _LOOP.search(key) or (key in before and key in after)


def _knobs() -> Iterator[tuple[str, str]]:
    for pattern in KNOBS:
        for path in Path("/").glob(pattern):
            if path.name not in NO_KNOBS and path.is_file() and os.access(path, os.R_OK):
                with suppress(OSError):
                    yield f"knob {path}", path.read_text(errors="replace").strip()


def _mounts() -> Iterator[tuple[str, str]]:
    """Yield the mounts of a place in their order, since one may hide another."""
    found: dict[str, list[str]] = {}
    for mount in read_mounts():
        how = f"{mount.fstype} {mount.source} {mount.root} {mount.options} {mount.super_options}"
        found.setdefault(mount.mountpoint, []).append(how)
    for place, stacked in found.items():
        dead = [how for how in stacked if not _lives(how)]
        if dead and not (dead[-1].startswith("tracefs ") and _others_trace()):
            yield f"mount {place}", " | ".join(dead)


def _tracing() -> Iterator[tuple[str, str]]:
    command = ["unshare", "--mount", "--propagation=private", "sh", "-c", LOOK, "sh", *TRACING]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        name, _, value = line.partition(" ")
        if not _lives(value):
            found.setdefault(name, []).append(value)
    for name, lines in found.items():
        if name == "instances":
            for value in lines:
                yield f"trace instance {value}", ""
        else:
            yield f"tracing {name}", "\n".join(sorted(lines))


def _groups() -> Iterator[tuple[str, str]]:
    """Yield the groups by foreread's name; others, such as those of log-ins, come and go."""
    for folder in Path("/sys/fs/cgroup").rglob("*foreread*/"):
        yield f"cgroup {folder}", ""


def _loops(scratch: str) -> Iterator[tuple[str, str]]:
    for file in Path("/sys/block").glob("loop*/loop/backing_file"):
        with suppress(OSError):
            image = file.read_text().strip()
            if image.startswith(scratch) or "foreread" in image:
                yield f"loop device /dev/{file.parts[3]}", image


def _files(scratch: Path) -> Iterator[tuple[str, str]]:
    """Yield the files that dead forereads have in memory, and all in the cases' own folder."""
    tops = [path for pattern in FOLDERS for path in Path("/").glob(pattern.lstrip("/"))]
    tops = [path for path in tops if is_left(path.name) or _JOB.fullmatch(path.name)]
    tops += list((scratch / "tmp").iterdir()) if scratch.exists() else []
    tops += list(NOTES.iterdir()) if NOTES.is_dir() else []
    for top in tops:
        if not _lives(top.name) and top.name != "lock":
            yield f"file {top}", "folder" if top.is_dir() else "file"
            for path in _below(top):
                yield f"file {path}", ""


def _below(top: Path) -> Iterator[str]:
    """Yield the paths below a folder; others may remove it meanwhile."""
    for folder, folders, files in os.walk(top):
        yield from (f"{folder}/{name}" for name in (*folders, *files))


def _others_trace() -> bool:
    """Whether another foreread uses tracefs: its last user unmounts it."""
    return any(_lives(note.name) for note in NOTES.glob("*.mount"))


def _lives(text: str) -> bool:
    """Whether the text names an owner that lives: another foreread on this machine."""
    return any(is_alive("-".join(match)) for match in _TAG.findall(text))
