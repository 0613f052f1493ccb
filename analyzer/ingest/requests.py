"""Block requests: each issue with its completion."""

from __future__ import annotations

import numpy as np

from analyzer.ingest.tables import REQUESTS, Array, Kind, Table


def find_requests(events: Table) -> Table:
    """Return the REQUESTS in issue order; ``complete_ns`` is 0 where no completion was seen.

    A completion belongs to the latest issue before it with the same device and first sector.
    """
    kind = events["kind"]
    block = events.take((kind == Kind.RQ_ISSUE) | (kind == Kind.RQ_COMPLETE))
    order = np.lexsort((np.arange(block.rows), block["index"], block["dev"]))
    dev, sector, kind = (block[name][order] for name in ("dev", "index", "kind"))
    pair = np.zeros(len(order), bool)
    pair[:-1] = (kind[:-1] == Kind.RQ_ISSUE) & (kind[1:] == Kind.RQ_COMPLETE)
    pair[:-1] &= (np.diff(dev) == 0) & (np.diff(sector) == 0)
    complete_ns = np.zeros(block.rows, np.uint64)
    first = np.flatnonzero(pair)
    complete_ns[order[first]] = block["time_ns"][order[first + 1]]
    issued = block["kind"] == Kind.RQ_ISSUE
    return _table(block.take(issued), complete_ns[issued])


def _table(issued: Table, complete_ns: Array) -> Table:
    return Table(
        REQUESTS,
        {
            "issue_ns": issued["time_ns"],
            "complete_ns": complete_ns,
            "pid": issued["pid"],
            "dev": issued["dev"],
            "sector": issued["index"],
            "sectors": np.minimum(issued["value"], 0xFFFFFFFF).astype(np.uint32),
            "flags": issued["flags"],
        },
    )
