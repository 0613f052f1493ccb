"""The metadata that a recorded start read; it is the same at every window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analyzer.ingest.recording import Recording
from analyzer.ingest.tables import Rwbs
from analyzer.program.inode_tables import more_reads, tables_of
from analyzer.program.steps import own_requests
from emulator.linux.requests import SECTOR


@dataclass(frozen=True)
class MetadataReads:
    """Requests of metadata that reached a disk, and the pages in them."""

    requests: int
    pages: int


def metadata_reads(recording: Recording, disk: int) -> MetadataReads | None:
    """Return the metadata that a recorded start reads from a disk (dev_t); None if not recorded.

    Reads of data by other processes do not count. Inode tables are read ahead, which they are not
    while a run is recorded.
    """
    requests = recording.requests.take(recording.requests["dev"] == disk)
    if not requests.rows:
        return None
    found = (requests["flags"] & Rwbs.READ) > 0
    found &= ~own_requests(recording, requests)
    if recording.threads is not None and recording.inserts is not None:
        readers = recording.inserts.data["pid"]
        theirs = np.setdiff1d(readers, np.array([*recording.threads], np.int32))
        found &= ~np.isin(requests["pid"], theirs)
    more, sectors = more_reads(tables_of(recording, disk), requests.take(found))
    octets = (int(requests["sectors"][found].astype(np.int64).sum()) + sectors) * SECTOR
    return MetadataReads(int(found.sum()) + more, -(-octets // recording.page_size))
