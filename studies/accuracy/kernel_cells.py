"""Cells of kernels and CPUs: three starts and a judgement on every emulated board and kernel.

Each is run once, recorded once, and then run cold at every window that is whole pages there.
Requests and pages are compared as well as seconds. Boards count the guest's own instructions, so
that one run a window is enough. ``foreread doctor --judge`` runs on the same boot.
"""

from __future__ import annotations

from pathlib import Path

from foreread.boards.base.units import KIB
from foreread.boards.emulated import MACHINES
from studies.accuracy import on_boards, seconds
from studies.accuracy.cli import Foreread
from studies.accuracy.on_boards import MADPLAY, PERL, PYTHON, SD, Application, Board, Live
from studies.accuracy.store import Cell, Document

AREA = "kernels"
STARTS = (MADPLAY, PYTHON, PERL)
PACKAGES = ("madplay", "perl", "python3")
WINDOWS_KB = (4, 16, 64, 128, 512)


def cells(live: Live) -> list[Cell]:
    """Return the cells, board by board, so that each boots once."""
    result = []
    for name, machine in MACHINES.items():
        for kernel in machine.kernels:
            board = Board(name, kernel, PACKAGES, SD)
            result += [*(_cell(live, board, start) for start in STARTS), _judgement(live, board)]
    return result


def windows_kb(board: Board) -> tuple[int, ...]:
    """Return the windows that are whole pages on a board."""
    page_kb = MACHINES[board.machine].page_bytes // KIB
    return tuple(kb for kb in WINDOWS_KB if kb % page_kb == 0)


def _cell(live: Live, board: Board, start: Application) -> Cell:
    def request_of(folder: Path, target: str | None = None) -> seconds.Request:
        return seconds.Request(
            command=start.command,
            devices={"known": board.device.write(folder)},
            targets=on_boards.fixed_cost,
            target=target,
            # After boot the first run leaves pages mapped by processes that stay.
            warm_first=True,
            windows_kb=windows_kb(board),
        )

    def run(folder: Path) -> Document:
        foreread = Foreread()
        document = seconds.measure(
            request_of(folder, live.target(board, foreread)), folder, foreread
        )
        return {**_what(board, start), **document, "commands": foreread.lines}

    return Cell(
        *(AREA, f"{board.machine}-{board.kernel}-{start.name}"),
        f"{start.name}, {board.machine} {board.kernel}",
        run=run,
        missing=on_boards.missing,
        judge=lambda folder: {
            **_what(board, start),
            **seconds.judge(request_of(folder), folder),
        },
    )


def _judgement(live: Live, board: Board) -> Cell:
    def run(_folder: Path) -> Document:
        foreread = Foreread()
        words = ("doctor", "--judge", "--target", live.target(board, foreread), "--wait", 300)
        judgement = foreread.json(*words)
        what = {"machine": board.machine, "series": board.kernel}
        return {**what, "judgement": judgement, "commands": foreread.lines}

    return Cell(
        *(AREA, f"{board.machine}-{board.kernel}-judge"),
        f"foreread doctor --judge, {board.machine} {board.kernel}",
        run=run,
        missing=on_boards.missing,
    )


def _what(board: Board, start: Application) -> Document:
    return {"machine": board.machine, "series": board.kernel, "start": start.name}
