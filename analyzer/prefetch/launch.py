"""The launch of a replayer at boot: its boot script, program and list are read from the disk.

The first thread of a boot runs the boot script: it executes a shell, which reads the script and
starts the replayer. The replayer's exec maps its program. A dynamically linked program touches the
C library like the first recorded thread that used the loader; then it faults its own pages in, in
their order, and reads the list. Script, program and list are three further files, after all others
on the disk.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.program.opening import Opening
from foreread.emulator.linux.operations import FILE, MAPPING, OPERATION, MapFlag, Op, Program
from foreread.emulator.linux.requests import EXTENT, SECTOR, Layout
from foreread.emulator.linux.steps import STEP, Run

# A list's text: offset and length of a range, and a path where the file changes.
_RANGE_BYTES, _PATH_BYTES = 16, 60
_READ_BYTES = 16 << 10  # of one read(2)
_FIRST_ADDRESS = 1 << 20  # page number: the beginning of a page table


def before(run: Run, added: Array) -> Run:
    """Return a run with the first steps ``added`` (STEP), which refer to each other by row."""
    steps = run.steps.copy()
    for name in ("waits_for", "woken_by"):
        steps[name] += np.where(steps[name] >= 0, len(added), 0)
    return replace(run, steps=np.concatenate((added, steps)))


def launched(run: Run, rows: Sequence[tuple[int, int, int]], opening: Opening) -> Run:
    """Return a run that launches its replayer; the replayer has the first steps and ``rows``.

    ``opening`` has the bytes of boot script and program, and the duration of an exec.
    """
    replayer = int(run.steps["thread"][0])
    booting = int(run.steps["thread"][run.steps["thread"] != replayer][0])
    list_bytes = _RANGE_BYTES * len(rows) + _PATH_BYTES * len({file for file, _, _ in rows})
    sizes = (opening.script_bytes, opening.program_bytes, list_bytes)
    of_libraries = _of_libraries(run, opening.libraries)
    program, (script, mapping, listing) = _with_files(run.program, sizes, run.machine.page_size)
    program, copied = _copied(program, of_libraries)
    pages = int(program.mappings["pages"][mapping])
    by_shell = _reads(script, sizes[0])
    by_replayer = [
        *copied,
        *((Op.FAULT, 0, mapping, page, 0) for page in range(pages)),
        *_reads(listing, sizes[2]),
    ]
    first = len(program.operations)
    steps = np.concatenate(
        (
            _thread(booting, opening.exec_ns, first, len(by_shell)),
            _thread(replayer, opening.exec_ns, first + len(by_shell), len(by_replayer)),
        )
    )
    steps["waits_for"][len(by_shell) + 1] = len(by_shell)
    operations = np.array([*by_shell, *by_replayer], OPERATION)
    program = replace(program, operations=np.concatenate((program.operations, operations)))
    layout = _after_all(run.layout, len(run.program.files), sizes)
    return before(replace(run, program=program, layout=layout), steps)


def _thread(thread: int, exec_ns: float, first: int, number: int) -> Array:
    """Return an exec of a thread, and ``number`` operations from the row ``first`` on."""
    steps = np.zeros(number + 1, STEP)
    steps["waits_for"] = steps["woken_by"] = -1
    steps["thread"] = thread
    steps["operation"] = first - 1 + np.arange(number + 1)
    steps["operation"][0] = -1
    steps["cpu_ns"][0] = exec_ns
    return steps


def _reads(handle: int, size: int) -> list[tuple[int, int, int, int, int]]:
    """Return the reads of a file from its beginning to its end."""
    return [
        (Op.READ, handle, 0, at, min(_READ_BYTES, size - at)) for at in range(0, size, _READ_BYTES)
    ]


def _of_libraries(run: Run, libraries: Collection[int]) -> Array:
    """Return the operations on some files (rows) of the first recorded thread that uses them."""
    steps = run.steps[run.steps["operation"] >= 0]
    operations = run.program.operations[steps["operation"]]
    file = run.program.file_of_operations()[steps["operation"]]
    chosen = np.isin(file, [*libraries]) & np.isin(operations["op"], (Op.READ, Op.FAULT))
    thread = steps["thread"][chosen][:1]
    copied: Array = operations[chosen & np.isin(steps["thread"], thread)]
    return copied


def _copied(
    program: Program, operations: Array
) -> tuple[Program, list[tuple[int, int, int, int, int]]]:
    """Return a program with struct files and mappings for a copy of operations, and the copy."""
    faults = operations["op"] == Op.FAULT
    handle = operations["handle"].astype(np.int64)
    handle[faults] = program.mappings["handle"][operations["mapping"][faults]]
    handles, own_handle = np.unique(handle, return_inverse=True)
    mapped, own_mapping = np.unique(operations["mapping"][faults], return_inverse=True)
    mappings = program.mappings[mapped]
    mappings["handle"] = len(program.handles) + np.searchsorted(handles, mappings["handle"])
    copy = operations.copy()
    copy["handle"] = len(program.handles) + own_handle
    copy["mapping"][faults] = len(program.mappings) + own_mapping
    program = replace(
        program,
        handles=np.concatenate((program.handles, program.handles[handles])),
        mappings=np.concatenate((program.mappings, mappings)),
    )
    return program, copy.tolist()


def _with_files(
    program: Program, sizes: Sequence[int], page: int
) -> tuple[Program, tuple[int, int, int]]:
    """Return a program with three more files; the second one is mapped.

    Also returns the first file's handle, the mapping, and the third file's handle.
    """
    first, handle = len(program.files), len(program.handles)
    large = bool(program.files["large_folios"].any())
    pages = -(-sizes[1] // page)
    mapping = np.array([(handle + 1, 0, pages, _FIRST_ADDRESS, MapFlag.EXEC)], MAPPING)
    more = replace(
        program,
        files=np.concatenate((program.files, np.array([(s, large, 0, -1) for s in sizes], FILE))),
        handles=np.append(program.handles, np.arange(first, first + 3)).astype(np.uint32),
        mappings=np.concatenate((program.mappings, mapping)),
    )
    return more, (handle, len(program.mappings), handle + 2)


def _after_all(layout: Layout, first: int, sizes: Sequence[int]) -> Layout:
    """Return a layout with the files from row ``first`` on placed after all others."""
    extents = layout.extents
    end = int((extents["sector"] + extents["sectors"]).max(initial=0))
    added = []
    for at, size in enumerate(sizes):
        sectors = -(-size // SECTOR)
        added.append((first + at, 0, end, sectors, 1))
        end += sectors
    return Layout(np.concatenate((extents, np.array(added, EXTENT))))
