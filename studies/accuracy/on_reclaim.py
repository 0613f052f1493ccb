"""Cells of reclaim: random pages of a file are touched that is larger than memory.

On emulated boards all of memory is little, on this machine that of a control group. The emulation
gets the same touches, and as many pages of memory as the kernel had of the file.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import numpy.typing as npt

from foreread.boards.base.units import kib_to_pages
from foreread.boards.open import open_target
from foreread.boards.target import LocalTarget, Target
from foreread.emulator.linux.operations import (
    FILE,
    MAPPING,
    OPERATION,
    Machine,
    MapFlag,
    Op,
    Program,
)
from foreread.emulator.linux.requests import EXTENT, Limits
from foreread.emulator.linux.rules import rules_for, version_of
from foreread.emulator.linux.windows import Emulation
from foreread.tracer.local.groups import hierarchy
from studies.accuracy import loop_board, on_boards
from studies.accuracy.cli import Foreread
from studies.accuracy.loop_board import LoopBoard
from studies.accuracy.on_boards import Live
from studies.accuracy.store import Cell, Document

AREA = "reclaim"
MACHINE, KERNELS = "x86_64", ("6.1", "6.12", "7.2")
GROUPS_MIB = (128, 256)
WINDOWS_KB = (32, 128, 512)
# A public measurement, 1:16: 100,000 touches of a file of 8 GB on a machine of 4 GB.
FILE_MIB, TOUCHES, SEEDS = 512, 6250, (1, 2)
_BOARD_MIB, _DATA_MIB = 384, 640  # 160 of the 384 are for the kernel and the root, a RAM disk
_PAGES = FILE_MIB * 256
_LARGE_FOLIOS = (6, 16)  # ext4 has them from this kernel on
_NEAR_FULL = 0.97
_ATTEMPTS = 30
_GENERATIONS = "/sys/kernel/mm/lru_gen/enabled"
_PREPARE = f"""
for disk in /sys/block/vd*; do [ "$(cat "$disk/serial")" = data ] && break; done
if ! [ -e /tmp/data/file ]; then
    mkdir -p /tmp/data && mount -o noatime "/dev/${{disk##*/}}" /tmp/data &&
    dd if=/dev/zero of=/tmp/data/file bs=1M count={FILE_MIB} 2>/dev/null || exit
fi
echo "${{disk##*/}}"
"""
# run DISK WINDOW COMMAND...: run it with cold caches, and print counters before it and after it.
_RUN = """
disk=/sys/block/$1; echo "$2" >"$disk/queue/read_ahead_kb"; shift 2
sync; echo 3 >/proc/sys/vm/drop_caches; echo 3 >/proc/sys/vm/drop_caches
counters() {
    read -r requests _ sectors _ <"$disk/stat"
    echo "requests $requests"; echo "sectors $sectors"
    echo "window $(cat "$disk/queue/read_ahead_kb")"
    grep -E '^(drop_pagecache|pgsteal_kswapd|pgsteal_direct|workingset_(refault|activate)_file) ' \
        /proc/vmstat
}
counters; "$@" || exit; counters
"""


@dataclass(frozen=True)
class LittleBoard:
    """An emulated board with a second disk, whose file is larger than memory."""

    kernel: str

    def words(self) -> list[object]:
        """Return the arguments that start it."""
        words: list[object] = [MACHINE, "--kernel", self.kernel]
        return [*words, "--memory-mib", _BOARD_MIB, "--data-mib", _DATA_MIB]


@dataclass(frozen=True)
class Bench:
    """Where the program runs: ``within`` are the words before it, ``file`` is on ``disk``."""

    target: Target
    disk: str
    file: str
    program: str
    within: Sequence[str] = ()


def cells(live: Live) -> list[Cell]:
    """Return the cells of the area."""
    return [
        *(_on_board(live, kernel) for kernel in KERNELS),
        *(_in_group(mib) for mib in GROUPS_MIB),
    ]


def _on_board(live: Live, kernel: str) -> Cell:
    def run(folder: Path) -> Document:
        foreread = Foreread()
        with open_target(live.target(LittleBoard(kernel), foreread)) as target:
            disk = _output(target, ["sh", "-c", _PREPARE]).strip()
            built = _built(folder, f"{MACHINE}-linux-gnu-gcc")
            target.push(built, "/tmp/random_touches", 0o755)
            bench = Bench(target, disk, "/tmp/data/file", "/tmp/random_touches")
            rows: list[Document] = []
            for generations in (False, True):
                target.write_knob(_GENERATIONS, "y" if generations else "n")
                rows += _rows(bench, generations=generations)
        return {"touches": rows, "commands": foreread.lines}

    return Cell(
        *(AREA, f"{MACHINE}-{kernel}"),
        f"random touches, {MACHINE} {kernel}",
        run=run,
        missing=on_boards.missing,
    )


def _in_group(mib: int) -> Cell:
    def run(folder: Path) -> Document:
        board = LoopBoard((), _fill)
        try:
            board.start()
            with _group(mib) as group:
                join = f'echo $$ >{group}/cgroup.procs; exec "$@"'
                file, program = str(board.root / "file"), str(_built(folder, "cc"))
                within = ("sh", "-c", join, "sh")
                bench = Bench(LocalTarget(), board.disk, file, program, within)
                rows = list(_rows(bench, generations=False))
        finally:
            board.end()
        return {"touches": rows}

    release = os.uname().release
    return Cell(
        *(AREA, f"group-{mib}M", f"random touches in a group of {mib} MiB, Linux {release}"),
        run=run,
        missing=lambda: loop_board.missing() or _no_group(),
    )


def _fill(tree: Path) -> None:
    with (tree / "file").open("wb") as file:
        for _ in range(FILE_MIB):
            file.write(os.urandom(1 << 20))  # a page of zeros would be a hole


def _no_group() -> str | None:
    if hierarchy("memory") is None:
        return "no memory cgroup controller"
    generations = Path(_GENERATIONS)
    if generations.exists() and int(generations.read_text(), 0) & 1:
        return f"this machine has multi-generational lists: echo n >{_GENERATIONS}"
    return None


@contextmanager
def _group(mib: int) -> Iterator[Path]:
    """Make a control group of so much memory."""
    top = hierarchy("memory")
    assert top is not None
    group, v2 = top / f"foreread-accuracy-{os.getpid()}", (top / "cgroup.controllers").exists()
    if v2:
        (top / "cgroup.subtree_control").write_text("+memory")
    group.mkdir()
    try:
        limit = group / ("memory.max" if v2 else "memory.limit_in_bytes")
        limit.write_text(str(mib << 20))
        yield group
    finally:
        loop_board.remove_group(group)


def _built(folder: Path, compiler: str) -> Path:
    program = folder / "random_touches"
    source = Path(__file__).with_name("random_touches.c")
    subprocess.run(
        [compiler, "-std=c11", "-O2", "-static", "-s", "-o", program, source], check=True
    )
    return program


def _rows(bench: Bench, *, generations: bool) -> Iterator[Document]:
    """Yield the rows of all windows, seeds and mappings, by the lists that are set."""
    version = version_of(_output(bench.target, ["uname", "-r"]))
    for executes in (False, True):
        for kb in WINDOWS_KB:
            for seed in SEEDS:
                row = _measured(bench, kb, seed, executes)
                folios = version >= _LARGE_FOLIOS
                emulated = emulated_mib(
                    program(seed, executes=executes, large_folios=folios),
                    version,
                    kb,
                    Machine(cache_pages=row["cache_pages"], generations=generations),
                )
                error = emulated / row["read_mib"] - 1
                added = {"emulated_mib": emulated, "error": error}
                yield {"generations": generations, **row, **added}


def _measured(bench: Bench, kb: int, seed: int, executes: bool) -> Document:
    """Return what a run read, unless each time other processes drop caches or set the window."""
    touches = (bench.program, bench.file, TOUCHES, seed, "x" if executes else "r")
    words = ["sh", "-c", _RUN, "sh", bench.disk, kb, *bench.within, *touches]
    for _ in range(_ATTEMPTS):
        counts = counts_of(_output(bench.target, [str(word) for word in words]))
        increase = {name: after - before for name, (before, after) in counts.pairs.items()}
        if not increase.pop("drop_pagecache") and counts.pairs["window"] == (kb, kb):
            increase.pop("window")
            sectors = increase.pop("sectors")
            return {
                "read_ahead_kb": kb,
                "seed": seed,
                "executes": executes,
                "read_mib": sectors / 2048,
                "cache_pages": counts.cache_pages,
                **increase,
            }
    raise RuntimeError(f"{kb} KiB: something drops the caches or sets the window again and again")


@dataclass(frozen=True)
class Counts:
    """The output of a run: samples of the pages in memory, and counters before and after it."""

    cached: list[int]
    pairs: dict[str, tuple[int, int]]

    @property
    def cache_pages(self) -> int:
        """How many pages of the file memory had when it was full."""
        return round(median(each for each in self.cached if each > _NEAR_FULL * max(self.cached)))


def counts_of(output: str) -> Counts:
    """Return the counts in the output of a run."""
    numbers: dict[str, list[int]] = {}
    for name, number in re.findall(r"^(\w+) (\d+)$", output, re.MULTILINE):
        numbers.setdefault(name, []).append(int(number))
    cached = numbers.pop("cached")
    pairs = {name: (each[0], each[1]) for name, each in numbers.items() if len(each) == 2}
    return Counts(cached, pairs)


def _output(target: Target, words: Sequence[str]) -> str:
    result = target.run(words, timeout_s=1200.0)
    if result.status:
        raise RuntimeError(f"{words[0]}: {result.stderr.decode(errors='replace').strip()}")
    return result.stdout.decode()


def touched(seed: int, pages: int = _PAGES, touches: int = TOUCHES) -> npt.NDArray[np.uint64]:
    """Return the pages that random_touches.c touches."""
    number = (np.uint64(seed << 32) | np.arange(touches, dtype=np.uint64)) + np.uint64(
        0x9E3779B97F4A7C15
    )
    number = (number ^ number >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ number >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return (number ^ number >> np.uint64(31)) % np.uint64(pages)


def program(seed: int, *, executes: bool, large_folios: bool) -> Program:
    """Return the touches as the emulation's input."""
    operations = np.zeros(1 + TOUCHES, OPERATION)
    operations["op"] = [Op.OPEN] + [Op.FAULT] * TOUCHES
    operations["at"][1:] = touched(seed)
    flags = MapFlag.SHARED | (MapFlag.EXEC if executes else MapFlag(0))
    mappings = np.array([(0, 0, _PAGES, 0, flags)], MAPPING)
    files = np.array([(_PAGES * 4096, large_folios, 0, -1)], FILE)
    return Program(operations, mappings, np.zeros(1, np.uint32), files)


def emulated_mib(touches: Program, version: tuple[int, ...], kb: int, machine: Machine) -> float:
    """Return how much the emulation reads with the machine's memory."""
    group, nowhere = np.zeros(1, np.uint32), np.zeros(0, EXTENT)
    emulation = Emulation(touches, rules_for(version), machine, Limits(1280), nowhere, group)
    return float(emulation.counts([kib_to_pages(kb, machine.page_size)]).pages.sum()) / 256
