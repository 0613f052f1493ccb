"""Lists for linkers: written from the capture of a real program, linked with, and measured again.

GoogleTest's own unit test has some 5,000 functions, of its code and of the C++ library. Each linker
orders it by its list; without the list it is the program to compare with.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest

import foreread
from foreread.analyzer.advise.symbols import functions_of
from foreread.boards.open import open_target
from foreread.cli.main import main

# Two recordings and two sweeps each: 60 s on an idle machine.
pytestmark = [pytest.mark.boards, pytest.mark.thorough, pytest.mark.timeout(1800)]

BOARD = "linked"
SOURCES = Path("/usr/src/googletest/googletest")
COMPILER = "x86_64-linux-gnu-g++"
PLACE = "/usr/bin/unit"
PRESENT_KB = 128
# Option of the linker, and suffix of its list. All but lld leave a static C library where it is.
OPTIONS = {
    "lld": ("--symbol-ordering-file=", "symbols"),
    "gold": ("--section-ordering-file=", "sections"),
    "bfd": ("-T,", "ld"),
}
# Not -static: without a table of them, the first exception sorts all unwind entries, for longer if
# their functions are in another order (libgcc, unwind-dw2-fde.c).
ALONE, WITH_LIBC = ("-static-pie",), ("-static-libstdc++", "-static-libgcc")


@dataclass(frozen=True)
class Measured:
    """A start of one program: seconds and requests of its sweep, and pages at window 0."""

    seconds: float
    requests: float
    pages: int


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """The program's objects, a section for each function."""
    if not SOURCES.is_dir():
        pytest.skip("no sources of GoogleTest: no list for linkers was tried")
    if not shutil.which(COMPILER):
        pytest.skip(f"no {COMPILER}: no list for linkers was tried")
    folder = tmp_path_factory.mktemp("objects")
    found = []
    for source in ("src/gtest-all.cc", "src/gtest_main.cc", "test/gtest_unittest.cc"):
        found.append(folder / f"{Path(source).stem}.o")
        words = [COMPILER, "-O1", "-ffunction-sections", f"-I{SOURCES}/include", f"-I{SOURCES}"]
        subprocess.run([*words, "-c", SOURCES / source, "-o", found[-1]], check=True)
    return found


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        words = ["--kernel", "6.12", "--latency-us", "1000", "--ns-per-kib", "50000"]
        assert main(["boards", "start", "x86_64", "--name", BOARD, *words]) == 0
        yield BOARD
        assert main(["boards", "stop", "--all"]) == 0


def linked(objects, program, linker, *options):
    """Link the program, and return what the linker said about its list."""
    program.parent.mkdir(parents=True, exist_ok=True)
    words = [COMPILER, f"-fuse-ld={linker}", *options, *objects, "-o", program]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stderr
    return [line for line in said.splitlines() if "order" in line]


def measured(program, folder, capsys):
    """Put a program on the board, and return its capture and what a start of it takes."""
    folder.mkdir()
    with open_target(BOARD) as target:
        target.push(program, PLACE, 0o755)
        assert target.run(["sync"]).status == 0
    capture, sweep = folder / "capture", folder / "sweep.json"
    start = ["--", PLACE, "--gtest_brief=1"]
    assert main(["record", "--target", BOARD, "-o", str(capture), *start]) == 0
    words = ["--windows", f"{PRESENT_KB}k", "--repeat", "3", "-o", str(sweep), str(capture)]
    capsys.readouterr()
    assert main(["sweep", "--json", *words]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    runs = next(one for one in points if one["read_ahead_kb"] == PRESENT_KB)
    return capture, Measured(median(runs["seconds"]), median(runs["requests"]), pages_of(capture))


def pages_of(capture):
    """Return how many pages of the program a start touches."""
    recording = foreread.load(capture)
    row = recording.paths.index(PLACE)
    return int((recording.accesses["file"] == row).sum())


def own_functions(objects):
    """Return the functions that have a section of their own: no static library has any."""
    words = ["x86_64-linux-gnu-readelf", "--wide", "--section-headers", *objects]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return set(re.findall(r" \.text\.(\S+)", said))


def placed_in_order(program, listed, among=None):
    """Return which share of neighbours in a list are in that order in the program, too.

    ``among`` are the functions that count (None: all).
    """
    names = listed.read_text().split()
    at = {one.name: one.at for one in functions_of(program.read_bytes())}
    places = [at[name] for name in names if name in at and (among is None or name in among)]
    return sum(one < two for one, two in pairwise(places)) / (len(places) - 1)


@pytest.mark.parametrize(
    ("linker", "libraries"),
    [("lld", ALONE), ("lld", WITH_LIBC), ("gold", WITH_LIBC), ("bfd", WITH_LIBC)],
    ids=["lld-static", "lld", "gold", "gnu-ld"],
)
def test_a_list_of_a_capture_saves_what_was_predicted(
    linker, libraries, objects, board, tmp_path, capsys
):
    if not shutil.which(f"ld.{linker}"):
        pytest.skip(f"no ld.{linker}: its list was not tried")
    before, after = tmp_path / f"root{PLACE}", tmp_path / "after"
    assert linked(objects, before, linker, *libraries) == []
    capture, old = measured(before, tmp_path / "old", capsys)
    advice = tmp_path / "advice"
    assert main(["advise", str(capture), "--root", str(tmp_path / "root"), "-o", str(advice)]) == 0
    rows = json.loads((advice / "advice.json").read_text())["rows"]
    row = next(one for one in rows if one["kind"] == "order" and PLACE in one["what"])
    option, kind = OPTIONS[linker]
    listed = advice / f"usr-bin-unit.{kind}"
    assert listed.name in row["lists"]
    assert linked(objects, after, linker, *libraries, f"-Wl,{option}{listed}") == []
    own = own_functions(objects)
    names = advice / "usr-bin-unit.symbols"
    shares = [placed_in_order(one, names, own) for one in (before, after)]
    print(linker, "in order, of own sections before and after:", shares)
    print("of all functions:", *(placed_in_order(one, names) for one in (before, after)))
    assert shares[1] > 0.9
    assert shares[0] < shares[1]
    _, new = measured(after, tmp_path / "new", capsys)
    saved = old.seconds - new.seconds
    print(f"{linker}: predicted {row['saved']:.4f} ±{row['band']:.4f} s, measured {saved:.4f} s")
    print(old, new, sep="\n")
    assert abs(saved - row["saved"]) <= row["band"]
