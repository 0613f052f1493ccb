"""Cells on the running kernel: pages, requests and readahead calls of real applications.

They run from an image of their own, so that no other process reads their files.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sqlite3
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from subprocess import DEVNULL

from foreread.boards.emulated.image import silent_mp3
from foreread.emulator.linux.rules import version_of
from studies.accuracy import figures, loop_board
from studies.accuracy.applications import WINDOWS_KB, judge
from studies.accuracy.figures import BROWSER, MANY_PROCESSES, SINGLE_THREADED, PageTargets
from studies.accuracy.loop_board import LoopBoard
from studies.accuracy.store import Cell, Document

_MODULES = (
    "asyncio, csv, ctypes, decimal, difflib, email.mime.text, html.parser, http.server, json, "
    "logging.config, multiprocessing.pool, pydoc, sqlite3, ssl, tarfile, unittest, urllib.request, "
    "xml.dom.minidom"
)
_SOURCE = (
    "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint main(void) {return 0;}\n"
)
_QUERY = "select count(*) from t where v like '%77%'"
_JRE = "openjdk-17-jre-headless"
_JAVA = os.path.realpath("/usr/bin/java")
_CHROMIUM = "/usr/lib/chromium/chromium"  # the other one is a script
_HEADLESS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom")
_DRAWING = '<svg xmlns="http://www.w3.org/2000/svg"><text x="9" y="9">a</text></svg>\n'


@dataclass(frozen=True)
class Application:
    """A program of a Debian package that is installed here; ``command`` runs it on the board."""

    name: str
    package: str
    command: tuple[str, ...]
    targets: PageTargets = SINGLE_THREADED


APPLICATIONS = (
    Application("python", "python3", ("/usr/bin/python3", "-I", "-c", f"import {_MODULES}")),
    Application("perl", "perl", ("/usr/bin/perl", "-MPOSIX", "-MEncode", "-MStorable", "-e", "1")),
    Application("git", "git", ("/usr/bin/git", "-C", "/repository", "--no-pager", "log", "--stat")),
    Application("sqlite", "sqlite3", ("/usr/bin/sqlite3", "-readonly", "/data.db", _QUERY)),
    Application("madplay", "madplay", ("/usr/bin/madplay", "-Q", "-o", "null:", "/sample.mp3")),
    Application("gcc", "gcc", ("/usr/bin/gcc", "-O2", "/a.c", "-o", "/tmp/a"), MANY_PROCESSES),
    Application(
        "inkscape",
        "inkscape",
        ("/usr/bin/inkscape", "/a.svg", "--export-type=png", "--export-filename=/tmp/a.png"),
        MANY_PROCESSES,
    ),
    Application(
        "gimp", "gimp", ("/usr/bin/gimp", "-i", "-b", "(gimp-quit 0)"), targets=MANY_PROCESSES
    ),
    Application("java", _JRE, (_JAVA, "-version"), MANY_PROCESSES),
    # Without the compiler's threads, which its end cuts off wherever they are.
    Application("java-xint", _JRE, (_JAVA, "-Xint", "-version"), MANY_PROCESSES),
    Application("chromium", "chromium", (_CHROMIUM, *_HEADLESS, "file:///a.svg"), BROWSER),
)


def fill(tree: Path) -> None:
    """Put what the applications read into the tree of the board's image."""
    (tree / "a.c").write_text(_SOURCE)
    (tree / "a.svg").write_text(_DRAWING)
    (tree / "sample.mp3").write_bytes(silent_mp3(300))
    with sqlite3.connect(tree / "data.db") as database:
        database.execute("create table t (k integer primary key, v text)")
        rows = ((number, f"{number:0200}") for number in range(100_000))
        database.executemany("insert into t values (?, ?)", rows)
    _repository(tree / "repository")


def _repository(place: Path) -> None:
    """Make a repository of many commits, all files of which are new to it each time."""
    git = ["git", "-C", str(place), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "init", "-q", place], check=True)
    for number in range(60):
        for name in range(40):
            (place / f"{name}.txt").write_text(f"{number} {name}\n" * (50 + name))
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", str(number)], check=True)


def installed() -> list[Application]:
    """Return the applications that this machine has."""
    return [application for application in APPLICATIONS if shutil.which(application.command[0])]


def cells(board: LoopBoard) -> list[Cell]:
    """Return a cell for each application (area ``pages``)."""
    return [_cell(board, application) for application in APPLICATIONS]


def _cell(board: LoopBoard, application: Application) -> Cell:
    def run(folder: Path) -> Document:
        command = [*board.start(), *application.command]
        # Its first run writes what later ones read: fontconfig's cache, a profile.
        subprocess.run(command, check=False, stdout=DEVNULL, stderr=DEVNULL)
        twice = application.targets != SINGLE_THREADED
        rows = judge(command, WINDOWS_KB, on=board.root, directory=folder, twice=twice)
        predicted = [asdict(row) for row in rows if row.of == "prediction"]
        own = [asdict(row) for row in rows if row.of != "prediction"]
        page_figures = figures.page_figures(predicted, application.targets, own)
        line = "python -m studies.accuracy.applications -o DIR --on BOARD -- chroot BOARD"
        return {
            "kernel": os.uname().release,
            "rows": predicted,
            "own_difference": own,
            "figures": [figure.to_json() for figure in page_figures],
            "commands": [f"{line} {shlex.join(application.command)}"],
        }

    def missing() -> str | None:
        if version_of(os.uname().release) < (6, 12):
            return "this kernel has no events of reads and faults (Linux 6.12)"
        return loop_board.missing() or absent(application)

    return Cell(
        "pages", application.name, f"{application.name}, Linux {os.uname().release}", run, missing
    )


def absent(application: Application) -> str | None:
    """Return why an application cannot be run here."""
    return (
        None if shutil.which(application.command[0]) else f"apt-get install {application.package}"
    )
