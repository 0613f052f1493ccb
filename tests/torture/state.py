"""A full dump of all that a foreread may leave changed on a machine, and its comparison.

Keys are words: what it is, and where. The changes of other programs are left out: loop devices and
mounts that are neither the torture's nor a foreread's, processes without the torture's mark, all
that a living foreread has made or noted in its journal, and whatever differed between dumps while
nothing ran.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from foreread.boards.base.owner import MARK, is_alive, is_left
from foreread.boards.mounts import read_mounts
from foreread.tracer.local.jobs import PLACES

TOKEN = "FOREREAD_TORTURE"  # in the environment of all that a case starts
KNOBS = (
    "sys/block/*/queue/*",
    "sys/block/*/queue/iosched/*",
    "sys/class/bdi/*/*",
    "sys/fs/ext4/*/inode_readahead_blks",
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
ANOTHERS = "another's mount"
LEFTOVERS = ("cgroup ", "file ", "process ", "trace instance ")
_JOB = re.compile(r"foreread-([0-9a-f]{16})\b")  # on a target
_OWNER = re.compile(r"\d+-\d+")
_TAG = re.compile(r"foreread[-_](?:[a-z]+-)*(\d+)[-_](\d+)")
_KNOB_OPTION = re.compile(r",inode_readahead_blks=\d+")  # a knob, which others may have journalled
_LOOP = re.compile(r"/(loop\d+|bdi/7:\d+)/")
State = dict[str, str]


def dump(own_loops: tuple[str, ...], scratch: Path, token: str) -> State:
    """Return everything; ``own_loops`` are the names of the torture's loop devices."""
    return {
        **dict(_knobs(own_loops, token)),
        **dict(_mounts(str(scratch))),
        **dict(_tracing()),
        **dict(_groups()),
        **dict(_loops(str(scratch))),
        **dict(_files(scratch, token)),
        **{f"process {pid}": name for pid, name in processes(token)},
    }


def differences(before: State, after: State, unsteady: set[str]) -> list[str]:
    """Return a line for each thing that is new, gone or different.

    What dead forereads left may go: any foreread removes it.
    """
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
    for directory in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if _is_marked(directory, token):
                words = (directory / "cmdline").read_bytes().replace(b"\0", b" ")
                name = (directory / "comm").read_text().strip()
                yield int(directory.name), f"{name}: {words.decode(errors='replace')[:150]}"


def in_force(token: str) -> bool:
    """Return whether a journal or a boot script has written down that something is changed."""
    jobs = (journal for journal, _ in _job_journals() if not _is_of_others(journal, token))
    return bool(_notes(token)) or any(jobs) or Path("/run/foreread.saved").exists()


def _notes(token: str) -> list[Path]:
    """Return the journals and notes but those of living forereads of others."""
    notes = [path for path in NOTES.glob("*") if path.name != "lock"]
    return [path for path in notes if not _is_others(path, token)]


def _is_marked(process: Path, token: str) -> bool:
    return f"{TOKEN}={token}".encode() in (process / "environ").read_bytes().split(b"\0")


def _is_others(note: Path, token: str) -> bool:
    """Return whether a living process that no case has started keeps this note."""
    pid = note.stem.removeprefix("foreread-").partition("-")[0]  # TAG, foreread-TAG.mount
    with suppress(OSError):
        return not _is_marked(Path(f"/proc/{pid}"), token)
    return False


def _counts(key: str, before: State, after: State) -> bool:
    """Whether a difference counts: not if a leftover goes, or a device or another's mount comes."""
    goes, comes = key not in after, key not in before
    if key.startswith(LEFTOVERS):
        return not goes
    return not (key.startswith(("knob ", ANOTHERS)) and (goes or comes))


def _knobs(own_loops: tuple[str, ...], token: str) -> Iterator[tuple[str, str]]:
    """Yield all but those of others' loop devices, which come, go, and are set by their owners."""
    own = {*own_loops, *(f"bdi/{_text(Path(f'/sys/block/{name}/dev'))}" for name in own_loops)}
    noted = _noted_by_others(token)
    for pattern in KNOBS:
        for path in Path("/").glob(pattern):
            loop = _LOOP.search(str(path))
            if path.name in NO_KNOBS or (loop and loop[1] not in own):
                continue
            if path.is_file() and os.access(path, os.R_OK):
                with suppress(OSError):
                    old = noted.get(path.resolve()) if noted else None
                    yield f"knob {path}", old or _text(path)


def _noted_by_others(token: str) -> dict[Path, str]:
    """Return the old value of each knob that living forereads of others have changed."""
    found: dict[Path, str] = {}
    for knob, old in _journals(token):
        found.setdefault(knob.resolve(), old)
        if knob.name == "read_ahead_kb":  # of a disk, it has a second name
            found.setdefault((knob.parents[1] / "bdi" / knob.name).resolve(), old)
    return found


def _journals(token: str) -> Iterator[tuple[Path, str]]:
    """Yield knobs and old values of others' recordings and jobs here (tracer/runs/knobs.sh)."""
    for journal, text in (*_own_journals(), *_job_journals()):
        if _is_of_others(journal, token):
            for line in text.splitlines():
                knob, old, *_ = line.split("\t")
                yield Path(knob), old


def _own_journals() -> Iterator[tuple[Path, str]]:
    for journal in NOTES.glob("*/journal"):
        with suppress(OSError):
            yield journal, journal.read_text()


def _job_journals() -> Iterator[tuple[Path, str]]:
    for place in PLACES:
        for journal in place.glob("foreread-*/journal"):
            with suppress(OSError):
                yield journal, journal.read_text()


def _is_of_others(journal: Path, token: str) -> bool:
    """Return whether no case has started the owner of a journal, or the host of a job."""
    if _OWNER.fullmatch(journal.parent.name):
        return _is_others(journal.parent, token)
    host = journal.with_name("host")
    return not host.exists() or _is_others(Path(_text(host)), token)


def _text(file: Path) -> str:
    return file.read_text(errors="replace").strip()


def _mounts(scratch: str) -> Iterator[tuple[str, str]]:
    """Yield the mounts, with those of one place and source in their order."""
    found: dict[str, list[str]] = {}
    for mount in read_mounts():
        what = f"{mount.mountpoint} {mount.fstype} {mount.source} {mount.root}"
        if _lives(what) or (_TAG.match(mount.source) and _others_trace()):
            continue
        ours = mount.fstype in ("tracefs", "debugfs") or scratch in what
        ours = ours or bool(_TAG.search(what) or _JOB.search(what))
        key = f"mount {what}" if ours else f"{ANOTHERS} {what}"
        options = _KNOB_OPTION.sub("", mount.super_options)
        found.setdefault(key, []).append(f"{mount.options} {options}")
    for key, options in found.items():
        yield key, " | ".join(options)


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
            for value in filter(_TAG.match, lines):
                yield f"trace instance {value}", ""
        else:
            yield f"tracing {name}", "\n".join(sorted(lines))


def _groups() -> Iterator[tuple[str, str]]:
    """Yield those of dead forereads; others, such as those of log-ins, come and go."""
    for folder in Path("/sys/fs/cgroup").rglob("foreread-*/"):
        if is_left(folder.name):
            yield f"cgroup {folder}", ""


def _loops(scratch: str) -> Iterator[tuple[str, str]]:
    for file in Path("/sys/block").glob("loop*/loop/backing_file"):
        with suppress(OSError):
            image = file.read_text().strip()
            if image.startswith(scratch) or (_TAG.search(image) and not _lives(image)):
                yield f"loop device /dev/{file.parts[3]}", image


def _files(scratch: Path, token: str) -> Iterator[tuple[str, str]]:
    """Yield the files that dead forereads have in memory, and all in the cases' own folder."""
    tops = [path for pattern in FOLDERS for path in Path("/").glob(pattern.lstrip("/"))]
    tops = [path for path in tops if is_left(path.name) or _JOB.fullmatch(path.name)]
    tops += list((scratch / "tmp").iterdir()) if scratch.exists() else []
    tops += _notes(token)
    for top in tops:
        if not _lives(top.name):
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
    """Whether the text names an owner that lives: another foreread on this machine, or its job."""
    tags = ("-".join(match) for match in _TAG.findall(text))
    return any(map(is_alive, tags)) or any(map(_job_lives, _JOB.findall(text)))


def _job_lives(number: str) -> bool:
    """Whether the job's foreread lives, or a process with its script or its mark."""
    for host in (place / f"foreread-{number}/host" for place in PLACES):
        with suppress(OSError):
            if is_alive(_text(host)):
                return True
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if number.encode() in (process / "cmdline").read_bytes():
                return True
            if f"{MARK}={number}".encode() in (process / "environ").read_bytes():
                return True
    return False
