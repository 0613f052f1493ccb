"""Reader of blktrace's binary traces: requests of a disk, and nothing of files.

A record is struct blk_io_trace of include/uapi/linux/blktrace_api.h (version 7; Linux 2.6.17 to
6.19), in the byte order of the traced machine, followed by ``pdu_len`` bytes. blktrace writes a
file for each CPU (``NAME.blktrace.N``), which are read together; ``blkparse -d`` writes one of all.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from foreread.analyzer.ingest.allowance import grant
from foreread.analyzer.ingest.columns import by_time
from foreread.analyzer.ingest.losses import UNKNOWN_CPU, missing_cpus, numbers
from foreread.analyzer.ingest.recording import Trace, TraceError
from foreread.analyzer.ingest.requests import find_requests
from foreread.analyzer.ingest.tables import EVENTS, Array, Kind, Rwbs, Table
from foreread.boards.base.bounded import read_bounded
from foreread.tracer.formats.limits import MOST_TRACE_BYTES, RECORD_LESS, check_cpus, check_size

_MAGIC = 0x65617407  # BLK_IO_TRACE_MAGIC | BLK_IO_TRACE_VERSION
_MAGICS = {order: struct.pack(f"{order}I", _MAGIC) for order in "<>"}
_FIELDS = (
    ("magic", "u4"),
    ("sequence", "u4"),
    ("time", "u8"),
    ("sector", "u8"),
    ("bytes", "u4"),
    ("action", "u4"),
    ("pid", "u4"),
    ("device", "u4"),
    ("cpu", "u4"),
    ("error", "u2"),
    ("pdu_len", "u2"),
)
_RECORD_BYTES, _PDU_LEN_AT, _SECTOR_BYTES = 48, 46, 512
# enum blktrace_act, below the categories (blktrace_cat) from bit BLK_TC_SHIFT on.
_SHIFT = 16
_KINDS = {1: Kind.BIO_QUEUE, 7: Kind.RQ_ISSUE, 8: Kind.RQ_COMPLETE}
_NOTIFY, _DRV_DATA = 1 << 10, 1 << 14
_FLAGS = (
    (1 << 1, Rwbs.WRITE),
    (1 << 2, Rwbs.FLUSH),
    (1 << 3, Rwbs.SYNC),
    (1 << 11, Rwbs.AHEAD),
    (1 << 12, Rwbs.META),
    (1 << 13, Rwbs.DISCARD),
)
_COLUMNS = {"time_ns": "time", "cpu": "cpu", "pid": "pid", "dev": "device", "index": "sector"}
_OF_CPU = re.compile(r"(.*\.blktrace\.)([0-9]{1,5})")
_FEW = 0.1  # of the requests: those under way when blktrace starts and ends
NOTES = (
    "blktrace contains requests alone: no files and no pages, so that no window can be predicted "
    "from it",
    "times begin when blktrace started",
)
_DAMAGED = "copy the file again, or record again with blktrace -d DISK -o NAME"


def begins(head: bytes) -> bool:
    """Return whether ``head`` begins a blktrace file of either byte order."""
    return head.startswith(tuple(_MAGICS.values()))


def read(path: Path) -> Trace:
    """Decode the blktrace files of all CPUs; ``path`` is any of them.

    Raises TraceError for a damaged file, LimitError for one that is too large; OSError if it
    cannot be read.
    """
    tables, notes, total, lost = [], [], 0, Counter[int]()
    files = _files(path)
    for file in files:
        size = file.stat().st_size
        total += size
        check_size(f"{file} with the files before it", total, MOST_TRACE_BYTES, RECORD_LESS)
        grant(size)
        data = read_bounded(file, size, _DAMAGED)
        records, rest = _records(data, file)
        if rest:
            notes.append(f"{file.name} ends inside a record: its rest is left out")
            lost[int(records["cpu"][-1]) if len(records) else UNKNOWN_CPU] += 1
        lost += _dropped(records)
        tables.append(_events(records))
    events = by_time(tables)
    cpus = {int(match[2]) for file in files if (match := _OF_CPU.fullmatch(file.name))}
    lost[UNKNOWN_CPU] += _half(events)
    return Trace(
        format="blktrace",
        events=events,
        lost={cpu: count for cpu, count in lost.items() if count},
        uncounted=_uncounted(cpus or {*np.unique(events["cpu"]).tolist()}),
        event_names=frozenset({"block:block_bio_queue", "block:block_rq_issue"}),
        notes=(*notes, *NOTES),
    )


def _dropped(records: Array) -> Counter[int]:
    """Return the records that each CPU lacks: blk_add_trace numbers them for each disk from 1."""
    records = np.unique(records[["cpu", "device", "sequence"]])
    records = records[records["sequence"] > 0]  # notes have none
    cpu, device = records["cpu"], records["device"]
    changes = (cpu[1:] != cpu[:-1]) | (device[1:] != device[:-1])
    last = np.flatnonzero(np.append(changes, len(records) > 0))
    dropped = Counter[int]()
    counts = np.diff(last, prepend=-1)
    for record, count in zip(records[last], counts, strict=True):
        dropped[int(record["cpu"])] += int(record["sequence"]) - int(count)
    return dropped


def _half(events: Table) -> int:
    """Return the requests without issue or without completion, if more than a few are.

    The data of a CPU are missing then.
    """
    kind, whole = events["kind"], events["value"] > 0
    issues, ends = (whole & (kind == each) for each in (Kind.RQ_ISSUE, Kind.RQ_COMPLETE))
    if not issues.any() or not ends.any():
        return 0  # blktrace -a can leave either out
    requests = find_requests(events.take(whole))
    answered = int(np.count_nonzero(requests["complete_ns"]))
    half = (requests.rows - answered) + (int(ends.sum()) - answered)
    return half if half > _FEW * requests.rows else 0


def _uncounted(cpus: Collection[int]) -> str:
    """Return why losses would not show: the records of a CPU may be missing as a whole."""
    without = missing_cpus(cpus)
    if without:
        return f"the records of CPU {numbers(without)} are missing"
    return "" if len(cpus) > 1 else "there are records of one CPU, and others may be missing"


def _files(path: Path) -> list[Path]:
    """Return the files of all CPUs, from the folder of ``path``; ``path`` if it names no CPU."""
    match = _OF_CPU.fullmatch(path.name)
    if match is None:
        return [path]
    named = [file for file in path.parent.iterdir() if file.name.startswith(match[1])]
    files = [file for file in named if _OF_CPU.fullmatch(file.name) and file.is_file()]
    check_cpus(len(files), str(path))
    return sorted(file for file in files if file.stat().st_size)


def _records(data: bytes, path: Path) -> tuple[Array, int]:
    """Return the records, and how many bytes at the end are not a whole one."""
    order = next((order for order, magic in _MAGICS.items() if data.startswith(magic)), None)
    if order is None:
        raise TraceError(f"{path} is not a blktrace file of version 7", _DAMAGED)
    places = list(_places(data, order, path))
    kept = b"".join(data[begin : begin + _RECORD_BYTES] for begin, _ in places)
    dtype = np.dtype([(name, order + kind) for name, kind in _FIELDS])
    return np.frombuffer(kept, dtype), abs(len(data) - places[-1][1] if places else len(data))


def _places(data: bytes, order: str, path: Path) -> Iterator[tuple[int, int]]:
    """Yield where each record begins, and where the next one does."""
    magic, length = _MAGICS[order], struct.Struct(f"{order}H")
    at = 0
    while at + _RECORD_BYTES <= len(data):
        if data[at : at + 4] != magic:
            raise TraceError(f"{path} has no record at byte {at:,}", _DAMAGED)
        end = at + _RECORD_BYTES + length.unpack_from(data, at + _PDU_LEN_AT)[0]
        yield at, end
        at = end


def _events(records: Array) -> Table:
    """Return the requests among the records, as events."""
    action, categories = records["action"] & 0xFFFF, records["action"] >> _SHIFT
    wanted = np.isin(action, [*_KINDS]) & ((categories & (_NOTIFY | _DRV_DATA)) == 0)
    wanted &= records["cpu"] <= np.iinfo(np.uint16).max
    records, categories = records[wanted], categories[wanted]
    events = Table.empty(EVENTS, len(records))
    for column, name in _COLUMNS.items():
        events[column][:] = records[name]
    events["value"][:] = records["bytes"] // _SECTOR_BYTES
    for act, kind in _KINDS.items():
        events["kind"][action[wanted] == act] = kind
    flags = np.zeros(len(records), np.uint16)
    for bit, flag in _FLAGS:
        flags[(categories & bit) > 0] |= np.uint16(flag)
    reads = (flags & (Rwbs.WRITE | Rwbs.DISCARD)) == 0
    events["flags"][:] = np.where(reads & (records["bytes"] > 0), flags | Rwbs.READ, flags)
    return events
