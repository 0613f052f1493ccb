"""Doubts about the recording itself: readahead, lost events, pages unread, other readers.

They concern all figures, also requests and pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.squashfs_blocks import unknown_block
from foreread.analyzer.ingest.unsure import unsure_pages
from foreread.analyzer.predict.basis import lost_share, some_lost, some_unread, unread_share
from foreread.analyzer.predict.doubts.doubt import Doubt
from foreread.analyzer.predict.prediction import MINOR_SHARE
from foreread.boards.base.counted import plural
from foreread.boards.base.units import KIB, percent_text
from foreread.tracer.formats.capture import dev_of
from foreread.tracer.formats.scenario import IDLE


def of_recording(recording: Recording) -> Iterator[Doubt]:
    """Yield the doubts about a recording."""
    if recording.contaminated:
        yield Doubt(
            "readahead was on during the recording, so the order and number of accesses are not "
            "exact"
        )
    lost = some_lost(recording)
    if lost is not None:
        yield Doubt(lost, spread=lost_share(recording))
    pages = max(recording.accesses.rows, 1)
    for text, unsure in unsure_pages(recording).items():
        yield Doubt(text, spread=min(unsure / pages, 1.0))
    yield from _of_the_reader(recording)
    yield from _other_readers(recording)
    yield from map(Doubt, unknown_blocks(recording))


def unknown_blocks(recording: Recording) -> Iterator[str]:
    """Yield a doubt for each squashfs that the start reads, whose block size is assumed."""
    yield from (unknown_block(place) for place, _ in _squashfs(recording, "assumed"))


def block_notes(recording: Recording) -> list[str]:
    """Return what is known of the blocks of each squashfs that the start reads."""
    recorded, learnt = (_squashfs(recording, source) for source in ("recorded", "learnt"))
    return [
        *(f"squashfs on {place}: blocks of {kib} KiB" for place, kib in recorded),
        *(
            f"squashfs on {place}: the capture does not contain the block size; the recorded reads "
            f"are those of blocks of {kib} KiB"
            for place, kib in learnt
        ),
    ]


def _squashfs(recording: Recording, source: str) -> list[tuple[str, int]]:
    """Return mount point and KiB of a block of each squashfs that is read; known by ``source``."""
    mounts = recording.capture.mounts
    places = {dev_of(mount.dev): mount.mountpoint for mount in reversed(mounts)}
    read = set(recording.files["dev"][recording.files["accessed"] > 0].tolist())
    return [
        (places[dev], length.block_bytes // KIB)
        for dev, length in recording.block_lengths.items()
        if dev in read and length.source == source
    ]


def _of_the_reader(recording: Recording) -> Iterator[Doubt]:
    """Yield what a trace of another tool leaves open; its notes name the events."""
    trace = recording.trace
    if trace.page_size_assumed:
        yield Doubt(
            f"pages of {recording.page_size} bytes are assumed, since nothing in the trace proves "
            "their size: --page-size sets another"
        )
    unread = some_unread(recording)
    if unread is not None:
        yield Doubt(unread, spread=unread_share(recording))


def _other_readers(recording: Recording) -> Iterator[Doubt]:
    """Yield a doubt where other processes read much from the disks of the start.

    Their requests are replayed at the recorded times. Under another window they delay the start by
    any time from zero to their full duration: a uniform distribution, whose standard deviation is
    its width / √12. The width is their share of the pages. The reads of a scenario's load are not
    replayed.
    """
    inserts = recording.inserts
    if inserts is None or recording.threads is None or recording.capture.scenario != IDLE:
        return
    disks = _disks_of_the_start(recording)
    devs = [dev for dev, disk in recording.devices.items() if disk in disks]
    data = inserts.data
    beside = np.isin(data["dev"], devs) & ~np.isin(data["pid"], list(recording.threads))
    others, own = int(inserts.pages[beside].sum()), recording.accesses.rows
    if others < max(1, MINOR_SHARE * own):
        return
    share = others / (others + own)
    yield Doubt(
        f"other processes read {plural(others, 'page')} from the same disk during the recording "
        f"({percent_text(share, 0)} of all): they may delay the start-up and hide some of "
        "its accesses",
        spread=share / sqrt(12),
    )


def _disks_of_the_start(recording: Recording) -> set[int]:
    """Return the disks (dev_t) with at least MINOR_SHARE of the accessed pages."""
    pages: dict[int, int] = {}
    columns = (recording.files["dev"].tolist(), recording.files["accessed"].tolist())
    for dev, accessed in zip(*columns, strict=True):
        disk = recording.devices.get(dev, dev)
        pages[disk] = pages.get(disk, 0) + accessed
    return {disk for disk, n in pages.items() if n >= max(1, MINOR_SHARE * sum(pages.values()))}
