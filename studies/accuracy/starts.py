"""Starts whose seconds are measured on this machine, and the files that they read on the board."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

from foreread.boards.base.units import MIB

_MODULES = (
    "asyncio,email.mime.text,http.server,json,logging.config,sqlite3,unittest,xml.dom.minidom,"
    "argparse,ctypes,csv,decimal,difflib,doctest,html.parser,multiprocessing.pool,pdb,pickletools,"
    "pydoc,statistics,ssl,tarfile,typing,urllib.request,zipfile"
)
_TEXT = "One paragraph of text, so that there is a page to lay out.\n\n" * 40
_CXX = """#include <iostream>
#include <map>
int main() { std::map<std::string, int> m; std::cout << m["a"]; }
"""
_LISP = """(dotimes (i 60) (compile nil `(lambda (x) (loop for y below x sum (* y ,i) into z
  finally (return (list z (mod z 7) (expt z 3)))))))
"""
_ELISP = (
    "(progn (require 'org) (require 'cc-mode) (dotimes (_ 40) (sort (number-sequence 1 20000) '>)))"
)
_JAVA = "class A { public static void main(String[] a) { System.out.println(1); } }\n"
_SOFFICE = ("/usr/lib/libreoffice/program/soffice", "--headless")
_PROFILE = "-env:UserInstallation=file:///tmp/foreread-accuracy-soffice"
_JAVAC = "/usr/lib/jvm/java-17-openjdk-amd64/bin/javac"
_VIDEO = ("-f", "lavfi", "-i", "testsrc=d=1:s=640x360", "-threads", "2", "-c:v", "libx264")
_INITDB = (
    "rm -rf /tmp/pg; exec setpriv --reuid 65534 --clear-groups "
    "/usr/lib/postgresql/15/bin/initdb -N -D /tmp/pg"
)
_PERL = ("/usr/bin/perl", "-MPOSIX", "-MEncode", "-MStorable", "-e", "1")


FILM = "film"  # longer than what a load reads during a start
_FILM_MIB = 640


@dataclass(frozen=True)
class Start:
    """A start of programs of installed Debian packages; ``command`` runs it.

    ``program`` is a program that is absent when the packages are not installed, if it is not the
    command's own. ``repeat`` is the number of runs of each window on the loop board: a start that
    lasts only one or two of the limiter's slices of 0.1 s needs more of them.
    """

    name: str
    packages: tuple[str, ...]
    command: tuple[str, ...]
    program: str = ""
    repeat: int = 2

    @property
    def needs(self) -> str:
        """Return the program that has to be there."""
        return self.program or self.command[0]


# The models were worked out with these, or judged on them while they were worked out.
IMPORTS = Start(
    "imports", ("python3",), ("/usr/bin/python3", "-I", "-S", "-c", f"import {_MODULES}"), repeat=7
)
CLANG = Start("clang", ("clang-14",), ("/usr/bin/clang-14", "-c", "/a.c", "-o", "/tmp/a.o"))
PERL = Start("perl", ("perl",), _PERL)
SEEN = (IMPORTS, CLANG)
SEEN_ON_DISK = (
    IMPORTS,
    PERL,
    Start("gcc", ("gcc",), ("/usr/bin/gcc", "-E", "-x", "c", "/dev/null")),
    Start("inkscape", ("inkscape",), ("/usr/bin/inkscape", "--action-list")),
)

# Chosen for the accuracy suite after the models (results in studies/accuracy/results.md).
LIBREOFFICE = Start(  # four processes, threads; 27,000 pages at 128 KiB
    "libreoffice",
    ("libreoffice-writer-nogui",),
    (*_SOFFICE, _PROFILE, "--convert-to", "pdf", "--outdir", "/tmp", "/a.txt"),
)
INITDB = Start(  # many processes, one after the other
    "initdb",
    ("postgresql-15",),
    ("/bin/sh", "-c", _INITDB),
    program="/usr/lib/postgresql/15/bin/initdb",
)
JAVAC = Start("javac", ("openjdk-17-jdk-headless",), (_JAVAC, "-d", "/tmp", "/A.java"))  # threads
FFMPEG = Start(  # threads
    "ffmpeg",
    ("ffmpeg",),
    ("/usr/bin/ffmpeg", "-v", "error", *_VIDEO, "-y", "-f", "null", "-"),
)
GDB = Start(  # threads read the symbols
    "gdb",
    ("gdb", "nodejs"),
    ("/usr/bin/gdb", "-q", "-batch", "-ex", "info line main", "/usr/bin/node"),
)
OCTAVE = Start(
    "octave", ("octave",), ("/usr/bin/octave-cli", "-q", "--eval", "disp(size(inv(rand(50))))")
)
# Chosen after computing after a wait was modelled: four that compute much, and two that do not.
CXX = Start("g++", ("g++",), ("/usr/bin/g++", "-O1", "-c", "/a.cc", "-o", "/tmp/a.o"))
Z3 = Start("z3", ("z3",), ("/usr/bin/z3", "/holes.smt2"))
SBCL = Start("sbcl", ("sbcl",), ("/usr/bin/sbcl", "--non-interactive", "--load", "/a.lisp"))
EMACS = Start("emacs", ("emacs-nox",), ("/usr/bin/emacs-nox", "-Q", "--batch", "--eval", _ELISP))
VIM = Start("vim", ("vim",), ("/usr/bin/vim.basic", "-es", "-c", "qa!"))
GUILE = Start(
    "guile", ("guile-3.0",), ("/usr/bin/guile", "-c", "(use-modules (ice-9 match) (srfi srfi-1))")
)
COMPUTING = (CXX, Z3, SBCL, EMACS, VIM, GUILE)
# Chosen after the loads were modelled.
ERLANG = Start("erlang", ("erlang-base",), ("/usr/bin/erl", "-noshell", "-s", "init", "stop"))
BESIDE_LOADS = (ERLANG, GUILE, GDB, FFMPEG, EMACS)
NODE = Start(  # threads
    "node", ("nodejs",), ("/usr/bin/node", "-e", "for (const m of ['http', 'zlib']) require(m)")
)
WITH_LITTLE_MEMORY = (PERL, VIM, IMPORTS, GUILE, ERLANG, NODE, GDB, EMACS)
UNSEEN = (LIBREOFFICE, INITDB, JAVAC, FFMPEG, GDB, OCTAVE)
# Without files of the board.
UNSEEN_ON_DISK = (
    OCTAVE,
    GDB,
    FFMPEG,
    Start("javac", JAVAC.packages, (_JAVAC, "-version")),
    Start("libreoffice", LIBREOFFICE.packages, (*_SOFFICE, _PROFILE, "--terminate_after_init")),
)


def fill(tree: Path) -> None:
    """Put what the starts read into the tree of the board's image."""
    (tree / "A.java").write_text(_JAVA)
    (tree / "a.txt").write_text(_TEXT)
    (tree / "a.cc").write_text(_CXX)
    (tree / "a.lisp").write_text(_LISP)
    with (tree / FILM).open("wb") as film:
        film.writelines(itertools.repeat(b"\1" * MIB, _FILM_MIB))
    (tree / "holes.smt2").write_text(_pigeons(9))


def _pigeons(holes: int) -> str:
    """Return a problem that a solver has to search: one pigeon more than there are holes."""
    names = [[f"p{pigeon}h{hole}" for hole in range(holes)] for pigeon in range(holes + 1)]
    lines = [f"(declare-const {name} Bool)" for row in names for name in row]
    lines += [f"(assert (or {' '.join(row)}))" for row in names]
    for column in zip(*names, strict=True):
        pairs = itertools.combinations(column, 2)
        lines += [f"(assert (not (and {first} {second})))" for first, second in pairs]
    return "\n".join([*lines, "(check-sat)", ""])
