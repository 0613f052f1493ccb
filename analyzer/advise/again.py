"""Pages that a start reads a second time, because they had left the page cache.

The replay of a recording has each page once: nothing leaves its cache. The second reads are added
to it as they were recorded, so that what they cost is the difference of the two replays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from foreread.analyzer.advise.variant import Variant, with_steps
from foreread.analyzer.ingest.accesses import rows_of
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.program.added_steps import new_steps
from foreread.boards.base.counted import plural
from foreread.emulator.linux.requests import SECTOR

_SHOWN = 3  # files by name
DROPPED = (
    "find what drops them: POSIX_FADV_DONTNEED, drop_caches, or too little memory "
    "(foreread show; grep workingset_refault_file /proc/vmstat)"
)
_TOUCH = np.dtype([("time_ns", "u8"), ("pid", "i4"), ("file", "i8"), ("page", "i8")])


@dataclass(frozen=True, eq=False)
class Again:
    """The second and further reads of pages: time, thread, row of the file, page, in order."""

    reads: Array

    @property
    def files(self) -> dict[int, int]:
        """Return how many pages of each file (row) were read again, most first."""
        file, number = np.unique(self.reads["file"], return_counts=True)
        pages = dict(zip(file.tolist(), number.tolist(), strict=True))
        return dict(sorted(pages.items(), key=lambda item: -item[1]))

    def named(self, recording: Recording) -> str:
        """Return how many pages of which files were read again."""
        names = [
            f"{recording.paths[row] or 'a file without a known path'} ({plural(number, 'page')})"
            for row, number in [*self.files.items()][:_SHOWN]
        ]
        more = len(self.files) - len(names)
        rest = f" and {plural(more, 'other file')}" if more > 0 else ""
        return f"{plural(len(self.reads), 'page')} of {', '.join(names)}{rest}"


def read_again(recording: Recording) -> Again:
    """Return the reads of pages that the start had read before."""
    inserts = recording.inserts
    if inserts is None or not inserts.reads_recorded:
        return Again(np.zeros(0, _TOUCH))
    row, is_known = rows_of(recording.files, inserts.data)
    chosen = np.flatnonzero(is_known & (inserts.pages > 0))
    touches = np.zeros(len(chosen), _TOUCH)
    for name in ("time_ns", "pid"):
        touches[name] = inserts.data[name][chosen]
    touches["file"], touches["page"] = row[chosen], inserts.data["index"][chosen].astype(np.int64)
    _, first = np.unique(touches[["file", "page"]], return_index=True)
    later = np.ones(len(touches), bool)
    later[first] = False
    if recording.threads is not None:
        later &= np.isin(touches["pid"], np.array([*recording.threads], np.int32))
    return Again(touches[later])


def with_second_reads(variant: Variant, times: Array, again: Again) -> Variant:
    """Return the variant that reads pages again as it was recorded.

    ``times`` (ns) are the times of the program's operations. Neighbouring pages that a thread reads
    again one after the other are one request, as long as the present window.
    """
    reads = again.reads[again.reads["time_ns"] > 0]
    rows, requests = [], []
    for file, page, pages, time, pid in _merged(reads, max(variant.window, 1)):
        row = _step_at(variant, times, time, pid)
        for sector, sectors in _places(variant, file, page, pages):
            rows.append(row)
            requests.append((sector, sectors))
    if not rows:
        return variant
    steps = new_steps(len(rows))
    steps["sector"], steps["sectors"] = np.array(requests).T
    steps["bios"] = 1
    second = frozenset(sector for sector, _ in requests)
    return replace(with_steps(variant, rows, steps), second=second)


def _merged(reads: Array, most: int) -> list[tuple[int, int, int, int, int]]:
    """Return (file, first page, pages, time, thread) of runs of neighbouring pages."""
    runs: list[tuple[int, int, int, int, int]] = []
    for time, pid, file, page in reads.tolist():
        if runs:
            last, first, pages, since, by = runs[-1]
            if (last, by) == (file, pid) and page == first + pages and pages < most:
                runs[-1] = (last, first, pages + 1, since, by)
                continue
        runs.append((file, page, 1, time, pid))
    return runs


def _step_at(variant: Variant, times: Array, time: int, pid: int) -> int:
    """Return the step before which a thread does something at a time."""
    steps, threads = variant.run.steps, variant.start.threads
    number = threads.index(pid) if pid in threads else int(steps["thread"][0])
    operation = steps["operation"]
    rows = np.flatnonzero((operation >= 0) & (steps["thread"] == number))
    if not len(rows):
        return len(steps) - 1
    later = rows[times[operation[rows]] >= time]
    return int(later[0]) if len(later) else int(rows[-1])


def _places(variant: Variant, file: int, page: int, pages: int) -> list[tuple[int, int]]:
    """Return the sectors of pages on the disk."""
    run = variant.run
    unit = run.machine.page_size // SECTOR
    pieces = run.layout.pieces(file, page * unit, (page + pages) * unit)
    return [(sector, sectors) for _, sector, sectors in pieces if sectors]
