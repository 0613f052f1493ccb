"""Distinguishes reads from faults by their page-ins, for recordings without access events.

At read_ahead_kb=0 a read(2) has a missing page read by the readahead code, one page at a time, so
the block read is flagged as readahead ("RA" in rwbs); a fault reads its page by ->read_folio,
without the flag (page_cache_sync_ra, do_sync_mmap_readahead; 5.10 to 6.18). Advice reads several
pages at once, flagged. Before 5.10 both go through ->readpage and look the same.
"""

from __future__ import annotations

from contextlib import suppress
from enum import IntEnum

import numpy as np

from foreread.analyzer.ingest.inserts import (
    PLAIN_FILE_SYSTEMS,
    READ_ONLY_FILE_SYSTEMS,
    devices_of,
    filled_blocks,
)
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Kind, of_kinds
from foreread.boards.base.units import KIB
from foreread.emulator.linux.rules import KernelError, version_of
from foreread.tracer.formats.capture import dev_of

_FORCED_READAHEAD = (5, 10)
WHOLE_READ = 128 << 10  # bytes; up to this size a file read completely is assumed to be one read(2)
# The texts of assumptions.
BY_FLAG = "classified as reads or faults by flags of block reads"
BY_KIND = "classified as reads or faults by system calls and kinds of files"
BY_UNKNOWN_CALLS = (
    f"read by unknown calls: assumed one page each, or a whole file up to {WHOLE_READ // KIB} KiB"
)
_EVENTS = {
    Kind.FAULT: "filemap:mm_filemap_fault",
    Kind.GET_PAGES: "filemap:mm_filemap_get_pages",
}


NO_WAY = -1  # no Way


class Way(IntEnum):
    """The operation that read a page in."""

    FAULT = 0
    READ = 1
    ADVICE = 2
    UNKNOWN = 3  # the block reads do not show it
    FILLED = 4  # it lies in a compressed block of which another page was touched


def ways_of(recording: Recording) -> Array:
    """Return how pages were read in (Way, or NO_WAY; i1), by row of the inserts of data.

    If there are events of reads or of faults, only for pages filled by squashfs blocks. Blocks of
    files that are read in whole blocks are left out: the touched page is unknown.
    """
    inserts = recording.inserts
    if inserts is None or recording.contaminated:
        return np.full(inserts.data.rows if inserts else 0, NO_WAY, np.int8)
    data, group = inserts.data, inserts.group
    fstypes = {dev_of(mount.dev): mount.fstype for mount in recording.capture.mounts}
    in_blocks = np.isin(data["dev"], devices_of(fstypes, frozenset({"squashfs"})))
    filled = filled_blocks(data, recording.block_pages)
    way = np.select(
        [filled, inserts.ahead & (group > 1), inserts.ahead, group == 1],
        [Way.FILLED, Way.ADVICE, Way.READ, Way.FAULT],
        Way.UNKNOWN,
    )
    plain = np.isin(data["dev"], devices_of(fstypes, PLAIN_FILE_SYSTEMS))
    are_flagged = False
    with suppress(KernelError):  # not a kernel release
        flagging = version_of(recording.kernel or "") >= _FORCED_READAHEAD
        are_flagged = inserts.reads_recorded and flagging
    way = np.where((plain & are_flagged) | filled, way, Way.UNKNOWN)
    trace = recording.trace
    if not trace.event_names.isdisjoint(_EVENTS.values()) or of_kinds(trace.events, _EVENTS).any():
        wanted = filled
    else:
        by_blocks = np.isin(data["dev"], devices_of(fstypes, READ_ONLY_FILE_SYSTEMS))
        hole = inserts.pages == 0  # if no write has inserted it
        singly = hole | (way != Way.UNKNOWN) | (group == 1)
        wanted = in_blocks | (~by_blocks & singly)
    return np.where(wanted, way, NO_WAY).astype(np.int8)
