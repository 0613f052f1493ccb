"""The disks of a recording: their files, the requests that they served, and their windows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analyzer.ingest.interpret import dev_of
from analyzer.ingest.recording import Recording
from analyzer.ingest.requests import requests_for
from analyzer.ingest.tables import Array, Rwbs, Table
from analyzer.predict.stacks import current_kb
from analyzer.program.inode_tables import more_reads, tables_of
from analyzer.program.steps import own_requests
from boards.base.units import pages_to_kib
from emulator.linux.requests import SECTOR
from tracer.formats.capture import Device, dev_text


@dataclass(frozen=True, eq=False)
class DiskReads:
    """The requests that a disk served; ``own`` masks the application's reads of file data."""

    requests: Table
    own: Array


@dataclass(frozen=True)
class MetadataReads:
    """Requests of metadata that reached a disk, and the pages in them."""

    requests: int
    pages: int

    def __add__(self, other: MetadataReads) -> MetadataReads:
        """Return the reads of two disks together."""
        return MetadataReads(self.requests + other.requests, self.pages + other.pages)


def disks_of_files(recording: Recording) -> tuple[Array, Array]:
    """Return the disks' dev_t, and for each file the index of its disk."""
    devs, dev_of_file = np.unique(recording.files["dev"], return_inverse=True)
    disk_of_dev = np.array([recording.devices.get(int(d), int(d)) for d in devs], np.uint64)
    disks, index = np.unique(disk_of_dev, return_inverse=True)
    return disks, index[dev_of_file]


def reads_of(recording: Recording, disk: int) -> DiskReads:
    """Return the requests that a disk (dev_t) served."""
    requests = requests_for(recording, disk)
    return DiskReads(requests, own_requests(recording, requests))


def device_of(recording: Recording, disk: int) -> Device | None:
    """Return what the capture has of a disk (dev_t)."""
    devices = recording.capture.devices
    return next((device for device in devices if dev_of(device.dev) == disk), None)


def present_kb(recording: Recording, disk: int) -> int | None:
    """Return the window (KiB) that a disk had before the recording; None if unknown.

    Another tool's trace has it in its events, unless it was recorded without readahead.
    """
    seen = recording.windows
    if seen is not None:
        return pages_to_kib(seen.pages.get(disk, 0), recording.page_size) or None
    by_stack = current_kb(recording.capture, dev_text(disk))
    device = device_of(recording, disk)
    return device.read_ahead_kb_before if by_stack is None and device else by_stack


def metadata_reads(recording: Recording, disk: int, reads: DiskReads) -> MetadataReads | None:
    """Return the metadata that a recorded start reads from a disk (dev_t); None if not recorded.

    Reads of data by other processes do not count. Inode tables are read ahead, which they are not
    while a run is recorded.
    """
    requests = reads.requests
    if not (requests["dev"] == disk).any():
        return None
    metadata = ((requests["flags"] & Rwbs.READ) > 0) & ~reads.own
    if recording.threads is not None and recording.inserts is not None:
        readers = recording.inserts.data["pid"]
        theirs = np.setdiff1d(readers, np.array([*recording.threads], np.int32))
        metadata &= ~np.isin(requests["pid"], theirs)
    more, sectors = more_reads(tables_of(recording, disk), requests.take(metadata))
    octets = (int(requests["sectors"][metadata].astype(np.int64).sum()) + sectors) * SECTOR
    return MetadataReads(int(metadata.sum()) + more, -(-octets // recording.page_size))
