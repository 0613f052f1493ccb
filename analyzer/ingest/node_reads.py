"""The reads of f2fs's nodes, which are not file data and have no flag that says so.

f2fs keeps inodes and lists of blocks ("nodes") in the page cache of an inode of its own, and reads
them without REQ_META (read_node_folio, fs/f2fs/node.c), while a page of the file may already be
inserted: the thread inserts the node's page and queues its read at once, then the read of the file.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from analyzer.ingest.tables import Array, Kind, Rwbs, Table


def node_reads(events: Table, nodes: Array, page_size: int) -> Array:
    """Return the rows of the queued reads that fill the inserts of nodes.

    ``nodes`` are the rows of these inserts. A thread's next reads are theirs, as many pages as it
    inserted.
    """
    if not len(nodes):
        return np.zeros(0, np.int64)
    queued = events["kind"] == Kind.BIO_QUEUE
    reads = np.flatnonzero(queued & ((events["flags"] & Rwbs.READ) > 0))
    rows = np.union1d(nodes, reads)
    is_node = np.isin(rows, nodes).tolist()
    pages = (events["value"][rows] * np.uint64(512) // np.uint64(page_size)).tolist()
    absent: defaultdict[int, int] = defaultdict(int)  # by thread
    found = []
    columns = zip(rows.tolist(), is_node, events["pid"][rows].tolist(), pages, strict=True)
    for row, node, pid, count in columns:
        if node:
            absent[pid] += 1
        elif absent[pid] > 0:
            absent[pid] -= max(count, 1)
            found.append(row)
    return np.array(found, np.int64)
