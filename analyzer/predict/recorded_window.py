"""The replay of the recorded window against the record: where they differ, the prediction may too.

Captures at window 0 on ext4, btrfs and f2fs are replayed to the request and to the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from analyzer.ingest.accesses import of_threads
from analyzer.ingest.interpret import dev_of
from analyzer.ingest.recording import Recording
from analyzer.ingest.requests import requests_for
from analyzer.ingest.tables import Rwbs
from analyzer.predict.prediction import Curve
from analyzer.predict.tails import inline_tails
from analyzer.program.steps import own_requests
from boards.base.counted import plural
from boards.base.units import kib_to_pages, pages_to_kib
from emulator import MAX_WINDOW

# Requests and pages of file data that a disk (dev_t) is predicted to read with a window (pages).
Replay = Callable[[int, int], tuple[int, int]]


def differences(recording: Recording, devices: list[Curve], replay: Replay) -> Iterator[str]:
    """Yield what the replay of the recorded window reads otherwise than the recorded run."""
    for curve in devices:
        disk = dev_of(curve.dev)
        kb = recorded_kb(recording, disk)
        window = None if kb is None else kib_to_pages(kb, recording.page_size)
        if window is None or window > MAX_WINDOW:
            continue
        replayed = replay(disk, window)
        requests, pages = _requests(recording, disk), _pages(recording, disk)
        if (replayed[0] if requests is None else requests, pages) == replayed:
            continue
        recorded = [] if requests is None else [plural(requests, "request")]
        yield (
            f"the replay of {curve.name} at the recorded window, {kb:,} KiB, reads "
            f"{plural(replayed[1], 'page')} in {plural(replayed[0], 'request')}; recorded were "
            f"{' and '.join([plural(pages, 'page'), *recorded])}"
        )


def recorded_kb(recording: Recording, disk: int) -> int | None:
    """Return the window (KiB) that a disk had during the recording; None if unknown."""
    if recording.windows is not None:
        pages = recording.windows.pages.get(disk)
        return None if pages is None else pages_to_kib(pages, recording.page_size)
    devices = recording.capture.devices if recording.capture else []
    found = [one.read_ahead_kb for one in devices if dev_of(one.dev) == disk]
    return found[0] if found else None


def _requests(recording: Recording, disk: int) -> int | None:
    """Return the requests of file data that were recorded; None where none of the disk's are."""
    requests = requests_for(recording, disk)
    if not (requests["flags"] & Rwbs.READ).any():
        return None
    return int(np.count_nonzero(own_requests(recording, requests)))


def _pages(recording: Recording, disk: int) -> int:
    """Return the pages of file data that were read, without ends of files that lie in metadata."""
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
    tails = {*inline_tails(recording)}
    return sum(page not in tails for page in pages) if tails else int(rows.sum())


def _disk(recording: Recording, dev: int) -> int:
    return recording.devices.get(dev, dev)
