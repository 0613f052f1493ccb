"""Cells of starts with little memory: one capture with memory to spare, and sweeps in groups.

The sizes of the control groups are chosen where each start begins to lack memory.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from foreread.boards.base.units import KIB, pages_to_kib
from foreread.tracer.formats.capture import read
from foreread.tracer.formats.sweep import Point, read_sweep
from foreread.tracer.runs.memory import SIZES_MIB
from studies.accuracy import loop_board, on_machine, starts
from studies.accuracy.cli import CommandError, Foreread
from studies.accuracy.loop_board import LoopBoard
from studies.accuracy.store import Cell, Document

AREA = "memory"
WINDOWS_KB = (8, 32, 128, 256, 1024)
REPEAT = 2
LIMIT = on_machine.LIMITS[0]
THRASH_S = 20  # a run that takes longer counts as killed
_SIZES, _LEAST_SHARE = 3, 0.75
_IDLE = "idle"


def cells(board: LoopBoard) -> list[Cell]:
    """Return the cells of the area."""
    return [_cell(board, start) for start in starts.WITH_LITTLE_MEMORY]


def _cell(board: LoopBoard, start: starts.Start) -> Cell:
    def run(folder: Path) -> Document:
        foreread = Foreread()
        command = (*board.start(LIMIT), *start.command)
        record = ("record", "--wait", 300, "--allow-warm", "--search", 20, "--json")
        if not (folder / "capture" / "capture.json").exists():
            foreread.first_run(command)  # it may write what later runs read
            shutil.rmtree(folder / "capture", ignore_errors=True)
            foreread(*record, "-o", folder / "capture", "--", *command)
        device = ("--device", board.disk)
        _sweep(folder / f"{_IDLE}.sweep.json", device, command, foreread)
        for mib in sizes(folder):
            memory = ("--memory", f"{mib}M")
            _sweep(folder / f"{mib}M.sweep.json", (*device, *memory), command, foreread)
            if not (folder / f"{mib}M").exists():
                try:
                    foreread(*record, *memory, "-o", folder / f"{mib}M", "--", *command)
                except CommandError as error:  # it is killed
                    foreread.lines.append(f"# {error}")
        return {**measured(folder), "commands": foreread.lines}

    return Cell(
        *(AREA, start.name, f"{start.name} with little memory, loop board, {LIMIT.name}"),
        run=run,
        missing=lambda: loop_board.missing() or on_machine.absent(start),
    )


def _sweep(file: Path, where: Sequence[object], command: Sequence[str], foreread: Foreread) -> None:
    """Measure all windows, unless that has been done."""
    if file.exists():
        return
    part = file.with_suffix(".part")
    part.unlink(missing_ok=True)
    options = ("--wait", 300, "--allow-warm", "--repeat", REPEAT, "--limit", THRASH_S)
    windows = ("--windows", ",".join(map(str, WINDOWS_KB)))
    foreread("sweep", *where, *options, *windows, "-o", part, "--", *command)
    part.replace(file)


def sizes(folder: Path) -> list[int]:
    """Return the sizes of groups in MiB: the largest usual ones in which the start lacks memory.

    It needs its own memory and the pages that it reads, at the largest window most of them. In less
    than most of what it needs at the smallest, it does nothing but read again.
    """
    capture, _ = read(folder / "capture")
    own_kib = capture.memory.own_peak_kib if capture.memory else None
    sweep = read_sweep(folder / f"{_IDLE}.sweep.json")
    smallest, *_, largest = (
        (own_kib or 0) + pages_to_kib(round(median(point.pages)), sweep.page_size)
        for point in sweep.points
    )
    lacking = [mib for mib in SIZES_MIB if smallest * _LEAST_SHARE <= mib * KIB < largest]
    return lacking[::-1][:_SIZES]


def measured(folder: Path) -> Document:
    """Return what the sweeps of a folder measured: seconds, pages, requests by memory, window."""
    files = sorted(folder.glob("*.sweep.json"))
    points = {file.name.removesuffix(".sweep.json"): read_sweep(file).points for file in files}
    return {"measured": {name: list(map(_point, some)) for name, some in points.items()}}


def _point(point: Point) -> Document:
    """Return the medians of a window; None where all runs were killed."""
    return {
        "read_ahead_kb": point.read_ahead_kb,
        "seconds": median(point.seconds) if point.seconds else None,
        "pages": median(point.pages) if point.pages else None,
        "requests": median(point.requests) if point.requests else None,
        "killed": [{"by": run.by, "pages": run.pages} for run in point.killed],
    }
