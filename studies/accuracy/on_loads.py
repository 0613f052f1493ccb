"""Cells of starts beside loads: one capture on the idle machine, and a sweep beside each load.

On the loop board start and load share the limiter, and one load reads at random, of which foreread
knows no more than a recording of it. On emulated boards the seconds are the guest's own.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from foreread.analyzer.ingest.load import load
from foreread.analyzer.load.named import predict_beside
from foreread.analyzer.predict.beside import LoadRow
from foreread.analyzer.predict.linux import predict_linux
from foreread.tracer.formats.scenario import IDLE
from foreread.tracer.formats.sweep import read_sweep
from studies.accuracy import on_boards, on_machine, starts
from studies.accuracy.cli import Foreread
from studies.accuracy.loop_board import LoopBoard
from studies.accuracy.on_boards import Application, Live
from studies.accuracy.on_disks import KERNEL, MACHINE, DiskBoard, stranger
from studies.accuracy.store import Cell, Document

AREA = "loads"
RANDOM = "random"
WINDOWS_KB = (8, 32, 128, 256, 1024)
DEFAULT_KB = 128
REPEAT = 2
LIMIT = on_machine.LIMITS[0]
_LOAD_RECORDED = "5s"
DISKS = ("emmc", "network")  # of the emulated boards: one request at a time, and eight
APPLICATIONS = (
    on_boards.ERLANG,
    on_boards.GUILE,
    on_boards.GDB,
    on_boards.TCL,
    on_boards.VIM,
)
PACKAGES = ("erlang-base", "guile-3.0", "gdb-minimal", "tcl8.6", "vim", "libllvm15")
# Larger than the memory that a board has to spare.
_FILM = f"/usr/lib/{MACHINE}-linux-gnu/libLLVM-15.so.1"


@dataclass(frozen=True)
class Bench:
    """Where a start runs: ``scenarios`` by name, and the words of foreread's commands.

    ``within`` are words that go before each command; ``random`` runs a load of its own for the
    length of a block.
    """

    command: Sequence[str]
    where: Sequence[object]
    scenarios: dict[str, str]
    device: Sequence[object] = ()
    within: Sequence[str] = ()
    random: Callable[[], AbstractContextManager[None]] | None = None


def cells(live: Live, loop: LoopBoard) -> list[Cell]:
    """Return the cells of the area."""
    boards = [DiskBoard(disk, PACKAGES) for disk in DISKS]
    return [
        *(_on_loop(loop, start) for start in starts.BESIDE_LOADS),
        *(_on_board(live, board, each) for board in boards for each in APPLICATIONS),
    ]


def _on_loop(board: LoopBoard, start: starts.Start) -> Cell:
    def run(folder: Path) -> Document:
        words = board.start(LIMIT)
        bench = Bench(
            command=(*words, *start.command),
            where=(),
            scenarios={
                IDLE: IDLE,
                "direct": "reader",
                "cached": f"reader:{board.root}/{starts.FILM}",
            },
            device=("--device", board.disk),
            within=board.limited(),
            random=lambda: _random_reader(board),
        )
        return _measured(bench, folder)

    return Cell(
        *(AREA, f"loop-{start.name}", f"{start.name} beside loads, loop board, {LIMIT.name}"),
        run=run,
        missing=lambda: on_machine.absent(start),
        judge=judge,
    )


def _on_board(live: Live, board: DiskBoard, application: Application) -> Cell:
    def run(folder: Path) -> Document:
        target = stranger(live.target(board, Foreread()), folder)
        bench = Bench(
            command=application.command,
            where=("--target", target),
            scenarios={
                **{IDLE: IDLE, "direct": "reader", "cached": f"reader:{_FILM}"},
                "writer": "writer:/root",
            },
        )
        return _measured(bench, folder)

    place = f"{MACHINE}-{board.disk}"
    return Cell(
        *(AREA, f"{place}-{application.name}"),
        f"{application.name} beside loads, {MACHINE} {KERNEL}, {board.disk}",
        run=run,
        missing=on_boards.missing,
        judge=judge,
    )


def _measured(bench: Bench, folder: Path) -> Document:
    """Record the start and the load, sweep beside each load, and compare."""
    foreread, capture = Foreread(), folder / "capture"
    if not (capture / "capture.json").exists():
        words = ("record", *bench.where, "--wait", 300, "--allow-warm", "--json")
        # The first run may write what later ones read.
        shutil.rmtree(folder / "first", ignore_errors=True)  # of a run that was interrupted
        foreread(*words, "-o", folder / "first", "--", *bench.command, within=bench.within)
        foreread(*words, "-o", capture, "--", *bench.command, within=bench.within)
    for name, scenario in bench.scenarios.items():
        _sweep(bench, folder, name, scenario, foreread)
    if bench.random is not None and not _file(folder, RANDOM).exists():
        with bench.random():
            shutil.rmtree(folder / RANDOM, ignore_errors=True)
            words = ("record", "--load", _LOAD_RECORDED, "-o", folder / RANDOM, "--json")
            foreread(*words, within=bench.within)
            _sweep(bench, folder, RANDOM, IDLE, foreread)
    return {**judge(folder), "commands": foreread.lines}


def _sweep(bench: Bench, folder: Path, name: str, scenario: str, foreread: Foreread) -> None:
    """Measure all windows beside a load, unless that has been done."""
    file = _file(folder, name)
    part = file.with_suffix(".part")
    part.unlink(missing_ok=True)
    if not file.exists():
        options = ("--wait", 300, "--allow-warm", "--repeat", REPEAT, "--scenario", scenario)
        windows = ("--windows", ",".join(map(str, WINDOWS_KB)))
        words = ("sweep", *bench.where, *bench.device, *options, *windows, "-o", part)
        foreread(*words, "--", *bench.command, within=bench.within)
        part.replace(file)


@contextmanager
def _random_reader(board: LoopBoard) -> Iterator[None]:
    """Have fio read 4 KiB at random past the page cache, under the limiter."""
    job = [f"--filename=/dev/{board.disk}", "--rw=randread", "--bs=4k", "--direct=1"]
    words = ["fio", "--name=random", *job, "--time_based", "--runtime=3h", "--readonly"]
    with subprocess.Popen(
        [*board.limited(), *words], stdout=subprocess.DEVNULL, start_new_session=True
    ) as fio:
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(fio.pid, signal.SIGTERM)


def judge(folder: Path) -> Document:
    """Compare the capture and the sweeps that are in ``folder``, and measure nothing."""
    prediction = predict_linux(load(folder / "capture"))
    names = [file.name.removesuffix(".sweep.json") for file in folder.glob("*.sweep.json")]
    names.sort(key=lambda name: (name != IDLE, name))
    loads = {name: _words(folder, name) for name in names}
    loaded = predict_beside(prediction, [words for words in loads.values() if words != IDLE]).loads
    assert loaded is not None
    rows = {row.load: row for row in loaded.rows}
    result = [
        _compared(name, rows[loads[name]], loaded.read_ahead_kb, _medians(folder, name))
        for name in names
    ]
    idle = next((row for row in result if row["load"] == IDLE and row["points"]), None)
    for row in result:
        row["sign"] = _sign(row, idle)
    return {"beside": result, "notes": list(prediction.notes)}


def _words(folder: Path, name: str) -> str:
    return str(folder / RANDOM) if name == RANDOM else read_sweep(_file(folder, name)).scenario


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.sweep.json"


def _medians(folder: Path, name: str) -> dict[int, float]:
    """Return the measured seconds by window in KiB."""
    points = read_sweep(_file(folder, name)).points
    return {point.read_ahead_kb: median(point.seconds) for point in points}


def _compared(
    name: str, row: LoadRow, windows_kb: list[int], measured: dict[int, float]
) -> Document:
    """Return one load's points, and the regret of the fastest predicted window among them."""
    document: Document = {"load": name, "why": row.why, "points": []}
    if not row.seconds:
        return document
    at = {kb: windows_kb.index(kb) for kb in measured if kb in windows_kb}
    points: list[Document] = [
        {
            "read_ahead_kb": kb,
            "predicted": row.seconds[place],
            "measured": measured[kb],
            "error": row.seconds[place] / measured[kb] - 1,
            "band": [row.seconds_low[place], row.seconds_high[place]],
            "in_band": row.seconds_low[place] <= measured[kb] <= row.seconds_high[place],
        }
        for kb, place in at.items()
    ]
    fastest = min(points, key=lambda point: point["predicted"])
    best = min(point["measured"] for point in points)
    return document | {
        "points": points,
        "fastest_kb": fastest["read_ahead_kb"],
        "regret": (fastest["measured"] - best) / measured[DEFAULT_KB],
    }


def _sign(row: Document, idle: Document | None) -> Document | None:
    """Return how the idle machine's window compares with the default beside the load.

    ``right`` is None where both are one window.
    """
    if idle is None or not row["points"] or idle["fastest_kb"] == DEFAULT_KB:
        return None
    by_kb = {point["read_ahead_kb"]: point for point in row["points"]}
    ours, default = by_kb[idle["fastest_kb"]], by_kb[DEFAULT_KB]
    change = {of: ours[of] / default[of] - 1 for of in ("predicted", "measured")}
    return {
        **change,
        "kb": idle["fastest_kb"],
        "right": change["predicted"] * change["measured"] > 0,
    }
