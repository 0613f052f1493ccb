"""The pages that the kernel's readahead would read of each file, by the rule that reads them.

For one window. analyzer.predict.waste does the same for the fixed window.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from foreread.analyzer.predict.inputs import Inputs
from foreread.analyzer.predict.waste import MAX_PAGE, Waste
from foreread.emulator.linux.operations import Cause
from foreread.emulator.linux.requests import SECTOR, Layout
from foreread.emulator.linux.rules import Version, rules_for
from foreread.emulator.linux.windows import Emulation

Ints = npt.NDArray[np.int64]

# A page that was read: file row, page, Cause, row of the operation.
READ = np.dtype([("file", "i8"), ("page", "i8"), ("cause", "u1"), ("operation", "i8")])


@dataclass(frozen=True)
class Caused:
    """Reads of one rule: ``pages``, of which ``wasted`` were never accessed; Ints by file row."""

    cause: Cause
    pages: Ints
    wasted: Ints


def kernel_waste(start_inputs: Inputs, version: Version, window: int) -> tuple[Waste, list[Caused]]:
    """Return the pages read at ``window`` (pages) by file and rule.

    Rules that read nothing are left out.
    """
    files = start_inputs.recording.files.rows
    requests = np.zeros(files, np.int64)
    parts = []
    for row in range(len(start_inputs.disks)):
        part, requests_of_disk = _on_disk(start_inputs, version, window, row)
        parts.append(part)
        requests += requests_of_disk
    read = np.concatenate([np.zeros(0, READ), *parts])
    vain = _in_vain(start_inputs, read)
    causes = [
        Caused(cause, _by_file(read[of], files), _by_file(read[of & vain], files))
        for cause in Cause
        if (of := read["cause"] == cause).any()
    ]
    return _waste(start_inputs, window, requests, read[vain]), causes


def _on_disk(
    start_inputs: Inputs, version: Version, window: int, row: int
) -> tuple[npt.NDArray[np.void], Ints]:
    """Return the pages read from one disk (READ), and the requests by file."""
    here = np.flatnonzero(
        start_inputs.disk_of_file[start_inputs.program.file_of_operations()] == row
    )
    program = replace(start_inputs.program, operations=start_inputs.program.operations[here])
    machine, limits = start_inputs.machine(row)
    group = np.arange(len(program.files), dtype=np.uint32)
    emulation = Emulation(program, rules_for(version), machine, limits, start_inputs.extents, group)
    read = _pages(emulation.inserts(window))
    read["operation"] = here[read["operation"]]
    layout, blocks = Layout(start_inputs.extents), program.files["block_pages"]
    places = zip(read["file"].tolist(), read["page"].tolist(), strict=True)
    stored = [
        blocks[file] or _stored(layout, file, page, machine.page_size) for file, page in places
    ]
    requests = emulation.counts([window]).requests
    return read[np.array(stored, bool)], requests[:, 0]


def _pages(inserts: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Return the pages (READ) of folios (INSERT)."""
    pages = 1 << inserts["order"].astype(np.int64)
    folio = np.repeat(np.arange(len(inserts)), pages)
    read = np.zeros(len(folio), READ)
    for name in ("file", "cause", "operation"):
        read[name] = inserts[name][folio]
    first = np.cumsum(pages) - pages
    read["page"] = inserts["index"][folio].astype(np.int64) + np.arange(len(folio)) - first[folio]
    return read


def _stored(layout: Layout, file: int, page: int, page_size: int) -> bool:
    """Return whether a page is on the device: pages in holes are not read."""
    unit = page_size // SECTOR
    return any(layout.pieces(file, page * unit, (page + 1) * unit))


def _in_vain(start_inputs: Inputs, read: npt.NDArray[np.void]) -> npt.NDArray[np.bool_]:
    """Return which pages the application never accessed; pages after a file's end do not count."""
    files, accesses = start_inputs.recording.files, start_inputs.recording.accesses
    touched = accesses["file"].astype(np.int64), np.minimum(accesses["page"], MAX_PAGE)
    key = (touched[0] << 52) + touched[1].astype(np.int64)
    size = files["size_bytes"][read["file"]]
    exists = (size < 0) | (read["page"] * start_inputs.recording.page_size < size)
    return np.asarray(exists & ~np.isin((read["file"] << 52) + read["page"], key))


def _by_file(read: npt.NDArray[np.void], files: int) -> Ints:
    return np.bincount(read["file"], minlength=files).astype(np.int64)


def _waste(start_inputs: Inputs, window: int, requests: Ints, vain: npt.NDArray[np.void]) -> Waste:
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
        run_ns=start_inputs.times[vain["operation"][first]].astype(np.int64),
    )
