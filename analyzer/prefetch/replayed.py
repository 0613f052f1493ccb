"""A prefetch list in the emulation: the replayer's reads run parallel to the recorded start.

The replayer (foreread-prefetch.c) opens the files of the list one after the other, waits for the
metadata that opening reads, and requests the ranges. Before it requests more than MOST_UNDER_WAY or
MOST_ASKED, it waits for the last page of the oldest range.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.prefetch.launch import before, launched
from foreread.analyzer.program.opening import Opening
from foreread.emulator.linux.operations import OPERATION, Op, Program
from foreread.emulator.linux.steps import META, ONCE, STEP, Run, Timed

Row = tuple[int, int, int]  # file row, first page, pages
Operation = tuple[int, int, int, int, int]  # OPERATION
MOST_ASKED, MOST_UNDER_WAY = 32, 512 << 10  # foreread-prefetch.c
_OPENS = 2  # a file: as a place, and to read (open_regular)
# If both look up the same name, the recorded thread continues first, whichever requested the
# metadata: it has computed less (recorded with lists and madplay, vim or git, Linux 6.12). If both
# wait for the same block otherwise, the replayer continues first, since it is ahead.
GIVES_WAY_NS = 1.0


def with_list(program: Program, rows: Sequence[Row], chunk_pages: int) -> Program:
    """Return a program with the list's reads before all its operations.

    One readahead(2) requests at most ``chunk_pages``.
    """
    requests, handles = _requests(program, rows, chunk_pages)
    return replace(
        program, operations=np.concatenate((requests, program.operations)), handles=handles
    )


def _requests(program: Program, rows: Sequence[Row], chunk_pages: int) -> tuple[Array, Array]:
    """Return the operations of the list, and the handles with one more for each of its files."""
    handle_of, handles = _handles(program, rows)
    requests = [
        (Op.WILLNEED, handle_of[file], 0, *part) for file, *part in _parts(rows, chunk_pages)
    ]
    return np.array(requests, OPERATION), handles


def _handles(program: Program, rows: Sequence[Row]) -> tuple[dict[int, int], Array]:
    """Return the handle of each file of a list, and the program's handles with these."""
    files = list(dict.fromkeys(file for file, _, _ in rows))
    handle_of = {file: len(program.handles) + at for at, file in enumerate(files)}
    return handle_of, np.concatenate((program.handles, np.array(files, np.uint32)))


def _parts(rows: Iterable[Row], chunk_pages: int) -> Iterator[Row]:
    """Yield the ranges in parts of at most ``chunk_pages``."""
    for file, first, pages in rows:
        for at in range(first, first + pages, chunk_pages):
            yield file, at, min(chunk_pages, first + pages - at)


def with_replayer(run: Run, rows: Sequence[Row], cpus: int, opening: Opening | None = None) -> Run:
    """Return a run with the replayer as a further thread, which begins when the run does.

    ``opening``: the cost of opening the files. Its metadata is read by the first thread that needs
    it: the replayer, before a file's first range, or the recorded thread.
    """
    opening = opening or Opening()
    if opening.program_bytes:
        return launched(_with_list(run, rows, cpus, opening), rows, opening)
    return _with_list(run, rows, cpus, opening)


def _with_list(run: Run, rows: Sequence[Row], cpus: int, opening: Opening) -> Run:
    """Return a run with the replayer; its program and list are in memory."""
    handle_of, handles = _handles(run.program, rows)
    metadata = _metadata(run, {file for file, _, _ in rows}, opening)
    own, requests = _replayer_steps(run, rows, handle_of, metadata, opening)
    own.insert(0, _computing(opening.exec_ns))
    operations = np.concatenate((run.program.operations, np.array(requests, OPERATION)))
    program = replace(run.program, operations=operations, handles=handles)
    thread = int(run.steps["thread"].max(initial=0)) + 1
    added = np.array(own, STEP)
    added["thread"], added["waits_for"], added["woken_by"] = thread, -1, -1
    steps = run.steps.copy()
    steps["meta"][[row for shared in metadata.values() for row in shared]] |= ONCE
    run = before(replace(run, program=program, steps=steps), added)
    return replace(run, cpus=max(run.cpus, cpus))


def _metadata(run: Run, files: Collection[int], opening: Opening) -> dict[int, list[int]]:
    """Return by file the steps that first read the metadata of opening it."""
    steps = run.steps
    as_it_was = np.flatnonzero((steps["operation"] < 0) & (steps["sectors"] > 0))[::-1]
    first = {int(steps["sector"][row]): row for row in as_it_was.tolist()}
    return {
        file: [first[sector] for sector in opening.sectors.get(file, ()) if sector in first]
        for file in files
    }


def _replayer_steps(
    run: Run,
    rows: Sequence[Row],
    handle_of: dict[int, int],
    metadata: dict[int, list[int]],
    opening: Opening,
) -> tuple[list[tuple[object, ...]], list[Operation]]:
    """Return the replayer's steps, and their operations."""
    steps: list[tuple[object, ...]] = []
    done: list[Operation] = []
    under_way: deque[Row] = deque()
    asked_pages = 0  # of the ranges under way
    open_file, unread = -1, dict(metadata)

    def do(request: Operation) -> None:
        steps.append(_step(len(run.program.operations) + len(done)))
        done.append(request)

    for part in _parts(rows, run.machine.io_pages):
        file, _, pages = part
        if file != open_file:
            shared = [*_shared(run.steps, unread.pop(file, ()))]
            gives_way_ns = GIVES_WAY_NS if shared and file in opening.own_names else 0.0
            steps += [*shared, _computing(_OPENS * opening.open_ns, gives_way_ns)]
            open_file = file
        while _is_full(len(under_way), (asked_pages + pages) * run.machine.page_size):
            oldest, first, number = under_way.popleft()
            asked_pages -= number
            do((Op.SINGLE, oldest, 0, first + number - 1, 0))
        do((Op.WILLNEED, handle_of[file], 0, *part[1:]))
        under_way.append(part)
        asked_pages += pages
    return steps, done


def _is_full(under_way: int, asked_bytes: int) -> bool:
    """Return whether the replayer waits before it requests a further range (make_room).

    ``under_way`` ranges are being read; with the further range they have ``asked_bytes``.
    """
    return under_way > 0 and (under_way >= MOST_ASKED or asked_bytes > MOST_UNDER_WAY)


def _shared(steps: Array, rows: Sequence[int]) -> Iterator[tuple[object, ...]]:
    """Yield the reads of recorded steps (rows), with the computing between them.

    The computing before the first read does not count.
    """
    for row in rows:
        step = steps[row]
        read = (step["sector"], step["sectors"], step["bios"])
        follows = row - 1 in rows and steps["thread"][row - 1] == step["thread"]
        cpu_ns = float(step["cpu_ns"]) if follows else 0.0
        yield _step(-1, cpu_ns, read=read, meta=int(step["meta"]) & META | ONCE)


def _computing(cpu_ns: float, sleep_ns: float = 0.0) -> tuple[object, ...]:
    return _step(-1, cpu_ns, sleep_ns)


def _step(
    operation: int,
    cpu_ns: float = 0.0,
    sleep_ns: float = 0.0,
    read: tuple[int, int, int] = (0, 0, 0),
    meta: int = 0,
) -> tuple[object, ...]:
    """Return a step in the order of STEP; ``read``: its sector, sectors and bios."""
    own_pages = 0
    return (cpu_ns, sleep_ns, operation, 0, 0, *read, 0, meta, own_pages)


def beside(recorded: Timed, run: Run) -> Timed:
    """Return the recorded run, adapted to a run with a replayer."""
    added = len(run.steps) - len(recorded.work)
    work = np.concatenate((np.zeros((added, recorded.work.shape[1]), np.int64), recorded.work))
    return replace(recorded, work=work)


def application_ns(run: Run, timed: Timed, threads: Iterable[int]) -> float:
    """Return the end (ns) of the recorded ``threads``, even if the replayer still works."""
    if run.ends >= 0:
        return timed.total_ns
    return float(np.max(timed.ends_ns[list(threads)]))
