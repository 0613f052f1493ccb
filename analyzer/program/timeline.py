"""Everything an application did that matters to readahead, in one order of time."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

import numpy as np

from foreread.analyzer.ingest.accesses import of_threads, rows_of
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Kind, Table, of_kinds, order_by


class What(IntEnum):
    """The kind of a moment; below 100 the Kind of an event."""

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
    FCNTLED = 111  # its result
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


# One thing that a thread did (struct fw_moment, core/evidence.h); ``values`` are as What says, and
# 0 where it says nothing. Of events of pages: row of the file (-1: none), page index, value, and of
# inserts whether it was one of the application's threads; of processes: value. What is beyond i8 is
# its largest number.
MOMENT = np.dtype(
    [("time_ns", "u8"), ("values", "i8", 5), ("pid", "i4"), ("what", "u1")], align=True
)
_LARGEST = np.iinfo(np.int64).max
_MOST_BYTES = 1 << 62  # of a file: an event of a page beyond that is ignored


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


def moments(recording: Recording) -> Array:
    """Return the moments (MOMENT), in order.

    Inserts into known files are from all threads, everything else from the application.
    """
    parts = [_of_events(recording), *_system_calls(recording)]
    sequence = np.concatenate(parts)
    sequence = sequence[order_by(sequence["time_ns"])]
    rows = _last_before_exec(sequence)
    sequence["what"][rows] = What.OTHER
    sequence["values"][rows] = 0
    return sequence


def _of_events(recording: Recording) -> Array:
    """Return the moments of events, in order."""
    events = recording.trace.events
    kind = events["kind"]
    own = _of(recording, events)
    inserts = kind == Kind.INSERT
    chosen = events.take(of_kinds(events, _EVENTS) & (own | inserts))
    file, of_file = rows_of(recording.files, chosen)
    kind = chosen["kind"]
    pages = ~of_kinds(chosen, (Kind.FORK, Kind.EXEC))
    moments = _moments(chosen["time_ns"], chosen["pid"], kind)
    values = moments["values"]
    number, page = _numbers(chosen["value"]), _numbers(chosen["index"])
    values[:, 0] = np.where(pages, np.where(of_file, file, -1), number)
    values[:, 1] = np.where(pages, page, 0)
    values[:, 2] = np.where(pages, number, 0)
    values[:, 3] = (kind == Kind.INSERT) & _of(recording, chosen)
    keep = ~pages | (values[:, 1] < _MOST_BYTES // recording.page_size)
    return np.asarray(moments[keep & (of_file | (kind != Kind.INSERT))])


def _moments(time_ns: Array, pid: Array, what: Array | What) -> Array:
    moments = np.zeros(len(time_ns), MOMENT)
    moments["time_ns"], moments["pid"], moments["what"] = time_ns, pid, what
    return moments


def _numbers(column: Array) -> Array:
    """Return numbers of a trace as i8."""
    if column.dtype.kind == "u":
        column = np.minimum(column, column.dtype.type(min(_LARGEST, np.iinfo(column.dtype).max)))
    return np.asarray(column.astype(np.int64))


def _last_before_exec(sequence: Array) -> Array:
    """Return the reads that are a thread's last call before an exec, which reads afterwards."""
    rows = np.flatnonzero((sequence["what"] == What.EXEC) | (sequence["what"] >= What.READ))
    rows = rows[order_by(sequence["pid"][rows])]
    what, pid = sequence["what"][rows], sequence["pid"][rows]
    then = (what[1:] == What.EXEC) & (pid[1:] == pid[:-1])
    return np.asarray(rows[:-1][then & np.isin(what[:-1], (What.READ, What.PREAD))])


def _system_calls(recording: Recording) -> Iterator[Array]:
    """Yield the moments of each kind of call."""
    trace, span_ns = recording.trace, recording.capture.span_ns
    for what, name, fields in _CALLS:
        if trace.read_fields is None or name not in trace.event_names:
            continue
        columns = trace.read_fields(name, fields)
        wanted, time_ns = _of(recording, columns), columns["time_ns"]
        if span_ns is not None:
            wanted &= (time_ns >= span_ns[0]) & (time_ns < span_ns[1])
        calls = _moments(time_ns[wanted], columns["pid"][wanted], what)
        for at, field in enumerate(fields):
            calls["values"][:, at] = _numbers(columns[field][wanted])
        yield calls


def _of(recording: Recording, table: Table | dict[str, Array]) -> Array:
    """Return a mask of the application's threads."""
    if recording.threads is None:
        return np.ones(len(table["pid"]), bool)
    return of_threads(table, recording.threads)
