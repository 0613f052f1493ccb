"""Everything an application did that matters to readahead, in one order of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from analyzer.ingest.recording import Recording, Trace
from analyzer.ingest.tables import Array, Kind


class What(IntEnum):
    """What happened; below 100 the Kind of an event."""

    INSERT = Kind.INSERT
    FAULT = Kind.FAULT
    GET_PAGES = Kind.GET_PAGES
    MAP_PAGES = Kind.MAP_PAGES
    RA_UNBOUNDED = Kind.RA_UNBOUNDED
    FORK = Kind.FORK
    EXEC = Kind.EXEC
    READ = 100  # a read(2) begins: fd, count
    PREAD = 101  # fd, count, position
    READV = 102  # fd
    PREADV = 103  # fd, position
    SENDFILE = (
        104  # fd, where its position is (0: in the struct file), count; so splice and its like
    )
    OPEN = 105  # flags
    OPENED = 106  # fd
    DUP = 107  # fd
    DUPED = 108  # fd
    DUP_TO = 109  # fd, new fd, and flags if it is dup3
    FCNTL = 110  # fd, command, argument
    FCNTLED = 111  # what it returned
    CLOSE = 112  # fd
    CLOSE_RANGE = 113  # first fd, last fd, flags
    LSEEK = 114  # fd
    LSEEKED = 115  # position
    MMAP = 116  # length, protection, flags, fd, position
    MAPPED = 117  # address
    MUNMAP = 118  # address, length
    MREMAP = 119  # address, old length, new length
    MREMAPPED = 120  # address
    MPROTECT = 121  # address, length, protection
    MADVISE = 122  # address, length, advice
    FADVISE = 123  # fd, position, length, advice
    READAHEAD = 124  # fd, position, length
    CLONED = 125  # thread, clone flags; by the thread itself
    OTHER = 126  # a call of which nothing matters but that it was made


@dataclass(frozen=True, slots=True)
class Moment:
    """One thing that a thread did, at ``time_ns``; ``values`` are as :class:`What` says.

    Events of pages: dev, inode, page index, value; of processes: value.
    """

    what: int
    time_ns: int
    pid: int
    values: tuple[int, ...]


_CALLS: tuple[tuple[What, str, tuple[str, ...]], ...] = (
    (What.READ, "syscalls:sys_enter_read", ("fd", "count")),
    (What.PREAD, "syscalls:sys_enter_pread64", ("fd", "count", "pos")),
    (What.READV, "syscalls:sys_enter_readv", ("fd",)),
    (What.PREADV, "syscalls:sys_enter_preadv", ("fd", "pos_l")),
    (What.PREADV, "syscalls:sys_enter_preadv2", ("fd", "pos_l")),
    (What.SENDFILE, "syscalls:sys_enter_sendfile64", ("in_fd", "offset", "count")),
    (What.SENDFILE, "syscalls:sys_enter_splice", ("fd_in", "off_in", "len")),
    (What.SENDFILE, "syscalls:sys_enter_copy_file_range", ("fd_in", "off_in", "len")),
    (What.OPEN, "syscalls:sys_enter_openat", ("flags",)),
    (What.OPEN, "syscalls:sys_enter_open", ("flags",)),
    (What.OPENED, "syscalls:sys_exit_openat", ("ret",)),
    (What.OPENED, "syscalls:sys_exit_open", ("ret",)),
    (What.DUP, "syscalls:sys_enter_dup", ("fildes",)),
    (What.DUPED, "syscalls:sys_exit_dup", ("ret",)),
    (What.DUP_TO, "syscalls:sys_enter_dup2", ("oldfd", "newfd")),
    (What.DUP_TO, "syscalls:sys_enter_dup3", ("oldfd", "newfd", "flags")),
    (What.FCNTL, "syscalls:sys_enter_fcntl", ("fd", "cmd", "arg")),
    (What.FCNTLED, "syscalls:sys_exit_fcntl", ("ret",)),
    (What.CLOSE, "syscalls:sys_enter_close", ("fd",)),
    (What.CLOSE_RANGE, "syscalls:sys_enter_close_range", ("fd", "max_fd", "flags")),
    (What.LSEEK, "syscalls:sys_enter_lseek", ("fd",)),
    (What.LSEEKED, "syscalls:sys_exit_lseek", ("ret",)),
    (What.MMAP, "syscalls:sys_enter_mmap", ("len", "prot", "flags", "fd", "off")),
    (What.MAPPED, "syscalls:sys_exit_mmap", ("ret",)),
    (What.MUNMAP, "syscalls:sys_enter_munmap", ("addr", "len")),
    (What.MREMAP, "syscalls:sys_enter_mremap", ("addr", "old_len", "new_len")),
    (What.MREMAPPED, "syscalls:sys_exit_mremap", ("ret",)),
    (What.MPROTECT, "syscalls:sys_enter_mprotect", ("start", "len", "prot")),
    (What.MADVISE, "syscalls:sys_enter_madvise", ("start", "len_in", "behavior")),
    (What.FADVISE, "syscalls:sys_enter_fadvise64", ("fd", "offset", "len", "advice")),
    (What.READAHEAD, "syscalls:sys_enter_readahead", ("fd", "offset", "count")),
    (What.CLONED, "task:task_newtask", ("pid", "clone_flags")),  # pid: the new thread's
)
_EVENTS = (
    Kind.INSERT,
    Kind.FAULT,
    Kind.GET_PAGES,
    Kind.MAP_PAGES,
    Kind.RA_UNBOUNDED,
    Kind.FORK,
    Kind.EXEC,
)


def moments(recording: Recording) -> Iterator[Moment]:
    """Yield what happened, in order; inserts of all threads, the rest of the application's."""
    events = recording.trace.events
    rows = np.flatnonzero(np.isin(events["kind"], _EVENTS))
    own = _of(recording, events["pid"][rows])
    rows = rows[own | (events["kind"][rows] == Kind.INSERT)]
    named = ("kind", "time_ns", "pid", "dev", "ino", "index", "value")
    columns = [events[name][rows].tolist() for name in named]
    times, found = [events["time_ns"][rows]], []
    for kind, at, pid, dev, ino, index, value in zip(*columns, strict=True):
        values = (value,) if kind in (Kind.FORK, Kind.EXEC) else (dev, ino, index, value)
        found.append(Moment(kind, at, pid, values))
    for what, time, calls in _system_calls(recording):
        times.append(time)
        found += [Moment(what, call[0], call[1], call[2:]) for call in calls]
    order = np.argsort(np.concatenate(times), kind="stable")
    told = [found[at] for at in order.tolist()]
    for at in _last_before_exec(told):
        told[at] = Moment(What.OTHER, told[at].time_ns, told[at].pid, ())
    yield from told


def _last_before_exec(told: list[Moment]) -> list[int]:
    """Return the reads that are a thread's last call before an exec: what follows, exec reads."""
    found = []
    ends: dict[int, bool] = {}  # by thread: whether its next call is an exec
    for at in range(len(told) - 1, -1, -1):
        what, pid = told[at].what, told[at].pid
        if what in (What.READ, What.PREAD) and ends.get(pid):
            found.append(at)
        if what == What.EXEC or what >= What.READ:
            ends[pid] = what == What.EXEC
    return found


def _system_calls(recording: Recording) -> Iterator[tuple[What, Array, list[tuple[int, ...]]]]:
    """Yield each kind of call with its times and (time, pid, arguments)."""
    for what, name, fields in _CALLS:
        columns = _fields(recording.trace, name, fields)
        if columns is None:
            continue
        wanted = _of(recording, columns["pid"]) & _within(recording, columns["time_ns"])
        arguments = [columns[field][wanted].tolist() for field in ("time_ns", "pid", *fields)]
        yield what, columns["time_ns"][wanted], list(zip(*arguments, strict=True))


def _fields(trace: Trace, event: str, names: tuple[str, ...]) -> dict[str, Array] | None:
    if trace.read_fields is None or event not in trace.event_names:
        return None
    return trace.read_fields(event, names)


def _of(recording: Recording, pid: Array) -> Array:
    """Return a mask of the application's threads."""
    if recording.threads is None:
        return np.ones(len(pid), bool)
    return np.isin(pid, np.fromiter(recording.threads, np.int64, len(recording.threads)))


def _within(recording: Recording, time: Array) -> Array:
    capture = recording.capture
    if capture is None:
        return np.ones(len(time), bool)
    return np.asarray((time >= capture.start_ns) & (time < capture.end_ns))
