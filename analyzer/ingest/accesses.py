"""First touches of pages by the application: DESIGN's definition of an access.

Recorded at read_ahead_kb=0, every page filled by a read is one first touch, in exact order.
Recorded at another window, such pages mix with the kernel's own readahead; then the access
events say which were touched, and pages that fault-around mapped stay unseen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from foreread.analyzer.ingest.inserts import Inserts, folio_pages
from foreread.analyzer.ingest.tables import ACCESSES, FILES, Array, Kind, Table, of_kinds, order_by

# A capture at 0 still has a few reads of several pages (WILLNEED, populate): up to this share, a
# file that does not name its window is assumed to be recorded at 0.
BATCHED_AT_ZERO = 0.1

_NEVER = np.iinfo(np.uint64).max
_ACCESS_KINDS = (Kind.FAULT, Kind.GET_PAGES)
_LARGEST_EXPANSION = 50_000_000  # pages; a real trace stays far below


def process_tree(events: Table, roots: Collection[int]) -> set[int]:
    """Return the thread ids of ``roots`` and of all that they forked, threads included."""
    tree = {*roots}
    forks = events["kind"] == Kind.FORK
    pairs = zip(events["pid"][forks].tolist(), events["value"][forks].tolist(), strict=True)
    for parent, child in pairs:
        if parent in tree:
            tree.add(child)
    return tree


def of_threads(table: Mapping[str, Array], pids: Collection[int]) -> Array:
    """Return a mask of the rows whose thread is one of ``pids``."""
    return np.isin(table["pid"], np.fromiter(pids, np.int32, len(pids)))


def batched_share(inserts: Inserts, mask: Array) -> float:
    """Return the share of the pages read by the masked inserts that came several in a read."""
    total = int(inserts.pages[mask].sum())
    return int(inserts.pages[mask & (inserts.group > 1)].sum()) / total if total else 0.0


def read_pages(inserts: Inserts, mask: Array) -> tuple[Table, Table, Table]:
    """Return FILES, and ACCESSES of the pages that the masked inserts read.

    First each page's first time, then all later times: the kernel had reclaimed the page.
    """
    chosen = inserts.data.take(mask & (inserts.pages > 0))
    size = folio_pages(chosen)
    row = np.repeat(np.arange(chosen.rows), size)
    offset = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)
    files, file = _files_of(chosen)
    accesses = Table(
        ACCESSES,
        {
            "time_ns": chosen["time_ns"][row],
            "pid": chosen["pid"][row],
            "file": file[row],
            "page": chosen["index"][row] + offset.astype(np.uint64),
        },
    )
    key = page_key(accesses["file"], accesses["page"])
    is_first = np.zeros(accesses.rows, bool)
    is_first[np.unique(key, return_index=True)[1]] = True
    first = accesses.take(is_first)
    return with_accessed(files, first), first, accesses.take(~is_first)


def _files_of(inserts: Table) -> tuple[Table, Array]:
    """Return the FILES that occur, by (dev, ino), and each insert's row in it."""
    first, file = group_pairs(inserts["dev"], inserts["ino"])
    columns = {"dev": inserts["dev"][first], "ino": inserts["ino"][first]}
    columns["size_bytes"] = np.full(len(first), -1, np.int64)
    columns["accessed"] = np.zeros(len(first), np.uint64)
    return Table(FILES, columns), file.astype(np.uint32)


def group_pairs(major: Array, minor: Array) -> tuple[Array, Array]:
    """Return the first row of each distinct pair, in order of the pairs, and each row's group.

    Pairs are dev_t and inode, mostly. Equal ones come in long runs, so only runs are sorted.
    """
    starts = np.ones(len(major), bool)
    starts[1:] = (major[1:] != major[:-1]) | (minor[1:] != minor[:-1])
    runs = np.flatnonzero(starts)
    order = order_by(major[runs], minor[runs])
    rows = runs[order]
    new = np.ones(len(order), bool)
    new[1:] = (major[rows[1:]] != major[rows[:-1]]) | (minor[rows[1:]] != minor[rows[:-1]])
    group = np.empty(len(order), np.int64)
    group[order] = np.cumsum(new) - 1
    return rows[new], np.repeat(group, np.diff(runs, append=len(major)))


def with_accessed(files: Table, accesses: Table) -> Table:
    """Return the files with the number of pages of each that ``accesses`` has."""
    accessed = np.bincount(accesses["file"], minlength=files.rows).astype(np.uint64)
    return Table(FILES, {**files, "accessed": accessed})


def touched(files: Table, pages: Table, events: Table) -> Table:
    """Return the ``pages`` (ACCESSES) that FAULT and GET_PAGES events touched, in order.

    ``events`` are the application's. Time and thread are the first touch's.
    """
    key = page_key(pages["file"], pages["page"])
    order = np.argsort(key)
    key = key[order]
    touch = np.flatnonzero(of_kinds(events, _ACCESS_KINDS))
    file, has_file = rows_of(files, {name: events[name].take(touch) for name in ("dev", "ino")})
    if not has_file.all():
        touch, file = touch[has_file], file[has_file]
    page, is_fault = events["index"].take(touch), events["kind"].take(touch) == Kind.FAULT
    last = np.where(is_fault, page, events["value"].take(touch))
    low, high = _spans(key, file, page, last)
    first = _first_cover(low, high, len(order))
    hit = first != _NEVER
    rows, by = order[hit], first[hit]
    time_ns, pid = events["time_ns"][touch[by]], events["pid"][touch[by]]
    columns = {"time_ns": time_ns, "pid": pid}
    columns |= {"file": pages["file"][rows], "page": pages["page"][rows]}
    in_time = order_by(by, pages["page"][rows])
    return Table(ACCESSES, columns).take(in_time)


def rows_of(files: Table, events: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return each event's row in ``files`` (sorted by dev, ino) and whether it has one."""
    first, group = group_pairs(
        *(np.concatenate((files[name], events[name])) for name in ("dev", "ino"))
    )
    row_of_group = np.where(first < files.rows, first, 0)  # equal ones in order: files come first
    row = row_of_group[group[files.rows :]]
    return row, np.asarray((first < files.rows)[group[files.rows :]])


def _spans(key: Array, file: Array, page: Array, last: Array) -> tuple[Array, Array]:
    """Return where the pages from ``page`` to ``last`` begin and end among sorted distinct keys."""
    wanted = page_key(file, page)
    low = np.searchsorted(key, wanted)
    high = low + (np.append(key, _NEVER).take(low) == wanted)  # the common case: a single page
    longer = np.flatnonzero(last != page)
    high[longer] = np.searchsorted(key, page_key(file[longer], last[longer]), side="right")
    return low, high


def page_key(file: Array, page: Array) -> Array:
    """Return one sortable number for (file, page); 2^40 pages are 4 PiB, beyond real files."""
    page = np.minimum(page, np.uint64((1 << 40) - 1))
    return np.asarray((file.astype(np.uint64) << np.uint64(40)) | page)


def _first_cover(low: Array, high: Array, length: int) -> Array:
    """Return, for each position, the first interval [low, high) that covers it, or _NEVER."""
    first = np.full(length, _NEVER, np.uint64)
    size = np.maximum(high - low, 0)
    within = int(np.searchsorted(np.cumsum(size), _LARGEST_EXPANSION, side="right"))
    size, low = size[:within], low[:within]
    interval = np.repeat(np.arange(within), size)
    position = np.repeat(low - (np.cumsum(size) - size), size)
    position += np.arange(len(interval))
    # Written last to first: what stays is the first interval's number.
    first[position[::-1]] = interval[::-1]
    return first
