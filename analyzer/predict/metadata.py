"""The metadata that a recorded start read; it is the same at every window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analyzer.ingest.recording import Recording
from analyzer.ingest.tables import Rwbs
from analyzer.program.steps import own_requests


@dataclass(frozen=True)
class MetadataReads:
    """Requests of metadata that reached a disk, and the pages in them."""

    requests: int
    pages: int


def metadata_reads(recording: Recording, disk: int) -> MetadataReads | None:
    """Return the metadata read from a disk (dev_t) in a recorded run; None if not recorded.

    Reads of data by other processes do not count.
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
    octets = int(requests["sectors"][found].astype(np.int64).sum()) * 512
    return MetadataReads(int(found.sum()), -(-octets // recording.page_size))
