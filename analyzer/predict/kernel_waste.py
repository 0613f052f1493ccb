"""The pages that the kernel's readahead would read of each file, by the rule that reads them.

For one window, by the plain emulation (emulator/linux/reference.py), since the C core counts
without the rules. analyzer.predict.waste does the same for the fixed window.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from analyzer.predict.inputs import Inputs
from analyzer.predict.waste import MAX_PAGE, Waste
from emulator.linux.operations import Cause, Outcome
from emulator.linux.reference import Replay
from emulator.linux.requests import SECTOR, Layout, count
from emulator.linux.rules import Version, rules_for

MOST_OPERATIONS = 200_000  # 10 seconds or so
Ints = npt.NDArray[np.int64]

# A page that was read: file row, page, Cause, row of the operation, number of the request's call.
READ = np.dtype([("file", "i8"), ("page", "i8"), ("cause", "u1"), ("operation", "i8")])


@dataclass(frozen=True)
class Caused:
    """Reads of one rule: ``pages``, of which ``wasted`` were never accessed; Ints by file row."""

    cause: Cause
    pages: Ints
    wasted: Ints


def kernel_waste(taken: Inputs, version: Version, window: int) -> tuple[Waste, list[Caused]] | None:
    """Return the pages read at ``window`` (pages) by file and rule; None for too many operations.

    Rules that read nothing are left out.
    """
    if len(taken.program.operations) > MOST_OPERATIONS:
        return None
    files = taken.recording.files.rows
    requests = np.zeros(files, np.int64)
    parts = []
    for row in range(len(taken.disks)):
        part, made = _on_disk(taken, version, window, row)
        parts.append(part)
        requests += made
    read = np.concatenate([np.zeros(0, READ), *parts])
    vain = _in_vain(taken, read)
    causes = [
        Caused(cause, _by_file(read[of], files), _by_file(read[of & vain], files))
        for cause in Cause
        if (of := read["cause"] == cause).any()
    ]
    return _waste(taken, window, requests, read[vain]), causes


def _on_disk(
    taken: Inputs, version: Version, window: int, row: int
) -> tuple[npt.NDArray[np.void], Ints]:
    """Return the pages read from one disk (READ), and the requests by file."""
    here = np.flatnonzero(taken.disk_of_file[taken.program.file_of_operations()] == row)
    program = replace(taken.program, operations=taken.program.operations[here])
    machine, limits = taken.machine(row)
    replay = Replay(program, rules_for(version), window, machine)
    outcome = replay.kernel.outcome
    found: list[tuple[int, int, int, int]] = []
    for at, operation in zip(here.tolist(), program.operations.tolist(), strict=True):
        before = len(outcome.inserts)
        deque(replay.do(*operation), maxlen=0)
        found += _pages(outcome, before, at)
    layout, size = Layout(taken.extents), machine.page_size
    made, _ = count(outcome, program, layout, limits, size)
    blocks = program.files["block_pages"].tolist()
    found = [read for read in found if blocks[read[0]] or _stored(layout, *read[:2], size)]
    return np.array(found, READ), np.array(made, np.int64)


def _pages(outcome: Outcome, first: int, operation: int) -> Iterator[tuple[int, int, int, int]]:
    inserts = zip(outcome.inserts[first:], outcome.causes[first:], strict=True)
    for (file, index, order, _), cause in inserts:
        for page in range(index, index + (1 << order)):
            yield file, page, cause, operation


def _stored(layout: Layout, file: int, page: int, page_size: int) -> bool:
    """Return whether a page is on the device: pages in holes are not read."""
    unit = page_size // SECTOR
    return any(layout.pieces(file, page * unit, (page + 1) * unit))


def _in_vain(taken: Inputs, read: npt.NDArray[np.void]) -> npt.NDArray[np.bool_]:
    """Return which pages the application never accessed; pages after a file's end do not count."""
    files, accesses = taken.recording.files, taken.recording.accesses
    touched = accesses["file"].astype(np.int64), np.minimum(accesses["page"], MAX_PAGE)
    key = (touched[0] << 52) + touched[1].astype(np.int64)
    size = files["size_bytes"][read["file"]]
    exists = (size < 0) | (read["page"] * taken.recording.page_size < size)
    return np.asarray(exists & ~np.isin((read["file"] << 52) + read["page"], key))


def _by_file(read: npt.NDArray[np.void], files: int) -> Ints:
    return np.bincount(read["file"], minlength=files).astype(np.int64)


def _waste(taken: Inputs, window: int, requests: Ints, vain: npt.NDArray[np.void]) -> Waste:
    """Return the unused pages as runs read by one operation."""
    vain = vain[np.lexsort((vain["page"], vain["operation"], vain["file"]))]
    new = np.ones(len(vain), bool)
    new[1:] = np.diff(vain["page"]) != 1
    new[1:] |= (np.diff(vain["operation"]) != 0) | (np.diff(vain["file"]) != 0)
    first = np.flatnonzero(new)
    return Waste(
        window=window,
        requests=requests,
        wasted=_by_file(vain, len(requests)),
        run_file=vain["file"][first].astype(np.int64),
        run_page=vain["page"][first].astype(np.int64),
        run_pages=np.diff(np.append(first, len(vain))),
        run_ns=taken.times[vain["operation"][first]].astype(np.int64),
    )
