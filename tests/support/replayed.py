"""Recordings of a few events and system calls, and what is built from them."""

from __future__ import annotations

import numpy as np
from event_table import event, insert, read, table

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.program.build import build
from foreread.emulator.linux.operations import FILE, Op
from foreread.tracer.formats.capture import NO_METADATA, FileEntry

PAGE = 4096
PROT_READ, PROT_EXEC, PRIVATE, ANONYMOUS = 1, 4, 2, 0x20
BASE = 0x7F00_0000_0000


def fault(ino, page, **more):
    return event(Kind.FAULT, ino=ino, index=page, **more)


def pages(ino, first, last, **more):
    return event(Kind.GET_PAGES, ino=ino, index=first, value=last, **more)


def brought(ino, page, **more):
    """A page that is inserted and read."""
    return [insert(ino, page, **more), read(page * 8, 1, **more)]


def entry(ino, size=100 * PAGE, **more):
    return FileEntry(dev="7:0", ino=ino, path=f"/file{ino}", size_bytes=size, **more)


def made(events, entries=(), calls=None, threads=None):
    """Return what is built from events, and from system calls {name: [(time, pid, ...)]}."""
    calls = calls or {}

    def fields(name, names):
        rows = calls[name]
        columns = dict(zip(("time_ns", "pid", *names), zip(*rows, strict=True), strict=True))
        return {key: _numbers(value) for key, value in columns.items()}

    names = frozenset(calls)
    trace = Trace("test", table(*events), event_names=names, read_fields=fields if calls else None)
    recording = interpret(trace, NO_METADATA, list(entries), threads or "all")
    files = np.zeros(recording.files.rows, FILE)
    files["size"], files["window"] = recording.files["size_bytes"], -1
    return build(recording, files)


def _numbers(values):
    """As the readers have them: u8 where a number needs it."""
    return np.array(values, np.uint64 if max(values) > np.iinfo(np.int64).max else np.int64)


def done(built):
    return [(Op(op), at, length) for op, _, _, at, length in built.program.operations.tolist()]
