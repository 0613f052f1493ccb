"""A prefetch list in the emulation: the replayer's reads run parallel to the recorded start.

The replayer (foreread-prefetch.c) opens the files of the list one after the other, waits for the
metadata that opening reads, and asks for the ranges without waiting for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from analyzer.ingest.tables import Array
from emulator.linux.operations import OPERATION, Op, Program
from emulator.linux.timed import STEP, Run, Timed

Row = tuple[int, int, int]  # file row, first page, pages


def with_list(program: Program, rows: Sequence[Row], chunk_pages: int) -> Program:
    """Return a program with the list's reads before all that it does.

    One readahead(2) asks for at most ``chunk_pages``.
    """
    asked, handles = _asked(program, rows, chunk_pages)
    return replace(program, operations=np.concatenate((asked, program.operations)), handles=handles)


def _asked(program: Program, rows: Sequence[Row], chunk_pages: int) -> tuple[Array, Array]:
    """Return the operations of the list, and the handles with one more for each of its files."""
    files = list(dict.fromkeys(file for file, _, _ in rows))
    handle_of = {file: len(program.handles) + at for at, file in enumerate(files)}
    asked = [
        (Op.WILLNEED, handle_of[file], 0, at, min(chunk_pages, first + pages - at))
        for file, first, pages in rows
        for at in range(first, first + pages, chunk_pages)
    ]
    handles = np.concatenate((program.handles, np.array(files, np.uint32)))
    return np.array(asked, OPERATION), handles


def with_replayer(run: Run, rows: Sequence[Row], cpus: int) -> Run:
    """Return a run with the replayer as a further thread, which begins when the run does.

    The metadata of a file is what was read before the file was first used; the replayer reads it
    before it asks for the file's first range, and the thread that read it in the recording waits
    for the replayer.
    """
    chunk = run.machine.io_pages
    asked, handles = _asked(run.program, rows, chunk)
    program = replace(
        run.program, operations=np.concatenate((run.program.operations, asked)), handles=handles
    )
    thread = int(run.steps["thread"].max(initial=0)) + 1
    own, taken = _replayer_steps(run, rows, chunk, _metadata(run))
    added = np.array(own, STEP)
    added["thread"], added["waits_for"], added["woken_by"] = thread, -1, -1
    steps = run.steps.copy()
    for name in ("waits_for", "woken_by"):
        steps[name] += np.where(steps[name] >= 0, len(own), 0)
    for row, by in taken.items():
        steps["sectors"][row], steps["waits_for"][row] = 0, by
    return replace(
        run, program=program, steps=np.concatenate((added, steps)), cpus=max(run.cpus, cpus)
    )


def _metadata(run: Run) -> dict[int, list[int]]:
    """Return by file the steps that read as they were, before the file is first used."""
    file_of = run.program.file_of_operations().tolist()
    found: dict[int, list[int]] = {}
    waiting: list[int] = []
    for row, (operation, sectors) in enumerate(run.steps[["operation", "sectors"]].tolist()):
        if operation < 0:
            waiting += [row] if sectors else []
        elif file_of[operation] not in found:
            found[file_of[operation]] = waiting
            waiting = []
    return found


def _replayer_steps(
    run: Run, rows: Sequence[Row], chunk: int, metadata: dict[int, list[int]]
) -> tuple[list[tuple[object, ...]], dict[int, int]]:
    """Return the replayer's steps, and by row the replayer's step that replaces a recorded step."""
    steps: list[tuple[object, ...]] = []
    taken: dict[int, int] = {}
    operation = len(run.program.operations)
    for file, _, pages in rows:
        for row in metadata.pop(file, []):
            taken[row] = len(steps)
            steps.append(tuple(_as_it_was(run.steps[row])))
        for _ in range(0, pages, chunk):
            steps.append(tuple(_asking(operation)))
            operation += 1
    return steps, taken


def _as_it_was(step: Array) -> Iterator[object]:
    """Yield a step's fields without the computing before it."""
    for name in STEP.names or ():
        yield 0 if name in ("cpu_ns", "sleep_ns") else step[name]


def _asking(operation: int) -> Iterator[object]:
    for name in STEP.names or ():
        yield operation if name == "operation" else 0


def beside(recorded: Timed, run: Run) -> Timed:
    """Return the recorded run, adapted to a run with a replayer."""
    added = len(run.steps) - len(recorded.work)
    work = np.concatenate((np.zeros((added, 2), np.int64), recorded.work))
    return replace(recorded, work=work)


def application_ns(run: Run, timed: Timed, threads: Iterable[int]) -> float:
    """Return when the recorded ``threads`` of a run ended, even if the replayer still works."""
    if run.ends >= 0:
        return timed.total_ns
    return float(np.max(timed.ends_ns[list(threads)]))
