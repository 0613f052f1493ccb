"""A start with little memory: what of it is left for the pages of its files, and what it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.predict.bands import Bands
from foreread.analyzer.predict.start import Start
from foreread.analyzer.program.frame import frame_of
from foreread.boards.base.units import KIB, MIB, kib_text, pages_to_kib, size_text
from foreread.emulator.linux.requests import SECTOR
from foreread.emulator.linux.steps import Run, Timed
from foreread.tracer.formats.memory import Samples

_QUARTER = MIB // KIB // 4
LEAST_PAGES = 64  # of files: below them a start makes hardly any way
# Of the kernel, in bytes, for a file that is open: inode and dentry (ext4_inode_cache, dentry:
# /proc/slabinfo of Linux 6.18), and a node of the page cache's tree for 64 pages.
_PER_FILE = 1200 + 192 + 576


def with_memory(start: Start, kib: int) -> Start:
    """Return a start that has so much memory, which is timed as any other.

    The program's own memory, that of the kernel for its files, and their metadata grow as they did
    when the start was recorded; the kernel reclaims pages of files for them.
    """
    return _limited(start, max(kib * KIB // start.recording.page_size, 1), own_pages(start))


def own_kib(start: Start) -> int | None:
    """Return the memory that a recorded program itself takes at most; None if unknown."""
    memory = start.recording.capture.memory
    return None if memory is None else memory.own_peak_kib


def own_pages(start: Start) -> Array:
    """Return how many pages are not of files' contents at each step (u4): the most so far."""
    recording, alone = start.recording, start.alone or start.run
    steps, page_size = alone.steps, recording.page_size
    operation = steps["operation"]
    times = np.zeros(len(steps))
    known = operation >= 0
    times[known] = start.times[operation[known]]
    times = np.maximum.accumulate(times)
    elsewhere = np.searchsorted(_times_elsewhere(start), times, side="right")
    program = _interpolated(_samples(start), (times - frame_of(recording).start_ns) / 1e6) * KIB
    meta = np.where((operation < 0) & (steps["thread"] != start.strangers), steps["sectors"], 0)
    files = np.zeros(len(steps))
    of_step = alone.program.file_of_operations()[operation[known]]
    first = np.unique(of_step, return_index=True)[1]
    files[np.flatnonzero(known)[first]] = 1
    octets = program + np.cumsum(meta.astype(np.int64)) * SECTOR + np.cumsum(files) * _PER_FILE
    return np.maximum.accumulate(octets // page_size + elsewhere).astype(np.uint32)


def _times_elsewhere(start: Start) -> Array:
    """Return when the start touched pages of other disks' files, which stay in memory, rising."""
    inputs = start.inputs
    accesses = inputs.recording.accesses
    here = inputs.disk_of_file[accesses["file"]] == inputs.disks.index(start.disk)
    return np.sort(accesses["time_ns"][~here])


def available_kib(start: Start) -> int | None:
    """Return the memory that the recorded run had for itself; None if unknown."""
    memory = start.recording.capture.memory
    if memory is None:
        return None
    limits = [memory.available_kib]
    if memory.group is not None and memory.group.limit_kib is not None:
        limits.append(memory.group.limit_kib)
    return min(limits)


def recorded_run(start: Start, at_zero: Timed) -> Timed:
    """Return the replay of the recorded run: in its memory, if that lacked some.

    ``at_zero`` is the replay with memory to spare, at a window of 0.
    """
    available = available_kib(start)
    if "read_again" not in start.recording.counts or available is None:
        return at_zero
    return with_memory(start.idle, available).timed([0])[0]


def tight_kib(start: Start) -> int:
    """Return the memory of a run that reclaims most of a start's pages, in quarters of a MiB.

    It holds the program, and one of sixteen pages of its files. In whole MiB it held up to 15 % of
    the pages of a small start.
    """
    pages = int(own_pages(start).max(initial=0)) + start.recording.accesses.rows // 16
    kib = pages_to_kib(pages, start.recording.page_size)
    return -(-kib // _QUARTER) * _QUARTER


def needed_kib(start: Start, pages: int) -> int:
    """Return the memory that a start needs which reads so many pages, and reads none twice."""
    return pages_to_kib(int(own_pages(start).max(initial=0)) + pages, start.recording.page_size)


def shortage(start: Start, window: int, available_kib: int, pages: int | None = None) -> str | None:
    """Return how a machine lacks memory for a start under a window (in pages); None if it does not.

    ``pages``: what the start reads under the window, if known.
    """
    read = pages_of(start.idle.timed([window])[0]) if pages is None else pages
    needed = needed_kib(start, read)
    if needed <= available_kib:
        return None
    kib = pages_to_kib(window, start.recording.page_size)
    return (
        f"with a window of {kib_text(kib)} the start needs {size_text(needed * KIB)} of memory, "
        f"and {size_text(available_kib * KIB)} are available"
    )


def lacking_kib(starts: Sequence[Start], bands: Bands | None) -> int | None:
    """Return the memory that the recorded run had, if it is too little for a window; else None.

    Also None where that little was given to see which pages are used again.
    """
    if not starts or bands is None or starts[0].shows_later_uses:
        return None
    start, available = starts[0], available_kib(starts[0])
    if available is None:
        return None
    most = max(map(pages_of, start.timed([bands.windows[-1], bands.best])))
    return available if needed_kib(start, most) > available else None


def least_kib(start: Start, window: int) -> int:
    """Return the least memory in which a start reads no page twice under a window.

    The program's own is part of it. It is found by halving, to 1 % of the pages that the start
    reads.
    """
    own = own_pages(start)
    idle = start.idle
    (recorded,) = idle.timed([0])
    read = _pages_read(idle, window, recorded)
    low, high = LEAST_PAGES, read + int(own.max(initial=0)) + LEAST_PAGES
    while high - low > max(read // 100, 1):
        middle = (low + high) // 2
        if _pages_read(_limited(idle, middle, own), window, recorded) > read:
            low = middle
        else:
            high = middle
    return pages_to_kib(high, start.recording.page_size)


def _limited(start: Start, pages: int, own: Array) -> Start:
    """Return a start with so many pages of memory, of which it has its ``own`` at each step."""
    run: Run = start.alone or start.run
    steps = run.steps.copy()
    steps["own_pages"] = own
    limited = replace(run, steps=steps, machine=replace(run.machine, cache_pages=pages))
    return replace(start, run=limited, alone=run)


def pages_of(run: Timed) -> int:
    """Return the pages that a start read."""
    return int(run.work[:, 1].sum())


def _pages_read(start: Start, window: int, recorded: Timed) -> int:
    return pages_of(start.timed([window], recorded)[0])


def _samples(start: Start) -> Samples:
    """Return what a recorded program itself had of memory: [ms, KiB]."""
    memory = start.recording.capture.memory
    return [] if memory is None else memory.own


def _interpolated(samples: Samples, times_ms: Array) -> Array:
    """Return KiB at each time; 0 without samples. After the last sample it stays."""
    if not samples:
        return np.zeros(len(times_ms))
    at, kib = np.array([(0, 0), *samples], np.float64).T
    return np.asarray(np.interp(times_ms, at, kib))
