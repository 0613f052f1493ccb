"""Cells of starts with little memory: one capture with memory to spare, and sweeps in groups.

The sizes of the control groups are chosen where each start begins to lack memory.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.inputs import inputs
from foreread.analyzer.predict.memory import own_kib, pages_of, with_memory
from foreread.analyzer.predict.start import Start, prepare
from foreread.boards.base.units import KIB, kib_to_pages, pages_to_kib
from foreread.emulator.linux.rules import version_of
from foreread.emulator.linux.steps import Timed
from foreread.tracer.formats.capture import read
from foreread.tracer.formats.scenario import MEMORY
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
IDLE = "idle"
SPARE, TIGHT = "capture", "tight"  # recorded with memory to spare, and with hardly any


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
        device = ("--device", board.disk, "--wait", 300, "--allow-warm")
        sweep_windows(folder / f"{IDLE}.sweep.json", device, command, foreread)
        for mib in sizes(folder):
            memory = ("--memory", f"{mib}M")
            sweep_windows(folder / f"{mib}M.sweep.json", (*device, *memory), command, foreread)
            if not (folder / f"{mib}M").exists():
                try:
                    foreread(*record, *memory, "-o", folder / f"{mib}M", "--", *command)
                except CommandError as error:  # it is killed
                    foreread.lines.append(f"# {error}")
        return {**judge(folder), "commands": foreread.lines}

    return Cell(
        *(AREA, start.name, f"{start.name} with little memory, loop board, {LIMIT.name}"),
        run=run,
        judge=judge,
        missing=lambda: loop_board.missing() or on_machine.absent(start),
    )


def sweep_windows(
    file: Path, where: Sequence[object], command: Sequence[str], foreread: Foreread
) -> None:
    """Measure all windows, unless that has been done."""
    if file.exists():
        return
    part = file.with_suffix(".part")
    part.unlink(missing_ok=True)
    options = ("--repeat", REPEAT, "--limit", THRASH_S)
    windows = ("--windows", ",".join(map(str, WINDOWS_KB)))
    foreread("sweep", *where, *options, *windows, "-o", part, "--", *command)
    part.replace(file)


def sizes(folder: Path) -> list[int]:
    """Return the sizes of groups in MiB: the largest usual ones in which the start lacks memory.

    It needs its own memory and the pages that it reads, at the largest window most of them. In less
    than most of its need at the smallest window, it does nothing but read again.
    """
    capture, _ = read(folder / "capture")
    own_kib = capture.memory.own_peak_kib if capture.memory else None
    sweep = read_sweep(folder / f"{IDLE}.sweep.json")
    smallest, *_, largest = (
        (own_kib or 0) + pages_to_kib(round(median(point.pages)), sweep.page_size)
        for point in sweep.points
    )
    lacking = [mib for mib in SIZES_MIB if smallest * _LEAST_SHARE <= mib * KIB < largest]
    return lacking[::-1][:_SIZES]


def judge(folder: Path) -> Document:
    """Compare the capture and the sweeps that are in ``folder``, and measure nothing."""
    sizes = {}
    for file in folder.glob("*M.sweep.json"):
        sweep = read_sweep(file)
        assert sweep.memory_kib is not None
        sizes[sweep.condition.removeprefix(MEMORY)] = sweep.memory_kib
    return judged(folder, sizes)


def judged(folder: Path, sizes: Mapping[str, int]) -> Document:
    """Compare the captures with sweeps of which each had so many KiB of memory, by their names.

    Measured pages contain metadata: as many as the sweep with memory to spare shows at each window.
    """
    start = _start(folder / SPARE)
    windows = [kib_to_pages(kb, start.recording.page_size) for kb in WINDOWS_KB]
    idle = [pages_of(run) for run in start.timed(windows)]
    swept = {point.read_ahead_kb: point for point in read_sweep(_file(folder, IDLE)).points}
    meta = [median(swept[kb].pages) - pages for kb, pages in zip(WINDOWS_KB, idle, strict=True)]
    rows = []
    for name, kib in sorted(sizes.items(), key=lambda size: -size[1]):
        by_kb = {point.read_ahead_kb: point for point in read_sweep(_file(folder, name)).points}
        for recorded in (SPARE, TIGHT):
            if not (folder / recorded).exists():
                continue
            runs = with_memory(_start(folder / recorded), kib).timed(windows)
            points = [
                _compared(by_kb[kb], run, metadata, pages)
                for kb, run, metadata, pages in zip(WINDOWS_KB, runs, meta, idle, strict=True)
                if kb in by_kb
            ]
            row = {"memory": name, "memory_kib": kib, "recorded": recorded, "points": points}
            rows.append(row)
    return {"own_kib": own_kib(start), "memory": rows}


def _start(capture: Path) -> Start:
    recording = load(capture)
    version = version_of(recording.kernel or "")
    return prepare(inputs(recording, version), version)


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.sweep.json"


def _compared(point: Point, run: Timed, metadata: float, idle: int) -> Document:
    """Return pages and seconds of a window; None where all runs were killed."""
    pages = median(point.pages) - metadata if point.pages else None
    return {
        "read_ahead_kb": point.read_ahead_kb,
        "idle_pages": idle,
        "pages": pages,
        "predicted_pages": pages_of(run),
        "error": pages_of(run) / pages - 1 if pages else None,
        "seconds": median(point.seconds) if point.seconds else None,
        "predicted_seconds": run.total_ns / 1e9,
        "killed": [{"by": killed.by, "pages": killed.pages} for killed in point.killed],
    }
