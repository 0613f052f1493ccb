"""The last pages of uncompressed EROFS files, which lie beside their inodes: no data is read.

mkfs.erofs puts the end of a file that does not fill a page into the metadata if there is room
(EROFS_INODE_FLAT_INLINE); the kernel copies it from there (erofs_map_blocks with
EROFS_MAP_META, fs/erofs/data.c, 6.12).
"""

from __future__ import annotations

import numpy as np

from analyzer.ingest.inserts import devices_of
from analyzer.ingest.interpret import dev_of
from analyzer.ingest.recording import Recording


def inline_tails(recording: Recording) -> list[tuple[int, int]]:
    """Return (file row, page) of last pages in part; all but those that a read was seen to fill.

    Empty if no such page came in without a read: then files are not known to have their ends there.
    """
    capture, inserts = recording.capture, recording.inserts
    if capture is None or inserts is None or not inserts.reads_recorded:
        return []
    types = {dev_of(mount.dev): mount.fstype for mount in capture.mounts}
    here = devices_of(types, {"erofs"})
    files, page = recording.files, recording.page_size
    columns = (files[name].tolist() for name in ("dev", "ino", "size_bytes"))
    last = {
        (dev, ino, size // page): row
        for row, (dev, ino, size) in enumerate(zip(*columns, strict=True))
        if dev in here and size > 0 and size % page
    }
    mask = np.isin(inserts.data["dev"], here)
    data = inserts.data.take(mask)
    keys = zip(*(data[name].tolist() for name in ("dev", "ino", "index")), strict=True)
    # A page without a read looks like part of the next read of its file, and is not alone in it.
    read = dict(zip(keys, inserts.alone[mask].tolist(), strict=True))
    if not any(key in last and not alone for key, alone in read.items()):
        return []
    return [(row, key[2]) for key, row in last.items() if not read.get(key, False)]
