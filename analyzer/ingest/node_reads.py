"""The nodes of f2fs: their reads, which are not file data, and file systems recognised by them.

f2fs keeps inodes and lists of blocks ("nodes") in the page cache of an inode of its own, and reads
them without REQ_META (read_node_folio, fs/f2fs/node.c), while a page of the file may already be
inserted: the thread inserts the node's page and queues its read at once, then the read of the file.
The page of a node is that of its number, which of an inode's node is the inode's (f2fs_fs.h).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

import numpy as np

from foreread.analyzer.ingest.tables import MINOR_BITS, Array, Table, order_by

NODE_INODE = 1  # F2FS_NODE_INO of every image that mkfs.f2fs makes
# Of the nodes that pages of a file follow, so many and this share are the file's.
_FEWEST, _SHARE = 2, 0.3
_FAR = 1024  # pages: reads of a file seldom begin after it


def node_reads(events: Table, nodes: Array, reads: Array, page_size: int) -> Array:
    """Return the rows among ``reads`` that fill the inserts of nodes.

    ``nodes`` are the rows of these inserts. A thread's next reads are theirs, as many pages as it
    inserted.
    """
    if not len(nodes):
        return np.zeros(0, np.int64)
    rows = np.union1d(nodes, reads)
    is_node = np.isin(rows, nodes).tolist()
    pages = (events["value"][rows] * np.uint64(512) // np.uint64(page_size)).tolist()
    absent: defaultdict[int, int] = defaultdict(int)  # by thread
    of_nodes = []
    columns = zip(rows.tolist(), is_node, events["pid"][rows].tolist(), pages, strict=True)
    for row, node, pid, count in columns:
        if node:
            absent[pid] += 1
        elif absent[pid] > 0:
            absent[pid] -= max(count, 1)
            of_nodes.append(row)
    return np.array(of_nodes, np.int64)


def f2fs_devices(inserts: Table, known: Collection[int]) -> tuple[int, ...]:
    """Return the file systems (dev_t) whose inode 1 has pages as f2fs's nodes have.

    ``inserts`` are those into file systems, ``known`` the devices whose type is known. The number
    alone says nothing: squashfs and EROFS give it to a file.
    """
    nodes = inserts["ino"] == NODE_INODE
    on_disk = nodes & (inserts["dev"] >> MINOR_BITS > 0)
    devices = np.unique(inserts["dev"][on_disk]).tolist()
    return tuple(dev for dev in devices if dev not in known and _has_nodes(inserts, dev))


def _has_nodes(inserts: Table, dev: int) -> bool:
    """Return whether pages of inode 1 are nodes: those of the files read next, or scattered ones.

    A thread reads the node of an inode, then pages of the inode, and so on with the next one.
    """
    rows = np.flatnonzero(inserts["dev"] == dev)
    rows = rows[order_by(inserts["pid"].take(rows))]
    pid, ino, at = (inserts[name].take(rows) for name in ("pid", "ino", "index"))
    node = ino == NODE_INODE
    followed = node[:-1] & ~node[1:] & (pid[:-1] == pid[1:])
    pages, after = at[:-1][followed], ino[1:][followed]
    if np.count_nonzero(pages == after) >= max(_FEWEST, _SHARE * len(pages)):
        return True
    index = np.unique(at[node])
    most = (1 - _SHARE) * len(index)
    apart = np.count_nonzero(np.diff(index) > 1) >= most - 1
    return bool(len(index) > _FEWEST and index[0] >= _FAR and apart and len(pages) >= most)
