"""Cells of seconds on this machine: on the loop board under three limits, and on its own disk."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import loop_board
import on_kernel
import seconds
from cli import Foreread
from figures import FAST_DISK, SecondsTargets, Spread, paced_targets
from loop_board import Limit, LoopBoard
from store import Cell, Document

_MODULES = (
    "asyncio,email.mime.text,http.server,json,logging.config,sqlite3,unittest,xml.dom.minidom,"
    "argparse,ctypes,csv,decimal,difflib,doctest,html.parser,multiprocessing.pool,pdb,pickletools,"
    "pydoc,statistics,ssl,tarfile,typing,urllib.request,zipfile"
)
REPEAT = 3


@dataclass(frozen=True)
class Application:
    """A program that is installed on this machine, of a Debian package."""

    name: str
    package: str
    command: tuple[str, ...]


LOOP_APPLICATIONS = (
    Application("python", "python3", ("/usr/bin/python3", "-I", "-S", "-c", f"import {_MODULES}")),
    Application("clang", "clang-14", ("/usr/bin/clang-14", "-c", "/a.c", "-o", "/dev/null")),
)
LIMITS = (
    Limit("5MBps-1000", 5_000_000, 1000),
    Limit("10MBps-4000", 10_000_000, 4000),
    Limit("40MBps-1000", 40_000_000, 1000),
)
DISK_APPLICATIONS = ("python", "perl", "gcc", "sqlite")


def cells(board: LoopBoard) -> list[Cell]:
    """Return the cells of areas ``loop`` and ``disk``."""
    found = [_loop(board, limit, one) for limit in LIMITS for one in LOOP_APPLICATIONS]
    by_name = {one.name: one for one in on_kernel.APPLICATIONS}
    return [*found, *(_disk(by_name[name]) for name in DISK_APPLICATIONS)]


def packages() -> tuple[str, ...]:
    """Return what the loop board's image is made of."""
    return tuple(one.package for one in LOOP_APPLICATIONS if shutil.which(one.command[0]))


def _loop(board: LoopBoard, limit: Limit, application: Application) -> Cell:
    def run(folder: Path) -> Document:
        foreread = Foreread()
        words = board.start(limit)
        asked = seconds.Asked(
            command=[*words, *application.command],
            devices={"limits given": limit.write(folder), seconds.LEARNT: None},
            targets=paced_targets,
            disk=board.disk,
            repeat=REPEAT,
        )
        return {**seconds.measure(asked, folder, foreread), "commands": foreread.lines}

    def missing() -> str | None:
        program = application.command[0]
        return loop_board.missing() or (None if shutil.which(program) else f"no {program}")

    name = f"{limit.name}-{application.name}"
    return Cell("loop", name, f"{application.name}, loop board, {limit.name}", run, missing)


def _disk(application: on_kernel.Application) -> Cell:
    def run(folder: Path) -> Document:
        foreread = Foreread()
        application.prepare(folder)
        asked = seconds.Asked(
            command=application.command(folder),
            devices={seconds.LEARNT: None},
            targets=_fast_disk,
            repeat=REPEAT,
        )
        return {**seconds.measure(asked, folder, foreread), "commands": foreread.lines}

    title = f"{application.name}, this machine's disk, Linux {os.uname().release}"
    missing = lambda: on_kernel.missing(application.program)  # noqa: E731
    return Cell("disk", application.name, title, run, missing)


def _fast_disk(default_s: float, spread: Spread | None) -> SecondsTargets:
    return FAST_DISK
