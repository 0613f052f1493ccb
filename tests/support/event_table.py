"""Builds EVENTS tables by hand, one short line an event."""

from __future__ import annotations

import numpy as np

from foreread.analyzer.ingest.tables import EVENTS, Kind, Rwbs, Table

DISK = (7 << 20) | 0
BDEV = 3  # the bdev pseudo file system: an anonymous device
R = int(Rwbs.READ)
RUNS, SLEEPS, BLOCKS, DEAD = 0, 1, 2, 32  # prev_state
SOFTIRQ = 16  # common_flags


def event(kind, pid=1, dev=DISK, ino=0, index=0, value=0, flags=0, time_ns=None, cpu=0):
    return (time_ns, cpu, kind, pid, dev, ino, index, value, flags)


def insert(ino, index, order=0, **more):
    return event(Kind.INSERT, ino=ino, index=index, value=order, **more)


def read(sector, pages, flags=R, **more):
    return event(Kind.BIO_QUEUE, index=sector, value=pages * 8, flags=flags, **more)


def metadata_insert(page, **more):
    return event(Kind.INSERT, dev=BDEV, ino=DISK, index=page, **more)


def switch(time_ns, old, new, state=RUNS, cpu=0):
    return event(Kind.SWITCH, pid=old, value=new, index=state, time_ns=time_ns, cpu=cpu)


def wake(time_ns, waker, woken, flags=0, cpu=0):
    return event(Kind.WAKING, pid=waker, value=woken, index=flags, time_ns=time_ns, cpu=cpu)


def table(*events):
    """Return the events as a table; without a time they are one microsecond apart."""
    rows = [(1000 * (i + 1) if e[0] is None else e[0], *e[1:]) for i, e in enumerate(events)]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(EVENTS.columns)
    return Table(
        EVENTS,
        {
            c.name: np.array(values, c.dtype)
            for c, values in zip(EVENTS.columns, columns, strict=True)
        },
    )
