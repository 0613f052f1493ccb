"""Doubts about requests and pages: the recording, and the replay of its window against it.

Captures at window 0 on ext4, btrfs and f2fs are replayed to the request and to the page.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foreread.analyzer.ingest.accesses import of_threads
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Rwbs
from foreread.analyzer.predict.counts import Counts
from foreread.analyzer.predict.disks import DiskReads, device_of
from foreread.analyzer.predict.doubts.doubt import Doubt
from foreread.analyzer.predict.doubts.recording import of_recording
from foreread.boards.base.counted import plural
from foreread.boards.base.units import kib_to_pages, pages_to_kib
from foreread.emulator import MAX_WINDOW
from foreread.tracer.formats.capture import dev_of


def of_counts(counts: Counts) -> list[Doubt]:
    """Return the doubts about the recording, and about the counts of a model that is emulated."""
    return [*of_recording(counts.recording), *([] if counts.clusters else _differences(counts))]


def _differences(counts: Counts) -> Iterator[Doubt]:
    """Yield what the replay of the recorded window reads otherwise than the recorded run."""
    recording = counts.recording
    for disk in counts.disks:
        dev = dev_of(disk.dev)
        kb = recorded_kb(recording, dev)
        window = None if kb is None else kib_to_pages(kb, recording.page_size)
        if window is None or window > MAX_WINDOW:
            continue
        replayed = tuple(int(column[0]) for column in counts.reads(dev, [window]))
        # Requests of pages that were read again are in no replay with memory to spare.
        again = "read_again" in recording.counts
        requests = None if again else _requests(counts.requests[dev])
        pages = _pages(counts, dev)
        if (replayed[0] if requests is None else requests, pages) == replayed:
            continue
        recorded = [] if requests is None else [plural(requests, "request")]
        yield Doubt(
            f"the replay of {disk.name} at the recorded window, {kb:,} KiB, reads "
            f"{plural(replayed[1], 'page')} in {plural(replayed[0], 'request')}; recorded were "
            f"{' and '.join([plural(pages, 'page'), *recorded])}"
        )


def recorded_kb(recording: Recording, disk: int) -> int | None:
    """Return the window (KiB) that a disk had during the recording; None if unknown."""
    if recording.windows is not None:
        pages = recording.windows.pages.get(disk)
        return None if pages is None else pages_to_kib(pages, recording.page_size)
    device = device_of(recording, disk)
    return None if device is None else device.read_ahead_kb


def _requests(reads: DiskReads) -> int | None:
    """Return the requests of file data that were recorded; None where none of the disk's are."""
    if not (reads.requests["flags"] & Rwbs.READ).any():
        return None
    return int(np.count_nonzero(reads.own))


def _pages(counts: Counts, disk: int) -> int:
    """Return the pages of file data that were read, without ends of files that lie in metadata."""
    recording, tails = counts.recording, counts.tails
    files, inserts = recording.files, recording.inserts
    of_disk = [dev for dev in np.unique(files["dev"]).tolist() if _disk(recording, dev) == disk]
    if recording.contaminated and inserts is not None:
        chosen = np.isin(inserts.data["dev"], of_disk)
        if recording.threads is not None:
            chosen &= of_threads(inserts.data, recording.threads)
        return int(inserts.pages[chosen].sum())
    accesses = recording.accesses
    rows = np.isin(files["dev"], of_disk)[accesses["file"]]
    pages = zip(accesses["file"][rows].tolist(), accesses["page"][rows].tolist(), strict=True)
    return sum(page not in tails for page in pages) if tails else int(rows.sum())


def _disk(recording: Recording, dev: int) -> int:
    return recording.devices.get(dev, dev)
