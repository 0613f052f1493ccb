"""Cells on the running kernel: pages, requests and readahead calls of real applications."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import figures
from applications import WINDOWS_KB, judge
from figures import MANY_PROCESSES, SINGLE_THREADED, PageTargets
from store import Cell, Document

from emulator.linux.rules import version_of

_MODULES = (
    "asyncio, csv, ctypes, decimal, difflib, email.mime.text, html.parser, http.server, json, "
    "logging.config, multiprocessing.pool, pydoc, sqlite3, ssl, tarfile, unittest, urllib.request, "
    "xml.dom.minidom"
)
_SOURCE = (
    "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint main(void) {return 0;}\n"
)
_DRAWING = '<svg xmlns="http://www.w3.org/2000/svg"><text x="9" y="9">a</text></svg>\n'


@dataclass(frozen=True)
class Application:
    """A program of this machine; ``command`` is told a folder in which ``prepare`` put files."""

    name: str
    program: str
    command: Callable[[Path], list[str]]
    prepare: Callable[[Path], None] = lambda folder: None
    targets: PageTargets = SINGLE_THREADED


def _write(name: str, content: str) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        (folder / name).write_text(content)

    return prepare


def _database(folder: Path) -> None:
    import sqlite3  # noqa: PLC0415 - for this application alone

    with sqlite3.connect(folder / "data.db") as database:
        database.execute("create table if not exists t (k integer primary key, v text)")
        rows = ((number, f"{number:0200}") for number in range(100_000))
        database.executemany("insert or ignore into t values (?, ?)", rows)


APPLICATIONS = (
    Application(
        "python",
        "/usr/bin/python3",
        lambda folder: ["/usr/bin/python3", "-I", "-c", f"import {_MODULES}"],
    ),
    Application(
        "perl",
        "/usr/bin/perl",
        lambda folder: ["/usr/bin/perl", "-MPOSIX", "-MEncode", "-MStorable", "-e", "1"],
    ),
    Application(
        "git",
        "/usr/bin/git",
        lambda folder: [
            *("/usr/bin/git", "-C", str(Path(__file__).parents[2])),
            *("--no-pager", "log", "--stat", "-50"),
        ],
    ),
    Application(
        "sqlite",
        "/usr/bin/sqlite3",
        lambda folder: [
            *("/usr/bin/sqlite3", "-readonly", str(folder / "data.db")),
            "select count(*) from t where v like '%77%'",
        ],
        _database,
    ),
    Application(
        "gcc",
        "/usr/bin/gcc",
        lambda folder: ["/usr/bin/gcc", "-O2", str(folder / "a.c"), "-o", "/dev/null"],
        _write("a.c", _SOURCE),
        MANY_PROCESSES,
    ),
    Application(
        "inkscape",
        "/usr/bin/inkscape",
        lambda folder: [
            *("/usr/bin/inkscape", str(folder / "a.svg")),
            "--export-filename=/dev/null",
            "--export-type=png",
        ],
        _write("a.svg", _DRAWING),
        MANY_PROCESSES,
    ),
    Application(
        "gimp",
        "/usr/bin/gimp",
        lambda folder: ["/usr/bin/gimp", "-i", "-b", "(gimp-quit 0)"],
        targets=MANY_PROCESSES,
    ),
)


def cells() -> list[Cell]:
    """Return a cell for each application (area ``pages``)."""
    return [
        Cell(
            "pages",
            one.name,
            f"{one.name}, Linux {os.uname().release}",
            lambda folder, one=one: _run(one, folder),  # type: ignore[misc]
            lambda one=one: missing(one.program),  # type: ignore[misc]
        )
        for one in APPLICATIONS
    ]


def missing(program: str) -> str | None:
    """Return why a program cannot be recorded here."""
    if os.geteuid() != 0:
        return "needs root"
    if version_of(os.uname().release) < (6, 12):
        return "this kernel has no events of reads and faults (Linux 6.12)"
    return None if shutil.which(program) else f"{program} is missing"


def _run(one: Application, folder: Path) -> Document:
    one.prepare(folder)
    command = one.command(folder)
    if not (folder / "0").exists():
        judge(command, [], on=Path(one.program), directory=folder / "first")
    twice = one.targets != SINGLE_THREADED
    rows = judge(command, WINDOWS_KB, on=Path(one.program), directory=folder, twice=twice)
    predicted = [asdict(row) for row in rows if row.of == "prediction"]
    again = [asdict(row) for row in rows if row.of != "prediction"]
    found = figures.page_figures(predicted, one.targets)
    line = f"python examples/accuracy/applications.py -o DIR --on {one.program} --"
    return {
        "kernel": os.uname().release,
        "rows": predicted,
        "own_difference": again,
        "figures": [figure.to_json() for figure in found],
        "commands": [f"{line} {' '.join(command)}"],
    }
