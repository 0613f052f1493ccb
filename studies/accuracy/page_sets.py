"""A cell of pages: the reads at every window, compared with the prediction from a run at 0."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Rwbs
from foreread.analyzer.predict.inputs import Inputs, inputs
from foreread.analyzer.predict.linux import on_disk
from foreread.analyzer.program.steps import own_requests
from foreread.boards.base.units import KIB, kib_to_pages
from foreread.boards.emulated.live import started
from foreread.emulator.linux.operations import OPERATION, Op
from foreread.emulator.linux.rules import version_of
from foreread.tracer.formats.capture import dev_of
from studies.accuracy.applications import Reads, Row, compare, measured, prediction
from studies.accuracy.cli import Foreread
from studies.accuracy.store import Document

BOARD_WINDOWS_KB = (4, 16, 32, 64, 128, 512)


class Program(Protocol):
    """What is run."""

    @property
    def command(self) -> tuple[str, ...]:
        """The words."""


def on_board(
    target: str,
    program: Program,
    folder: Path,
    foreread: Foreread,
    windows_kb: Sequence[int] = BOARD_WINDOWS_KB,
) -> Document:
    """Record a program on a target at 0 and at every window; return the rows and the kernel.

    The first run writes the files that the later runs read.
    """
    words = ("record", "--target", target, "--allow-warm", "--json")
    if not (folder / "0/capture.json").exists():
        shutil.rmtree(folder / "first", ignore_errors=True)  # of a run that was interrupted
        foreread(*words, "-o", folder / "first", "--", *program.command)
    for kb in (0, *windows_kb):
        window = ("--read-ahead-kb", kb) if kb else ()
        if not (folder / f"{kb}/capture.json").exists():
            foreread(*words, *window, "-o", folder / str(kb), "--", *program.command)
    metadata = _metadata_sector(target)
    base = load(folder / "0")
    base_inputs = inputs(base, version_of(base.kernel or ""))
    rows = []
    for kb in windows_kb:
        run = load(folder / str(kb))
        changed = len(_cached(base) ^ _cached(run))
        rows.append(asdict(_row(base_inputs, run, kb, metadata)) | {"cached_otherwise": changed})
    return {"kernel": base.kernel, "rows": rows}


def _metadata_sector(target: str) -> int | None:
    """Return where the metadata of a board's squashfs begins: after all data.

    None for another root. It is inode_table_start of the superblock (fs/squashfs/squashfs_fs.h), in
    whole blocks of 1 KiB, as squashfs reads (SQUASHFS_DEVBLK_SIZE).
    """
    board = started(target)
    if board is None:
        return None
    done = board.target().run(["dd", "if=/dev/slow0", "bs=96", "count=1"], timeout_s=60.0)
    if done.status or done.stdout[:4] != b"hsqs":
        return None
    return int.from_bytes(done.stdout[64:72], "little") // KIB * 2


def started_as(base_inputs: Inputs, run: Recording) -> Inputs:
    """Return inputs with those pages cached at the start that were when ``run`` began.

    Which pages of libc and the shell are mapped by processes that run all the time, and so
    survive drop_caches, changes a little from run to run: no prediction can know.
    """
    base, program = base_inputs.recording, base_inputs.program
    before, then = _cached(base), _cached(run)
    rows = {inode: row for row, inode in enumerate(_inodes(base))}
    operations, each_ns = _page_by_page(program.operations, base_inputs.times)
    gone = {(rows[inode], page) for inode, page in before - then}
    first = (operations["op"] == Op.PRESENT) & (each_ns == 0)
    pages = zip(operations["handle"].tolist(), operations["at"].tolist(), strict=True)
    kept = ~first | [page not in gone for page in pages]
    new = [
        (Op.PRESENT, rows[inode], 0, page, 1)
        for inode, page in sorted(then - before)
        if inode in rows
    ]
    joined = np.concatenate([np.array(new, OPERATION), operations[kept]])
    times = np.concatenate([np.zeros(len(new), np.uint64), each_ns[kept]])
    return replace(base_inputs, program=replace(program, operations=joined), times=times)


def _page_by_page(operations: Array, times: Array) -> tuple[Array, Array]:
    """Return operations and their times with one page for each that was present."""
    present = operations["op"] == Op.PRESENT
    pages = np.where(present, operations["length"], 1).astype(np.int64)
    single_pages = np.repeat(operations, pages)
    nth = np.arange(len(single_pages)) - np.repeat(np.cumsum(pages) - pages, pages)
    single = np.repeat(present, pages)
    single_pages["at"][single] += nth[single].astype(single_pages["at"].dtype)
    single_pages["length"][single] = 1
    return single_pages, np.repeat(times, pages)


def _cached(recording: Recording) -> set[tuple[tuple[int, int], int]]:
    """Return the (inode, page) that were cached when a recording's run began."""
    return {
        (inode, page)
        for inode, entry in zip(_inodes(recording), recording.entries, strict=True)
        for first, pages in (entry and entry.cached_pages) or ()
        for page in range(first, first + pages)
    }


def _inodes(recording: Recording) -> list[tuple[int, int]]:
    files = recording.files
    return list(zip(files["dev"].tolist(), files["ino"].tolist(), strict=True))


def _row(base_inputs: Inputs, run: Recording, kb: int, metadata: int | None = None) -> Row:
    base = base_inputs.recording
    dev = _root(base)
    of_disk = base.devices.get(dev, dev)
    rest = 0 if _plain(base, dev) else issued(base, of_disk) - _requests(base_inputs, of_disk, 0)
    same = started_as(base_inputs, run)
    requests = _requests(same, of_disk, kb)
    predicted = replace(prediction(same, dev, kb), requests=requests)
    seen = _measured(run, dev, of_disk, rest)
    if metadata is not None:
        seen = replace(seen, requests=issued(run, of_disk, metadata))
    return compare(kb, "prediction", *(_within(base, reads) for reads in (predicted, seen)))


def _within(recording: Recording, reads: Reads) -> Reads:
    """Return the reads without folios after the ends of files, which cost no I/O.

    squashfs, and read(2) before 5.12, put some there; which, depends on what was cached.
    """
    files = recording.files
    sizes = zip(files["ino"].tolist(), files["size_bytes"].tolist(), strict=True)
    pages_in = {ino: -(-size // recording.page_size) for ino, size in sizes if size >= 0}
    inside = [folio for folio in reads.folios if folio[1] < pages_in.get(folio[0], folio[1] + 1)]
    return replace(reads, folios=inside)


def _requests(base_inputs: Inputs, disk: int, kb: int) -> int:
    """Return the number of requests predicted for a disk, with those for squashfs's blocks."""
    recording = base_inputs.recording
    emulation = on_disk(
        base_inputs, version_of(recording.kernel or ""), base_inputs.disks.index(disk)
    )
    counts = emulation.counts([kib_to_pages(kb, recording.page_size)])
    return int(counts.requests.sum())


def _measured(run: Recording, dev: int, disk: int, rest: int) -> Reads:
    """Return the reads of a run; requests without the ``rest`` that is not file data.

    Without FIEMAP, which busybox lacks, an extent does not tell file data from metadata.
    """
    own = _own(run, disk) if _plain(run, dev) else issued(run, disk) - rest
    reads = measured(run, dev)
    in_metadata = _never_read(run)
    folios = [folio for folio in reads.folios if folio[0] not in in_metadata]
    return replace(reads, folios=folios, requests=own)


def _never_read(run: Recording) -> set[int]:
    """Return the inodes with pages that no read filled: btrfs keeps links' text in its trees."""
    assert run.inserts is not None
    inodes, filled = run.inserts.data["ino"], run.inserts.pages > 0
    return set(inodes.tolist()) - set(inodes[filled].tolist())


def _plain(recording: Recording, dev: int) -> bool:
    """Return whether metadata is read through the page cache, so that it can be determined."""
    mounts = recording.capture.mounts
    return not any(m.fstype == "squashfs" for m in mounts if dev_of(m.dev) == dev)


def _own(recording: Recording, disk: int) -> int:
    table = recording.requests.take(recording.requests["dev"] == disk)
    begin, end = recording.capture.span_ns or (0, 1 << 63)
    within = (table["issue_ns"] >= begin) & (table["issue_ns"] < end)
    return int(np.count_nonzero(own_requests(recording, table) & within))


def issued(recording: Recording, disk: int, below: int | None = None) -> int:
    """Return the number of reads sent to a disk, of those ``below`` a sector."""
    table = recording.requests
    reads = (table["flags"] & Rwbs.READ) > 0
    if below is not None:
        reads &= table["sector"] < below
    return int(np.count_nonzero(reads & (table["dev"] == disk)))


def _root(recording: Recording) -> int:
    """Return the file system with most of the accessed pages."""
    return _commonest(recording.files["dev"][recording.accesses["file"]].tolist())


def _commonest(devs: Iterable[int]) -> int:
    counted: Sequence[int] = list(devs)
    return max(set(counted), key=counted.count)
