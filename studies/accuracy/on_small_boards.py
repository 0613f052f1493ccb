"""Cells of starts on emulated boards with little memory: one capture on a board with enough of it.

The disk of an emulated board is in its memory, too: a board has so much more than its disk. What
is left for a start is what the board says before it (MemAvailable), and that is predicted for. Swap
is switched off: it is not emulated.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.inputs import inputs
from foreread.analyzer.predict.memory import tight_kib
from foreread.analyzer.predict.start import prepare
from foreread.boards.base.silent import silent
from foreread.boards.base.units import size_word
from foreread.boards.emulated.launch import make
from foreread.boards.emulated.live import LiveOptions
from foreread.boards.open import open_target
from foreread.emulator.linux.rules import version_of
from foreread.tracer.formats.capture import read
from studies.accuracy import on_boards, on_memory
from studies.accuracy.cli import CommandError, Foreread
from studies.accuracy.on_boards import SD, Application, Live
from studies.accuracy.store import Cell, Document

AREA = "small-boards"
NUMPY = Application("numpy", ("python3", "-c", "import numpy, json, decimal"), writes=True)
# Each with its package: a small disk. Node has the engine of a browser, without a screen.
APPLICATIONS = (
    (on_boards.PYTHON, "python3"),
    (NUMPY, "python3-numpy"),
    (on_boards.NODE, "nodejs"),
    (on_boards.IMAGEMAGICK, "imagemagick-6.q16"),
    (on_boards.GDB, "gdb-minimal"),
    (on_boards.GUILE, "guile-3.0"),
)
# More than the disk, in MiB: of the smallest the kernel leaves a fifth.
SIZES_MIB = {"x86_64": (96, 112, 128, 160), "armhf": (64, 80, 96, 128)}
KERNELS = {"x86_64": "6.12", "armhf": "6.1"}
_ENOUGH_MIB = 512


@dataclass(frozen=True)
class SmallBoard:
    """An emulated board with so much memory beside its disk."""

    machine: str
    package: str
    beside_mib: int

    @cached_property
    def disk_mib(self) -> int:
        """The size of its disk."""
        kernel = KERNELS[self.machine]
        options = LiveOptions(self.machine, kernel=kernel, packages=(self.package,))
        return -(-make(options, silent).image.stat().st_size >> 20)

    def words(self) -> list[object]:
        """Return the arguments that start it."""
        board = on_boards.Board(self.machine, KERNELS[self.machine], (self.package,), SD)
        return [*board.words(), "--memory-mib", self.disk_mib + self.beside_mib]


def cells(live: Live) -> list[Cell]:
    """Return the cells of the area."""
    return [_cell(live, machine, *each) for machine in SIZES_MIB for each in APPLICATIONS]


def _cell(live: Live, machine: str, application: Application, package: str) -> Cell:
    def run(folder: Path) -> Document:
        foreread = Foreread()
        for mib in (_ENOUGH_MIB, *SIZES_MIB[machine]):
            _measured(live, SmallBoard(machine, package, mib), application, folder, foreread)
        return {**judge(folder), "commands": foreread.lines}

    return Cell(
        *(AREA, f"{machine}-{application.name}"),
        f"{application.name} with little memory, {machine} {KERNELS[machine]}, {SD.name}",
        run=run,
        judge=judge,
        missing=on_boards.missing,
    )


def _measured(
    live: Live, board: SmallBoard, application: Application, folder: Path, foreread: Foreread
) -> None:
    """Record the start on the board, and measure all windows, unless that has been done."""
    enough = board.beside_mib == _ENOUGH_MIB
    capture = folder / ("capture" if enough else f"{board.beside_mib}M")
    sweep = folder / f"{on_memory.IDLE if enough else f'{board.beside_mib}M'}.sweep.json"
    if sweep.exists():
        return
    name = live.target(board, foreread)
    target = ("--target", name)
    with open_target(name) as opened:
        opened.run(["swapoff", "-a"])
    try:
        for _ in range(1 + application.writes):  # the first run writes what later ones read
            shutil.rmtree(capture, ignore_errors=True)
            foreread("record", *target, "-o", capture, "--", *application.command)
        if enough:
            _record_tight(folder, target, application, foreread)
        on_memory.sweep_windows(sweep, target, application.command, foreread)
    except CommandError as error:  # the kernel kills what finds no memory
        foreread.lines.append(f"# {error}")


def _record_tight(
    folder: Path, target: tuple[str, str], application: Application, foreread: Foreread
) -> None:
    """Record the start in the memory in which the kernel reclaims most of its pages."""
    recording = load(folder / on_memory.SPARE)
    version = version_of(recording.kernel or "")
    size = size_word(tight_kib(prepare(inputs(recording, version), version)))
    tight = folder / on_memory.TIGHT
    shutil.rmtree(tight, ignore_errors=True)
    foreread("record", *target, "--memory", size, "-o", tight, "--", *application.command)


def judge(folder: Path) -> Document:
    """Compare the captures and the sweeps that are in ``folder``, and measure nothing."""
    sizes = {}
    for file in folder.glob("*M/capture.json"):
        memory = read(file.parent)[0].memory
        if memory is not None:
            sizes[file.parent.name] = memory.available_kib
    return on_memory.judged(folder, sizes)
