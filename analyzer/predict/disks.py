"""The disks of a recording: their files, the requests that they served, and their windows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foreread.analyzer.ingest.accesses import rows_of
from foreread.analyzer.ingest.inserts import folio_pages
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.requests import requests_for
from foreread.analyzer.ingest.tables import Array, Rwbs, Table
from foreread.analyzer.predict.stacks import current_kb
from foreread.analyzer.program.inode_tables import more_reads, tables_of
from foreread.analyzer.program.steps import own_requests
from foreread.boards.base.counted import plural
from foreread.boards.base.units import pages_to_kib
from foreread.emulator.linux.requests import SECTOR
from foreread.tracer.formats.capture import Device, dev_of, dev_text


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


def sizes_of(recording: Recording) -> Array:
    """Return the size of each file in bytes (i8); -1 where a capture does not have it.

    Where a trace has no size, the file ends with the last page that entered the page cache. The
    traces of 13 captures, read without their sizes: with files that end there the unused pages of a
    window of 128 pages were 0.2 to 2.4 % too few, with endless files 2.6 to 12.5 times too many.
    """
    size = recording.files["size_bytes"]
    if recording.capture.foreread is not None or not (size < 0).any():
        return size
    pages = np.zeros(recording.files.rows, np.int64)
    accesses = recording.accesses
    np.maximum.at(pages, accesses["file"], accesses["page"].astype(np.int64) + 1)
    if recording.inserts is not None:
        data = recording.inserts.data
        row, known = rows_of(recording.files, data)
        end = data["index"].astype(np.int64) + folio_pages(data)
        np.maximum.at(pages, row[known], end[known])
    return np.where(size < 0, pages * recording.page_size, size)


def sizes_note(recording: Recording) -> str | None:
    """Return what is assumed of accessed files without a known size; None if all have one."""
    files = recording.files
    unknown = int(((files["size_bytes"] < 0) & (files["accessed"] > 0)).sum())
    if not unknown:
        return None
    what = f"{plural(unknown, 'accessed file', 'has')} no known size: "
    if recording.capture.foreread is not None:
        return f"{what}requests there are not clipped at the end of the file, so G is too high"
    return (
        f"{what}each counts up to the last page that was read of it, so G may be a little too low; "
        "--inodes FILE gives the sizes"
    )
