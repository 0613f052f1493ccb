"""Cells of seconds on this machine: on the loop board under three limits, and on its own disk."""

from __future__ import annotations

import os
from pathlib import Path

import loop_board
import on_kernel
import seconds
from cli import Foreread
from figures import FAST_DISK, SecondsTargets, Spread, paced_targets
from loop_board import Limit, LoopBoard
from on_kernel import Application, absent
from store import Cell, Document

_MODULES = (
    "asyncio,email.mime.text,http.server,json,logging.config,sqlite3,unittest,xml.dom.minidom,"
    "argparse,ctypes,csv,decimal,difflib,doctest,html.parser,multiprocessing.pool,pdb,pickletools,"
    "pydoc,statistics,ssl,tarfile,typing,urllib.request,zipfile"
)
LOOP_REPEAT = {"imports": 7, "clang": 2}  # a short start is known to one of the limiter's slices
DISK_REPEAT = 15  # runs of a tenth of a second, whose times scatter by a tenth


LOOP_APPLICATIONS = (
    Application("imports", "python3", ("/usr/bin/python3", "-I", "-S", "-c", f"import {_MODULES}")),
    Application("clang", "clang-14", ("/usr/bin/clang-14", "-c", "/a.c", "-o", "/tmp/a.o")),
)
LIMITS = (
    Limit("5MBps-1000", 5_000_000, 1000),
    Limit("10MBps-4000", 10_000_000, 4000),
    Limit("40MBps-1000", 40_000_000, 1000),
)
DISK_APPLICATIONS = (
    *LOOP_APPLICATIONS[:1],
    Application("perl", "perl", ("/usr/bin/perl", "-MPOSIX", "-MEncode", "-MStorable", "-e", "1")),
    Application("gcc", "gcc", ("/usr/bin/gcc", "-E", "-x", "c", "/dev/null")),
    Application("inkscape", "inkscape", ("/usr/bin/inkscape", "--action-list")),
)


def board() -> LoopBoard:
    """Return a loop board that has the applications of this machine."""
    wanted = {
        one.package for one in (*on_kernel.APPLICATIONS, *LOOP_APPLICATIONS) if not absent(one)
    }
    return LoopBoard(sorted(wanted), on_kernel.fill)


def cells(board: LoopBoard) -> list[Cell]:
    """Return the cells of areas ``loop`` and ``disk``."""
    found = [_loop(board, limit, one) for limit in LIMITS for one in LOOP_APPLICATIONS]
    return [*found, *(_disk(one) for one in DISK_APPLICATIONS)]


def _loop(board: LoopBoard, limit: Limit, application: Application) -> Cell:
    def run(folder: Path) -> Document:
        foreread = Foreread()
        words = board.start(limit)
        asked = seconds.Asked(
            command=[*words, *application.command],
            devices={
                "limits given": limit.write(folder),
                **seconds.calibrated(f"/dev/{board.disk}", folder, foreread, board.limited()),
            },
            targets=paced_targets,
            disk=board.disk,
            repeat=LOOP_REPEAT[application.name],
        )
        return {**seconds.measure(asked, folder, foreread), "commands": foreread.lines}

    missing = lambda: loop_board.missing() or absent(application)  # noqa: E731
    name = f"{limit.name}-{application.name}"
    return Cell("loop", name, f"{application.name}, loop board, {limit.name}", run, missing)


def _disk(application: Application) -> Cell:
    def run(folder: Path) -> Document:
        foreread = Foreread()
        asked = seconds.Asked(
            command=application.command,
            devices={seconds.LEARNT: None, **seconds.calibrated("/usr", folder, foreread)},
            targets=_fast_disk,
            repeat=DISK_REPEAT,
        )
        return {**seconds.measure(asked, folder, foreread), "commands": foreread.lines}

    title = f"{application.name}, this machine's disk, Linux {os.uname().release}"
    missing = lambda: loop_board.not_root() or absent(application)  # noqa: E731
    return Cell("disk", application.name, title, run, missing)


def _fast_disk(default_s: float, spread: Spread | None) -> SecondsTargets:
    return FAST_DISK
