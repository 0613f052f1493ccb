"""Cells on emulated boards: pages and requests by window, and seconds, in the guest's own time."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from studies.accuracy import figures, page_sets, seconds
from studies.accuracy.cli import CommandError, Foreread
from studies.accuracy.figures import FIXED_COST, SINGLE_THREADED, Spread
from studies.accuracy.store import Cell, Document


@dataclass(frozen=True)
class Device:
    """What a read of the slow disk costs."""

    name: str
    latency_us: int
    ns_per_kib: int

    def write(self, folder: Path) -> Path:
        """Write it as ``foreread predict --device-model`` reads it, and return the file."""
        file = folder / f"{self.name}.toml"
        cost = f"latency_us = {self.latency_us}\nns_per_kib = {self.ns_per_kib}\n"
        file.write_text(f'kind = "fixed"\n{cost}')
        return file


@dataclass(frozen=True)
class Board:
    """An emulated board as ``foreread boards start`` makes it."""

    machine: str
    kernel: str
    packages: tuple[str, ...]
    device: Device
    fs: str = "ext4"

    def words(self) -> list[object]:
        """Return the arguments that start it."""
        words: list[object] = [self.machine, "--kernel", self.kernel, "--fs", self.fs]
        words += ["--latency-us", self.device.latency_us, "--ns-per-kib", self.device.ns_per_kib]
        return words + [word for name in self.packages for word in ("--package", name)]


@dataclass(frozen=True)
class Application:
    """A program on a board; ``writes``: its first run writes what later ones read."""

    name: str
    command: tuple[str, ...]
    writes: bool = False


NAND = Device("nand", 100, 100_000)  # studies/paper/README.md has the sources of these
SD = Device("sd", 1000, 50_000)
EMMC = Device("emmc", 250, 20_000)

MADPLAY = Application("madplay", ("madplay", "-Q", "-o", "null:", "-t", "1", "/sample.mp3"))
PYTHON = Application(
    "python", ("python3", "-c", "import json, argparse, logging, decimal"), writes=True
)
PERL = Application(
    "perl", ("perl", "-e", "use POSIX; use Encode; use Storable; use File::Temp; use Socket;")
)
RUBY = Application("ruby", ("ruby", "-e", "require 'json'; require 'optparse'; require 'set'"))
PHP = Application("php", ("php8.2", "-n", "-r", "echo strlen(json_encode(range(1, 9)));"))

# A shell script, a virtual machine with several threads, and a child of its own.
ERLANG = Application("erlang", ("erl", "-noshell", "-s", "init", "stop"))
# Threads of a compiler and of an event loop beside the main one.
NODE = Application("node", ("node", "-e", "require('http'); require('crypto'); require('zlib')"))
# A shell, a driver and the four programs that it joins by pipes.
GROFF = Application("groff", ("sh", "-c", "echo hello | groff -t -e -man -Tutf8"))
TCL = Application(
    "tcl",
    (
        "sh",
        "-c",
        "echo 'package require http; package require tcltest; clock format 0' | tclsh8.6",
    ),
)
GUILE = Application("guile", ("guile-3.0", "-c", "(use-modules (ice-9 match) (srfi srfi-1))"))
VIM = Application("vim", ("vim.basic", "-es", "-c", "qa!"))
GDB = Application("gdb", ("gdb", "-nx", "--batch", "/usr/bin/gdb"))
IMAGEMAGICK = Application(
    "imagemagick", ("convert-im6.q16", "-size", "64x64", "gradient:", "/tmp/out.png")
)
LUA = Application("lua", ("lua5.4", "-e", "print(1)"))

DISKS = (NAND, SD, EMMC)
# The CPU, its kernel, its packages, and what is started on it from each of the disks.
SECONDS_BOARDS = (
    ("x86_64", "6.12", ("erlang-base", "vim"), (ERLANG, VIM)),
    ("arm64", "6.12", ("nodejs", "tcl8.6", "lua5.4"), (NODE, TCL, LUA)),
    ("armhf", "6.1", ("guile-3.0", "groff-base", "lua5.4"), (GUILE, GROFF, LUA)),
    ("mipsel", "6.1", ("gdb-minimal", "tcl8.6"), (GDB, TCL)),
    ("s390x", "6.1", ("imagemagick-6.q16",), (IMAGEMAGICK,)),
    ("s390x", "6.1", ("groff-base",), (GROFF,)),
    (
        "arm64",
        "6.12",
        ("madplay", "perl", "php8.2-cli", "python3", "ruby"),
        (MADPLAY, PYTHON, PERL, PHP, RUBY),
    ),
    ("arm64-16k", "6.12", ("madplay", "perl", "python3"), (MADPLAY, PYTHON, PERL)),
    ("riscv64", "7.2", ("madplay", "perl", "python3"), (MADPLAY, PYTHON, PERL)),
)
PLAYERS = ("madplay", "python3")
PAGES_BOARDS = tuple(
    Board(machine, kernel, PLAYERS, SD)
    for machine, kernel in (
        *((name, "6.1") for name in ("x86_64", "arm64", "armhf", "mipsel")),
        ("x86_64", "6.12"),
    )
)
# Nothing can be written there, so that Python would compile its modules anew each time.
SQUASHFS_BOARD = Board("arm64", "6.1", PLAYERS, SD, fs="squashfs")


class Startable(Protocol):
    """A board that ``foreread boards start`` makes; equal ones are one board."""

    def words(self) -> list[object]:
        """Return the arguments that start it."""


class Live:
    """The running board: one at a time, ended when a cell needs another, and at the end."""

    def __init__(self) -> None:
        self._board: Startable | None = None

    def target(self, board: Startable, foreread: Foreread) -> str:
        """Return the name of a started board, which is as after boot or has run other cells."""
        name = f"accuracy-{os.getpid()}"
        words = ("boards", "start", *board.words(), "--name", name)
        if board != self._board:
            self.end()
            self._board = board  # before it runs: an interrupted start may leave one
            foreread(*words)
        else:
            foreread.note(*words)
        return name

    def end(self) -> None:
        """Stop the board that runs."""
        if self._board is not None:
            self._board = None
            with suppress(CommandError):  # it may not have come up
                Foreread()("boards", "stop", f"accuracy-{os.getpid()}")


def cells(live: Live) -> list[Cell]:
    """Return the cells of seconds (area ``boards``) and of pages (``board-pages``)."""
    result = [
        _seconds(live, Board(machine, kernel, packages, disk), application)
        for machine, kernel, packages, applications in SECONDS_BOARDS
        for disk in DISKS
        for application in applications
    ]
    for board in PAGES_BOARDS:
        result += [_pages(live, board, application) for application in (MADPLAY, PYTHON)]
    return [*result, _pages(live, SQUASHFS_BOARD, MADPLAY)]


def _seconds(live: Live, board: Board, application: Application) -> Cell:
    def request_of(folder: Path, target: str | None = None) -> seconds.Request:
        return seconds.Request(
            command=application.command,
            devices={"known": board.device.write(folder), seconds.LEARNT: None},
            targets=fixed_cost,
            target=target,
            warm_first=application.writes,
        )

    def run(folder: Path) -> Document:
        foreread = Foreread()
        request = request_of(folder, live.target(board, foreread))
        return {**seconds.measure(request, folder, foreread), "commands": foreread.lines}

    return Cell(
        *("boards", f"{board.machine}-{board.device.name}-{application.name}"),
        f"{application.name}, {board.machine} {board.kernel}, {board.device.name}",
        run=run,
        missing=missing,
        judge=lambda folder: seconds.judge(request_of(folder), folder),
    )


def fixed_cost(default_s: float, spread: Spread | None) -> figures.SecondsTargets:
    """Return the targets of a disk of fixed cost, whatever the start."""
    return FIXED_COST


def _pages(live: Live, board: Board, application: Application) -> Cell:
    def run(folder: Path) -> Document:
        foreread = Foreread()
        target = live.target(board, foreread)
        document = page_sets.on_board(target, application, folder, foreread)
        page_figures = figures.page_figures(document["rows"], SINGLE_THREADED)
        extra = {
            "figures": [figure.to_json() for figure in page_figures],
            "commands": foreread.lines,
        }
        return {**document, **extra}

    name = f"{board.machine}-{board.kernel}-{board.fs}-{application.name}"
    title = f"{application.name}, {board.machine} {board.kernel}, {board.fs}"
    return Cell("board-pages", name, title, run, missing)


def missing() -> str | None:
    """Return why no board can be started here."""
    absent = [name for name in ("qemu-system-aarch64", "mke2fs", "ssh") if not shutil.which(name)]
    return f"{', '.join(absent)} missing: .ci/packages python3 all" if absent else None
