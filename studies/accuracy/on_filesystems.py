"""Cells of root file systems: pages, requests and seconds of starts, by root and kernel."""

from __future__ import annotations

import shutil
from pathlib import Path

from foreread.boards.emulated import MACHINES
from foreread.boards.emulated.image import EROFS
from foreread.boards.emulated.launch import LiveOptions
from foreread.boards.emulated.parts import Parts
from studies.accuracy import figures, on_boards, page_sets, seconds
from studies.accuracy.cli import Foreread
from studies.accuracy.on_boards import MADPLAY, PERL, PYTHON, SD, Application, Board, Live
from studies.accuracy.store import Cell, Document

AREA = "filesystems"
USUAL = "x86_64"  # the board of cells whose names have none
KERNELS = ("6.1", "6.12", "5.10", "7.2")
ROOTS = (
    *("squashfs", "overlay-squashfs", "erofs-uncompressed", "erofs", "overlay-erofs", "btrfs"),
    "f2fs",
)
IN_CLUSTERS = frozenset({*EROFS, "overlay-erofs"} - {"erofs-uncompressed"})  # need the image
# EROFS on another CPU, and with other compressors.
MORE = (
    ("arm64", "6.12", "erofs"),
    *(("x86_64", "6.12", fs) for fs in ("erofs-zstd", "erofs-deflate", "erofs-lzma")),
)
# Debian's kernels for clouds lack them.
GENERIC = frozenset({"f2fs"})
APPLICATIONS = (MADPLAY, PERL, PYTHON)
PACKAGES = ("madplay", "perl", "python3")
# Few, since a recording takes a quarter of a minute. A sweep at 0 would measure what nobody sets.
WINDOWS_KB = (4, 16, 128, 512)


def cells(live: Live, machine: str = USUAL) -> list[Cell]:
    """Return the cells, board by board, so that each boots once."""
    boards = [
        Board(machine, f"{kernel}-generic" if fs in GENERIC else kernel, PACKAGES, SD, fs=fs)
        for fs in ROOTS
        for kernel in KERNELS
    ]
    boards += [Board(other, kernel, PACKAGES, SD, fs=fs) for other, kernel, fs in MORE]
    return [_cell(live, board, application) for board in boards for application in APPLICATIONS]


def _image(board: Board) -> Path | None:
    """Return the image of a root in compressed EROFS, which its start is predicted with."""
    if board.fs not in IN_CLUSTERS:
        return None
    parts = Parts(board.machine, board.kernel, board.packages)
    usual = LiveOptions(board.machine)
    return parts.live_image(board.fs, usual.init, usual.swap_mib, usual.free_mib)


def _cell(live: Live, board: Board, application: Application) -> Cell:
    def request_of(folder: Path, target: str | None = None) -> seconds.Request:
        return seconds.Request(
            command=application.command,
            devices={"known": board.device.write(folder)},
            targets=on_boards.fixed_cost,
            target=target,
            windows_kb=WINDOWS_KB,
            image=_image(board),
        )

    def run(folder: Path) -> Document:
        foreread = Foreread()
        target = live.target(board, foreread)
        (folder / "pages").mkdir(exist_ok=True)
        pages = page_sets.on_board(target, application, folder / "pages", foreread, WINDOWS_KB)
        if not (folder / "capture").exists():
            shutil.copytree(folder / "pages/0", folder / "capture")
        timed = seconds.measure(request_of(folder, target), folder, foreread)
        of_pages = figures.page_figures(pages["rows"], figures.SINGLE_THREADED)
        return {
            "kernel": pages["kernel"],
            "root": {"file_system": board.fs, "kernel": board.kernel, "machine": board.machine},
            "pages": pages["rows"],
            "page_figures": [figure.to_json() for figure in of_pages],
            "seconds": timed,
            "commands": foreread.lines,
        }

    def missing() -> str | None:
        if board.kernel not in MACHINES[board.machine].offered:
            return f"no board {board.machine} with Linux {board.kernel}"
        return on_boards.missing()

    place = "" if board.machine == USUAL else f"-{board.machine}"
    name = f"{board.fs}-{board.kernel}{place}-{application.name}"
    title = f"{application.name}, {board.machine} {board.kernel}, {board.fs}"
    return Cell(
        *(AREA, name, title, run, missing),
        judge=lambda folder: {"seconds": seconds.judge(request_of(folder), folder)},
    )
