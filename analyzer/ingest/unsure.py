"""Pages that count as read though no read of them is seen: how many, why, and the remedy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foreread.analyzer.ingest.accesses import of_threads
from foreread.analyzer.ingest.inserts import Inserts
from foreread.analyzer.ingest.needed import QUEUED_READS, how_to_record
from foreread.analyzer.ingest.read_evidence import Unseen
from foreread.analyzer.ingest.recording import Recording
from foreread.boards.base.counted import first_of, plural
from foreread.tracer.formats.capture import dev_text

_SHOWN = 4  # devices
_TYPE = "foreread record knows the type of the file system"

_WHY = {
    Unseen.NO_BLOCK_EVENTS: "no block events in the trace",
    Unseen.NOT_QUEUED: f"no {QUEUED_READS} in the trace, and any thread may have issued the "
    "requests",
    Unseen.NO_DISK: "no reads of a disk fill the pages of {devices} (a network file system, FUSE)",
    Unseen.OTHER_DISKS: "the block events are of other disks than that of {devices}",
    Unseen.OTHER_THREADS: "threads that insert no pages read from the disk of {devices} (a "
    "limiter's kernel workers, O_DIRECT)",
    Unseen.IN_BLOCKS: "pages of {devices} came beside pages that were read, as in compressed "
    "blocks (squashfs, EROFS, btrfs)",
}


def unsure_pages(recording: Recording) -> dict[str, int]:
    """Return the pages without a seen read that count, by what to say of them."""
    inserts = recording.inserts
    if inserts is None or not inserts.unseen.any():
        return {}
    threads, data = recording.threads, inserts.data
    own = np.ones(data.rows, bool) if threads is None else of_threads(data, threads)
    total = int(inserts.pages[own].sum())
    unsure = {}
    for why in Unseen:
        here = own & (inserts.unseen == why)
        if not here.any():
            continue
        pages = int(inserts.pages[here].sum())
        devices = _devices(np.unique(data["dev"][here]).tolist())
        unsure[_text(why, pages, total, devices, recording)] = pages
    return unsure


def _text(why: Unseen, pages: int, total: int, devices: str, recording: Recording) -> str:
    counted = f"{pages:,} of {plural(total, 'page')} may have been written, not read"
    return f"{_WHY[why].format(devices=devices)}: {counted}; {_remedy(why, recording)}"


def _remedy(why: Unseen, recording: Recording) -> str:
    if why in (Unseen.NO_BLOCK_EVENTS, Unseen.NOT_QUEUED, Unseen.OTHER_DISKS):
        which = " of all disks" if why == Unseen.OTHER_DISKS else ", too"
        return f"record it{which}: {how_to_record(QUEUED_READS, recording.trace.format)}"
    return "foreread record knows where files are" if why == Unseen.OTHER_THREADS else _TYPE


def recognised(inserts: Inserts) -> Iterator[str]:
    """Yield what was concluded about the types of file systems."""
    if inserts.on_f2fs:
        yield (
            f"inode 1 of {_devices(inserts.on_f2fs)} has pages as f2fs's nodes have: pages of its "
            "inodes 1 and 2 count as metadata"
        )


def _devices(devs: tuple[int, ...] | list[int]) -> str:
    return first_of([*map(dev_text, devs)], _SHOWN)
