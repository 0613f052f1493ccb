"""Starts from files that the kernel reads in compressed clusters whose places are unknown.

EROFS, f2fs and btrfs read a whole cluster for one page of it, whatever the window is
(z_erofs_read_folio in fs/erofs/zdata.c, f2fs_read_multi_pages in fs/f2fs/data.c,
btrfs_submit_compressed_read in fs/btrfs/compression.c, 6.12). Each cluster has its own length, and
the capture does not have it: the emulation would read page by page. The blocks of squashfs have one
length (analyzer/program/blocks.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foreread.analyzer.ingest.accesses import BATCHED_AT_ZERO
from foreread.analyzer.ingest.inserts import devices_of
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.remedy import prefetch, sweep, with_image
from foreread.analyzer.predict.verdict import Missing
from foreread.boards.base.note import Note, NoteKind
from foreread.tracer.formats.capture import dev_of

_WITH_IMAGE = "erofs"  # analyzer/layout/by_window.py
FILE_SYSTEMS = ("btrfs", _WITH_IMAGE, "f2fs")


def in_clusters(recording: Recording) -> list[str]:
    """Return the file systems that brought several pages a read while readahead was off."""
    capture, inserts = recording.capture, recording.inserts
    if inserts is None or recording.contaminated:
        return []
    types = {dev_of(mount.dev): mount.fstype for mount in capture.mounts}
    together = (inserts.group > 1) & ~inserts.ahead  # explicit readahead is flagged
    file_systems = []
    for name in FILE_SYSTEMS:
        here = np.isin(inserts.data["dev"], devices_of(types, {name}))
        pages = int(inserts.pages[here].sum())
        if int(inserts.pages[here & together].sum()) > BATCHED_AT_ZERO * pages:
            file_systems.append(name)
    return file_systems


def unpredicted(recording: Recording, names: Sequence[str]) -> tuple[Missing, tuple[Note, ...]]:
    """Return why a start from such file systems has no seconds, and notes on other ways."""
    why = (
        f"compressed clusters of {' and '.join(names)} are read whole at any window, which is not "
        "emulated: requests and pages by window would be those of uncompressed files"
    )
    ways = [f"a prefetch list of this start needs no window: {prefetch(recording)} writes it"]
    if list(names) == [_WITH_IMAGE]:
        ways.insert(0, f"{with_image(recording)} predicts it from the image that the board has")
    return Missing(why, sweep(recording)), tuple(Note(way, NoteKind.ANSWER) for way in ways)
