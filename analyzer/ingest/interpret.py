"""From a decoded trace to a Recording: accesses, requests and files, with what the capture says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from foreread.analyzer.ingest import accesses as acc
from foreread.analyzer.ingest.arguments import Pids
from foreread.analyzer.ingest.file_ends import within_files
from foreread.analyzer.ingest.held import Places, with_askers
from foreread.analyzer.ingest.inserts import (
    Inserts,
    find_inserts,
    folio_pages,
    of_block_device,
)
from foreread.analyzer.ingest.page_size import SMALLEST, of_reads
from foreread.analyzer.ingest.probes import adopt
from foreread.analyzer.ingest.recording import Recording, SeenWindows, Trace, TraceError
from foreread.analyzer.ingest.requests import find_requests
from foreread.analyzer.ingest.squashfs_blocks import BlockLength, block_lengths
from foreread.analyzer.ingest.tables import FILES, MINOR_BITS, Array, Kind, Table
from foreread.analyzer.ingest.unsure import recognised, unsure_pages
from foreread.analyzer.ingest.windows_seen import types_of, windows_of
from foreread.boards.base.note import Note, NoteKind
from foreread.boards.base.units import kib_to_pages, pages_to_kib
from foreread.tracer.formats.capture import Device, FileEntry, Metadata, dev_of, dev_text
from foreread.tracer.formats.scenario import IDLE

MINOR_PAGES = 0.05  # share of the pages: a disk with no more than that does not decide


_WINDOWS_BESIDE = 4  # a read-around begins half a window before, the next window two after


def interpret(
    trace: Trace,
    capture: Metadata,
    entries: list[FileEntry],
    pids: Pids,
    given_page_size: int | None = None,
) -> Recording:
    """Turn a decoded trace into a Recording; see DESIGN's 'What an access is'.

    ``given_page_size``: the page size of the traced kernel, for a trace that does not name it.
    """
    page_size, assumed = _page_size(trace, capture, given_page_size)
    kernel = capture.host.kernel if capture.host else trace.kernel
    notes = list(trace.notes)
    events = _within_run(trace.events, capture)
    fstypes = {dev_of(m.dev): m.fstype for m in capture.mounts} or types_of(trace)
    first_sectors = {m.first_sector for m in capture.mounts}
    events = _with_askers(events, capture, entries)
    lengths = _block_lengths(events, capture, entries)
    block_pages = {dev: length.pages(page_size) for dev, length in lengths.items()}
    inserts = find_inserts(events, page_size, fstypes, first_sectors, _disks(capture), block_pages)
    mask, threads = _threads(events, inserts, capture, pids, notes)
    files, pages, again = acc.read_pages(inserts, mask)
    windows = windows_of(trace) if capture.read_ahead_kb is None else None
    read_ahead_kb = _window_in_force(capture, files)
    if windows is not None:
        read_ahead_kb = _window_of_events(windows, files, page_size)
    batched = acc.batched_share(inserts, mask)
    is_known = read_ahead_kb is not None
    contaminated = read_ahead_kb != 0 if is_known else batched > acc.BATCHED_AT_ZERO
    new, matters = _disks_read_ahead(capture, inserts, mask)
    if new:
        contaminated |= matters
        notes.append(
            f"disk {', '.join(new)} was mounted during the run, with its readahead on, and the "
            f"command read {'much' if matters else 'little'} from it: mount it before the run"
        )
    files, paths, row_entries = _name_files(files, entries, trace)
    slack_pages = _slack(read_ahead_kb, page_size, inserts) if contaminated else 0
    events, doubts = adopt(events, inserts, page_size, slack_pages)
    notes += doubts
    accesses = pages
    if contaminated:
        accesses = _decontaminate(files, pages, events, threads, notes)
    elif capture.read_ahead_kb is not None and batched > acc.BATCHED_AT_ZERO:
        notes.append(
            f"{batched:.0%} of the pages came in reads of several pages although readahead was "
            "off, as compressed blocks (squashfs, erofs, btrfs) and explicit readahead do: all "
            "of them count as accessed"
        )
    accesses = accesses.take(within_files(accesses, files, page_size, fstypes, kernel))
    files = acc.with_accessed(files, accesses)
    counts = _tell_apart(inserts, mask, threads, pages, accesses)
    counts |= {"read_again": again.rows} if again.rows else {}
    requests, of_load = _requests(events, capture, threads)
    recording = Recording(
        trace=replace(trace, events=events, page_size_assumed=assumed),
        capture=capture,
        accesses=accesses,
        requests=requests,
        files=files,
        paths=paths,
        page_size=page_size,
        kernel=kernel,
        recorded_read_ahead_kb=read_ahead_kb,
        contaminated=contaminated,
        counts=counts,
        devices=_disks(capture),
        notes=tuple(notes),
        threads=threads,
        inserts=inserts,
        entries=row_entries,
        block_lengths=lengths,
        windows=windows,
        load_requests=of_load,
        read_again=again,
        fstypes={**fstypes, **dict.fromkeys(inserts.on_f2fs, "f2fs")},
    )
    notes += [*unsure_pages(recording), *recognised(inserts)]
    return replace(recording, notes=tuple(notes))


def _page_size(trace: Trace, capture: Metadata, given: int | None) -> tuple[int, bool]:
    """Return the page size, and whether it is assumed. Raises TraceError for a wrong one given."""
    host = capture.host
    recorded = host.page_size if host else trace.page_size
    if recorded is not None and given not in (None, recorded):
        raise TraceError(
            f"the trace is of a kernel with pages of {recorded} bytes, not of {given}",
            "leave --page-size out: the trace names it",
        )
    if recorded is not None:
        return recorded, trace.page_size_assumed and host is None
    size = given or of_reads(trace.events)
    has_pages = bool((trace.events["kind"] <= Kind.RA_SYNC).any())
    return size or SMALLEST, size is None and has_pages


def _block_lengths(
    events: Table, capture: Metadata, entries: list[FileEntry]
) -> dict[int, BlockLength]:
    """Return the length of a block of each squashfs."""
    mounts = {dev_of(m.dev): m for m in capture.mounts if m.fstype == "squashfs"}
    if capture.host is None or not mounts:
        return {}
    sizes = {(dev_of(entry.dev), entry.ino): entry.size_bytes for entry in entries}
    learn = capture.read_ahead_kb == 0
    return block_lengths(events, mounts, sizes, capture.host.page_size, learn)


def _window_in_force(capture: Metadata, files: Table) -> int | None:
    """Return the largest window (KiB) of the disks read from; None if the file does not say.

    A disk whose knob could not be written kept its own, whatever was asked for; it matters if more
    than MINOR_PAGES of the pages came from it.
    """
    if capture.read_ahead_kb is None:
        return None
    least = MINOR_PAGES * int(files["accessed"].sum())

    def pages(disk: Device) -> int:
        own = np.isin(files["dev"], [dev_of(fs) for fs in disk.filesystems])
        return int(files["accessed"][own].sum())

    disks = [disk for disk in capture.devices if pages(disk) > least]
    return max(capture.read_ahead_kb, *(disk.read_ahead_kb for disk in disks), 0)


def _window_of_events(windows: SeenWindows, files: Table, page_size: int) -> int | None:
    """Return the largest window (KiB) in the events of the file systems that were read.

    None if the events are of others. As in _window_in_force a file system with few pages does not
    matter.
    """
    least = MINOR_PAGES * int(files["accessed"].sum())
    pages = [
        window
        for dev, window in windows.pages.items()
        if int(files["accessed"][files["dev"] == dev].sum()) > least
    ]
    return pages_to_kib(max(pages), page_size) if pages else None


def _slack(read_ahead_kb: int | None, page_size: int, inserts: Inserts) -> int:
    """Return how many pages beside an access the kernel's readahead may begin to read.

    A window that the file does not say is at most the longest run of pages that entered
    the page cache in order.
    """
    if read_ahead_kb is None:
        return _WINDOWS_BESIDE * (_longest_run(inserts) + 1)
    return _WINDOWS_BESIDE * (kib_to_pages(read_ahead_kb, page_size) + 1)


def _longest_run(inserts: Inserts) -> int:
    """Return the pages of the longest run of inserts of one file that follow each other."""
    data = inserts.data
    pages = folio_pages(data).astype(np.int64)
    if not len(pages):
        return 0
    goes_on = data["index"][1:] == data["index"][:-1] + pages[:-1].astype(data["index"].dtype)
    for name in ("dev", "ino"):
        goes_on &= data[name][1:] == data[name][:-1]
    run = np.concatenate(([0], np.cumsum(~goes_on)))
    return int(np.bincount(run, pages).max())


def _disks_read_ahead(capture: Metadata, inserts: Inserts, mask: Array) -> tuple[list[str], bool]:
    """Return the disks that were mounted during the run and read several pages a time.

    Only what the command itself read counts (``mask``): a disk that only others read spoils
    nothing. The second value is whether the command read more than MINOR_PAGES of its pages there.
    """
    if not capture.mounts:
        return [], False
    disks = _disks(capture)
    devs = [dev for dev in np.unique(inserts.data["dev"][mask]).tolist() if dev >> MINOR_BITS]
    unknown = [dev for dev in devs if dev not in disks]
    own = {dev: mask & (inserts.data["dev"] == dev) for dev in unknown}
    new = [dev for dev in unknown if acc.batched_share(inserts, own[dev]) > acc.BATCHED_AT_ZERO]
    pages = sum(int(inserts.pages[own[dev]].sum()) for dev in new)
    return [*map(dev_text, new)], pages > MINOR_PAGES * int(inserts.pages[mask].sum())


def _within_run(events: Table, capture: Metadata) -> Table:
    if capture.span_ns is None:
        return events
    low, high = np.searchsorted(events["time_ns"], np.array(capture.span_ns, np.uint64))
    return events.take(np.arange(low, high))


def _with_askers(events: Table, capture: Metadata, entries: list[FileEntry]) -> Table:
    """Return the events with reads that a limiter held back given to the threads that asked."""
    if capture.host is None:
        return events
    places = Places(
        {(dev_of(entry.dev), entry.ino): entry.extents for entry in entries if entry.extents},
        {dev_of(mount.dev): mount.first_sector for mount in capture.mounts},
        _disks(capture),
        capture.host.page_size,
    )
    inserts = events.take(events["kind"] == Kind.INSERT)
    return with_askers(events, of_block_device(events, inserts), places)


def _threads(
    events: Table, inserts: Inserts, capture: Metadata, pids: Pids, notes: list[str]
) -> tuple[Array, frozenset[int] | None]:
    """Return the mask of the inserts that count, and the threads (None: all)."""
    if isinstance(pids, frozenset):
        threads = pids
    elif pids == "all" or capture.pid is None:
        if pids == "tree":
            text = "the file does not name the command: pages of all processes count"
            notes.append(Note(text, NoteKind.ANSWER))
        return np.ones(inserts.data.rows, bool), None
    else:
        roots = {capture.pid, *(capture.boot.processes if capture.boot else ())}
        threads = frozenset(acc.process_tree(events, roots))
    return acc.of_threads(inserts.data, threads), threads


def _requests(
    events: Table, capture: Metadata, threads: frozenset[int] | None
) -> tuple[Table, Table | None]:
    """Return the requests of the start, beside a load without those of others, and the load's."""
    requests = find_requests(events)
    if capture.is_load:
        return requests, requests
    if capture.scenario == IDLE or threads is None:
        return requests, None
    own = acc.of_threads(requests, threads)
    return requests.take(own), requests.take(~own)


def _decontaminate(
    files: Table,
    pages: Table,
    events: Table,
    threads: frozenset[int] | None,
    notes: list[str],
) -> Table:
    """Keep the pages that access events touched, where the kernel has such events."""
    kinds = events["kind"]
    has_events = bool(((kinds == Kind.FAULT) | (kinds == Kind.GET_PAGES)).any())
    if not has_events:
        notes.append(
            "recorded with readahead on and without access events: pages that the kernel read "
            "ahead count as accessed. Record at read_ahead_kb=0"
        )
        return pages
    notes.append(
        "recorded with readahead on: accesses come from fault and read events, and pages that "
        "fault-around mapped are missing (up to nine in ten). Record at read_ahead_kb=0"
    )
    chosen = events if threads is None else events.take(acc.of_threads(events, threads))
    return acc.touched(files, pages, chosen)


def _tell_apart(
    inserts: Inserts,
    mask: Array,
    threads: frozenset[int] | None,
    pages: Table,
    accesses: Table,
) -> dict[str, int]:
    size = folio_pages(inserts.data)
    metadata = inserts.metadata
    own = metadata.rows if threads is None else int(acc.of_threads(metadata, threads).sum())
    return {
        "written_or_hole": int(size[mask & (inserts.pages == 0)].sum()),
        "metadata": own,
        "other_process": int(inserts.pages[~mask].sum()),
        "readahead": pages.rows - accesses.rows,
    }


def _name_files(
    files: Table, entries: list[FileEntry], trace: Trace
) -> tuple[Table, tuple[str | None, ...], tuple[FileEntry | None, ...]]:
    """Fill in sizes, and return paths and entries by row of ``files``."""
    by_inode = {(dev_of(entry.dev), entry.ino): entry for entry in entries}
    paths: list[str | None] = []
    size = np.full(files.rows, -1, np.int64)
    for row, inode in enumerate(zip(files["dev"].tolist(), files["ino"].tolist(), strict=True)):
        entry = by_inode.get(inode)
        paths.append(entry.path if entry else trace.paths.get(inode))
        if entry:
            size[row] = entry.size_bytes
    rows = zip(files["dev"].tolist(), files["ino"].tolist(), strict=True)
    row_entries = tuple(by_inode.get(inode) for inode in rows)
    return Table(FILES, {**files, "size_bytes": size}), tuple(paths), row_entries


def _disks(capture: Metadata) -> dict[int, int]:
    return {dev_of(fs): dev_of(disk.dev) for disk in capture.devices for fs in disk.filesystems}
