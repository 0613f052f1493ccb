"""Faults and reads seen by our probes (tracer/probes), checked against the tracepoints of the run.

A probe reads kernel structs at offsets that may be wrong for the kernel at hand; the event that a
page entered the page cache comes from the kernel itself. So the first page that a thread reads in
after a probe must be one that the probe named. If too many are not, the probes are not used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from foreread.analyzer.ingest.accesses import page_key, read_pages, rows_of
from foreread.analyzer.ingest.inserts import Inserts, folio_pages
from foreread.analyzer.ingest.tables import Array, Kind, Table, of_kinds, order_by

# readahead(2), madvise and fadvise read pages that no probe names, after any probe that found its
# page cached. With correct offsets, application starts had none; with wrong offsets all are.
MOST_DISAGREEING = 0.02

_NATIVE = {Kind.PROBED_FAULT: Kind.FAULT, Kind.PROBED_READ: Kind.GET_PAGES}
_WHAT = {Kind.PROBED_FAULT: "page faults", Kind.PROBED_READ: "reads"}
_NEVER = np.iinfo(np.uint64).max
_LARGEST = np.uint64(1 << 60)  # bytes or pages, beyond any file; keeps sums within int64


@dataclass(frozen=True)
class Check:
    """The numbers of a probe's events that an insert followed, and that did not match it."""

    checked: int
    disagreeing: int

    @property
    def accepted(self) -> bool:
        """Whether the probe may be used; without a confirming insert it may not."""
        return self.checked > 0 and self.disagreeing <= MOST_DISAGREEING * self.checked


def adopt(
    events: Table, inserts: Inserts, page_size: int, slack_pages: int
) -> tuple[Table, list[str]]:
    """Return ``events`` with the probes' events turned into FAULT and GET_PAGES, and notes.

    Events of refused probes are left out, and so are empty reads.
    """
    if not of_kinds(events, _NATIVE).any():
        return events, []
    notes = []
    keep = np.ones(events.rows, bool)
    columns = dict(events)
    first, last = _pages_named(events, page_size)
    for kind, check in check_probes(events, inserts, page_size, slack_pages).items():
        rows = events["kind"] == kind
        agree = f"{check.checked - check.disagreeing} of {check.checked}"
        if not check.accepted:
            keep &= ~rows
            notes.append(
                f"probes of {_WHAT[kind]} refused: {agree} that could be checked agree with the "
                "pages that the kernel read, so the struct offsets do not fit this kernel"
            )
            continue
        notes.append(f"{_WHAT[kind]} come from probes, of which {agree} agree with the kernel")
        keep &= ~rows | (first <= last)
        columns["kind"] = np.where(rows, np.uint8(_NATIVE[kind]), columns["kind"])
        columns["index"] = np.where(rows, first.astype(np.uint64), columns["index"])
        if kind == Kind.PROBED_READ:
            columns["value"] = np.where(rows, last.astype(np.uint64), columns["value"])
    adopted = Table(events.schema, columns)
    return (adopted if keep.all() else adopted.take(keep)), notes


def check_probes(
    events: Table, inserts: Inserts, page_size: int, slack_pages: int
) -> dict[Kind, Check]:
    """Return the check of each kind of probe that occurs in ``events``.

    ``slack_pages`` is how far from the page touched the kernel may have begun to read; 0 where
    readahead was off.
    """
    pairs = _of_named_files(_pairs(events, inserts, single=slack_pages == 0), events, inserts)
    first, last = _pages_named(events, page_size)
    low = np.minimum(inserts.data["index"], _LARGEST).astype(np.int64)[pairs.insert]
    high = low + folio_pages(inserts.data)[pairs.insert] - 1
    row = pairs.probes[pairs.probe]
    fits = (low <= last[row] + slack_pages) & (high >= first[row] - slack_pages)
    for name in ("dev", "ino"):
        fits &= events[name][row] == inserts.data[name][pairs.insert]
    checked = np.bincount(pairs.probe, minlength=len(pairs.probes)) > 0
    wrong = np.bincount(pairs.probe, ~fits, len(pairs.probes)) > 0
    wrong |= checked & _left_unread(
        events.take(pairs.probes), last[pairs.probes], pairs.end_ns, inserts
    )
    kind = events["kind"][pairs.probes]
    return {
        probe: Check(int((checked & (kind == probe)).sum()), int((wrong & (kind == probe)).sum()))
        for probe in _NATIVE
        if (kind == probe).any()
    }


@dataclass(frozen=True)
class _Pairs:
    """``probes``: rows of all probes; ``end_ns``: time of the thread's next probe after each.

    ``probe[i]`` (index of ``probes``) was followed by the insert ``insert[i]`` (row of data).
    """

    probes: Array
    end_ns: Array
    probe: Array
    insert: Array


def _pairs(events: Table, inserts: Inserts, single: bool) -> _Pairs:
    """Pair each probe with the first insert that a read filled before the thread's next probe.

    ``single``: with every such insert that was read alone. Several pages read at once may be more
    than the thread asked for (compressed blocks, readahead).
    """
    probes = np.flatnonzero(of_kinds(events, _NATIVE))
    read = np.flatnonzero(inserts.pages > 0)
    row = np.concatenate((probes, inserts.row[read]))
    order = order_by(events["pid"][row], row)
    pid, is_probe = events["pid"][row[order]], order < len(probes)
    at = np.arange(len(order))
    last_probe = np.maximum.accumulate(np.where(is_probe, at, 0))
    led = ~is_probe & is_probe[last_probe] & (pid == pid[last_probe])
    paired = led & (last_probe == at - 1)
    if single:
        alone = np.zeros(len(order), bool)
        alone[~is_probe] = inserts.alone[read[order[~is_probe] - len(probes)]]
        paired |= led & alone
    in_order = order[is_probe]
    same = np.diff(pid[is_probe]) == 0
    end_ns = np.full(len(probes), _NEVER)
    end_ns[in_order[:-1][same]] = events["time_ns"][probes[in_order[1:][same]]]
    return _Pairs(probes, end_ns, order[last_probe[paired]], read[order[paired] - len(probes)])


def _of_named_files(pairs: _Pairs, events: Table, inserts: Inserts) -> _Pairs:
    """Return the pairs without inserts of files that no probe names.

    squashfs, EROFS and f2fs keep symbolic links and directories in the page cache, which the kernel
    looks up by paths: no fault and no read names them. With wrong offsets no file is named at all.
    """
    named, rows = events.take(pairs.probes), inserts.data.take(pairs.insert)
    inodes = set(zip(named["dev"].tolist(), named["ino"].tolist(), strict=True))
    of = zip(rows["dev"].tolist(), rows["ino"].tolist(), strict=True)
    keep = np.array([inode in inodes for inode in of], bool)
    return replace(pairs, probe=pairs.probe[keep], insert=pairs.insert[keep])


def _left_unread(probes: Table, last: Array, end_ns: Array, inserts: Inserts) -> Array:
    """Return which reads ended although the ``last`` page that they named was never read in.

    The end of the file is unknown: the last page read by anybody is taken for it.
    """
    files, pages, _ = read_pages(inserts, np.ones(inserts.data.rows, bool))
    unread = (probes["kind"] == Kind.PROBED_READ) & (pages.rows > 0)
    if not unread.any():
        return np.asarray(unread)
    file, has_file = rows_of(files, probes)
    final = np.zeros(files.rows, np.uint64)
    np.maximum.at(final, pages["file"], pages["page"])
    wanted = page_key(file, np.minimum(np.maximum(last, 0).astype(np.uint64), final[file]))
    key = page_key(pages["file"], pages["page"])
    order = np.argsort(key)
    at = order[np.minimum(np.searchsorted(key[order], wanted), len(order) - 1)]
    in_time = (key[at] == wanted) & (pages["time_ns"][at] <= end_ns)
    return np.asarray(unread & has_file & ~in_time)


def _pages_named(events: Table, page_size: int) -> tuple[Array, Array]:
    """Return the first and last page (int64) that each row names; first > last for none."""
    index = np.minimum(events["index"], _LARGEST).astype(np.int64)
    count = np.minimum(events["value"], _LARGEST).astype(np.int64)
    reads = events["kind"] == Kind.PROBED_READ
    first = np.where(reads, index // page_size, index)
    last = np.where(reads, (index + count - 1) // page_size, index)
    return first, np.where(reads & (count == 0), first - 1, last)
