"""Makes the golden files from ../ftrace and ../sched: ``python make.py``.

The events were recorded by the kernel; Perfetto's own builder writes them as traced_probes would:
bundles of one CPU, devices as makedev(3) encodes them.
"""

import os
import zlib
from pathlib import Path

from perfetto.trace_builder.proto_builder import TraceProtoBuilder

from foreread.analyzer.ingest import tracedat
from foreread.analyzer.ingest.tables import Kind, Rwbs

HERE = Path(__file__).parent
NAMES = {
    Kind.INSERT: "mm_filemap_add_to_page_cache",
    Kind.DELETE: "mm_filemap_delete_from_page_cache",
    Kind.BIO_QUEUE: "block_bio_queue",
    Kind.RQ_ISSUE: "block_rq_issue",
    Kind.RQ_COMPLETE: "block_rq_complete",
    Kind.FORK: "sched_process_fork",
    Kind.EXEC: "sched_process_exec",
    Kind.EXIT: "sched_process_exit",
    Kind.SWITCH: "sched_switch",
    Kind.WAKING: "sched_waking",
}
LETTERS = {Rwbs.WRITE: "W", Rwbs.READ: "R", Rwbs.AHEAD: "A", Rwbs.META: "M", Rwbs.SYNC: "S"}
BUNDLE = 40  # events


def device(dev):
    return os.makedev(dev >> 20, dev & 0xFFFFF)


def fill(made, row):
    time, _, kind, pid, dev, ino, index, value, flags = row
    made.timestamp, made.pid = time, pid
    event = getattr(made, NAMES[kind])
    event.SetInParent()
    match kind:
        case Kind.INSERT | Kind.DELETE:
            event.i_ino, event.index, event.s_dev = ino, index, device(dev)
        case Kind.BIO_QUEUE | Kind.RQ_ISSUE | Kind.RQ_COMPLETE:
            event.dev, event.sector, event.nr_sector = device(dev), index, value
            event.rwbs = "".join(letter for flag, letter in LETTERS.items() if flags & flag)
        case Kind.FORK:
            event.child_pid = value
        case Kind.EXEC:
            event.old_pid = value
        case Kind.SWITCH:
            event.prev_pid, event.prev_state, event.next_pid = pid, index, value
        case Kind.WAKING:
            made.common_flags, event.pid = index, value


def trace(source):
    events = tracedat.read(HERE.parent / source).events
    rows = list(zip(*(events[name].tolist() for name in events), strict=True))
    rows = [row for row in rows if row[2] in NAMES]
    builder = TraceProtoBuilder()
    system = builder.add_packet().system_info
    system.utsname.sysname, system.utsname.release = "Linux", "6.18.44"
    system.page_size = 4096
    for cpu in sorted({row[1] for row in rows}):
        own = [row for row in rows if row[1] == cpu]
        for first in range(0, len(own), BUNDLE):
            bundle = builder.add_packet().ftrace_events
            bundle.cpu = cpu
            for row in own[first : first + BUNDLE]:
                fill(bundle.event.add(), row)
    return builder.serialize()


if __name__ == "__main__":
    plain = trace("ftrace/v7-zstd.trace.dat")
    (HERE / "start.pftrace").write_bytes(plain)
    (HERE / "sched.pftrace").write_bytes(trace("sched/v7.trace.dat"))
    packed = TraceProtoBuilder()
    packed.add_packet().compressed_packets = zlib.compress(plain)
    (HERE / "compressed.pftrace").write_bytes(packed.serialize())
