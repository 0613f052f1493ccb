"""Cells of seconds on this machine: on the loop board under several limits, and on its own disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from studies.accuracy import loop_board, on_kernel, seconds, starts
from studies.accuracy.cli import Foreread
from studies.accuracy.figures import FAST_DISK, SecondsTargets, Spread, paced_targets
from studies.accuracy.loop_board import Limit, LoopBoard
from studies.accuracy.starts import Start
from studies.accuracy.store import Cell, Document

WINDOWS_KB = (0, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2560)
CAPTURES = 3
DISK_REPEAT = 15  # runs of a tenth of a second, whose times scatter by a tenth
UNSEEN_DISK_REPEAT = 5  # runs of a second

SEEN_LIMITS = (
    Limit("5MBps-1000", 5_000_000, 1000),
    Limit("10MBps-4000", 10_000_000, 4000),
    Limit("40MBps-1000", 40_000_000, 1000),
)
LIMITS = (
    Limit("40MBps-1000", 40_000_000, 1000),
    Limit("20MBps-1000", 20_000_000, 1000),
    Limit("10MBps-2000", 10_000_000, 2000),
)


def board() -> LoopBoard:
    """Return a loop board that has the applications of this machine."""
    pages = {
        application.package
        for application in on_kernel.APPLICATIONS
        if not on_kernel.absent(application)
    }
    own = (*starts.SEEN, *starts.UNSEEN, *starts.COMPUTING)
    every = (*own, *starts.BESIDE_LOADS, *starts.WITH_LITTLE_MEMORY)
    present = (start for start in every if not absent(start))
    packages = pages | {name for start in present for name in start.packages}

    def fill(tree: Path) -> None:
        on_kernel.fill(tree)
        starts.fill(tree)

    return LoopBoard(sorted(packages), fill)


def cells(board: LoopBoard) -> list[Cell]:
    """Return the cells of areas ``loop`` and ``disk``."""
    result = [_loop(board, limit, start) for limit in LIMITS for start in starts.UNSEEN]
    result += [_loop(board, limit, start) for limit in SEEN_LIMITS for start in starts.SEEN]
    result += [_loop(board, LIMITS[0], start) for start in starts.COMPUTING]
    result += [_disk(start, UNSEEN_DISK_REPEAT) for start in starts.UNSEEN_ON_DISK]
    return [*result, *(_disk(start, DISK_REPEAT) for start in starts.SEEN_ON_DISK)]


def absent(start: Start) -> str | None:
    """Return why a start cannot be made here."""
    if shutil.which(start.needs):
        return None
    return f"apt-get install --no-install-recommends {' '.join(start.packages)}"


def _loop(board: LoopBoard, limit: Limit, start: Start) -> Cell:
    def request_of(folder: Path, command: Iterable[str] = ()) -> seconds.Request:
        return seconds.Request(
            command=tuple(command),
            devices={
                "limits given": limit.write(folder),
                "calibrated": folder.parent / f"calibrated-{limit.name}.toml",
                seconds.LEARNT: None,
            },
            targets=paced_targets,
            disk=board.disk,
            repeat=start.repeat,
            captures=CAPTURES,
            windows_kb=WINDOWS_KB,
        )

    def run(folder: Path) -> Document:
        foreread = Foreread()
        command = (*board.start(limit), *start.command)
        request = request_of(folder, command)
        file = folder.parent / f"calibrated-{limit.name}.toml"
        seconds.calibrate(f"/dev/{board.disk}", file, foreread, board.limited())
        foreread.first_run(command)
        return {**seconds.measure(request, folder, foreread), "commands": foreread.lines}

    name = f"{limit.name}-{start.name}"
    return Cell(
        *("loop", name, f"{start.name}, loop board, {limit.name}"),
        run=run,
        missing=lambda: loop_board.missing() or absent(start),
        judge=lambda folder: seconds.judge(request_of(folder), folder),
    )


def _disk(start: Start, repeat: int) -> Cell:
    def request_of(folder: Path) -> seconds.Request:
        return seconds.Request(
            command=start.command,
            devices={"calibrated": folder.parent / "calibrated.toml", seconds.LEARNT: None},
            targets=_fast_disk,
            repeat=repeat,
            captures=CAPTURES,
            windows_kb=WINDOWS_KB,
        )

    def run(folder: Path) -> Document:
        foreread = Foreread()
        seconds.calibrate("/usr", folder.parent / "calibrated.toml", foreread)
        foreread.first_run(start.command)
        return {**seconds.measure(request_of(folder), folder, foreread), "commands": foreread.lines}

    return Cell(
        *("disk", start.name, f"{start.name}, this machine's disk, Linux {os.uname().release}"),
        run=run,
        missing=lambda: loop_board.not_root() or absent(start),
        judge=lambda folder: seconds.judge(request_of(folder), folder),
    )


def _fast_disk(default_s: float, spread: Spread | None) -> SecondsTargets:
    return FAST_DISK
