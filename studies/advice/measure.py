"""The table of ``foreread advise`` against exhaustive measurement of all that a board can have.

    python -m studies.advice.measure CAPTURE --target T -o DIR [--device-model FILE]
        [--replayer PROGRAM] [--shim LIBRARY] [--repeat N] [--windows K,K...]

Measured are, cold and in turn: every window with and without the prefetch list, and every row of
the table that needs no other build; with advice for single files only if LIBRARY, which is
foreread-advice.c, is given. DIR gets advice.json with its lists, and measured.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from foreread.analyzer.advise.advise import DOCUMENT, Advice, advise
from foreread.analyzer.advise.bench import Bench
from foreread.analyzer.advise.document import LaterWindow, TrialAdvice
from foreread.analyzer.advise.lists import WHOLE, whole_list
from foreread.analyzer.advise.shim_list import list_of
from foreread.analyzer.advise.situation import situation_of
from foreread.analyzer.advise.windows import windows
from foreread.analyzer.apply.write import REPLAYER_SCRIPT, shipped
from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.disk.device_model import device_from
from foreread.boards.base.document import SCHEMA
from foreread.boards.base.interrupts import orderly_exit
from foreread.boards.open import open_target
from foreread.recording.words import recorded_run
from foreread.tracer.machines import bench_on
from foreread.tracer.runs.options import Streams
from foreread.tracer.trials.beside import Later, Preload, Replayer
from foreread.tracer.trials.trial import Trial, TrialBench, TrialOptions
from studies.accuracy.markdown import markdown
from studies.advice.again import predicted_again

WINDOWS_KB = (0, 4, 8, 16, 32, 64, 96, 128, 256, 512)
COLUMNS = ("what", "window", "list", "predicted s", "measured s", "from", "to", "requests", "MiB")


@dataclass(frozen=True)
class Cell:
    """Something that a board can have, and its predicted seconds; ``rank``: its row, if any."""

    what: str
    window_kb: int
    predicted: float | None
    listing: str | None = None
    later: tuple[LaterWindow, ...] = ()
    rank: int | None = None
    advice: tuple[TrialAdvice, ...] = ()


def grid(recording: Recording, device: str | None, windows_kb: Sequence[int]) -> Iterator[Cell]:
    """Yield every window, alone and with the list of the start, with its prediction."""
    situation = situation_of([recording], device_from(device))
    bench = Bench(situation)
    by_kb = {situation.kib(pages): offer for pages, offer in windows(situation).items()}
    whole = whole_list(situation)
    for kb in sorted({*windows_kb, situation.kib(situation.now)}):
        window = [by_kb[kb]] if kb in by_kb else []
        if not window and kb != situation.kib(situation.now):
            continue
        for listed in (False, True):
            if listed and whole is None:
                continue
            chosen = frozenset([*window, *([whole] if listed and whole else [])])
            seconds = bench.cost(chosen).seconds
            yield Cell(f"{kb} KiB", kb, seconds, WHOLE if listed else None)


def rows(advice: Advice) -> Iterator[Cell]:
    """Yield the rows of the table that a board can have without another build."""
    for rank, row in enumerate(advice.document.rows, 1):
        if row.trial is not None:
            kb = row.trial.read_ahead_kb
            window_kb = advice.document.read_ahead_kb if kb is None else kb
            later = tuple(row.trial.later)
            given = tuple(row.trial.advice)
            yield Cell(row.what, window_kb, row.seconds, row.trial.listing, later, rank, given)


def measure(
    cells: Sequence[Cell],
    recording: Recording,
    args: argparse.Namespace,
    lists: Mapping[str, bytes],
) -> list[dict[str, Any]]:
    """Make the runs, a turn of all cells after the other; each list needs a bench of its own.

    So does the advice of each cell.
    """
    program = shipped(REPLAYER_SCRIPT) if args.replayer is None else args.replayer.read_bytes()
    by_cell: dict[Cell, list[dict[str, float]]] = {cell: [] for cell in cells}
    with open_target(args.target, tell=print) as target:
        for name, advice in dict.fromkeys((cell.listing, cell.advice) for cell in cells):
            capture = recording.capture
            replayer = None if name is None else Replayer(program, lists[name])
            shim = Preload(args.shim.read_bytes(), list_of(advice)) if advice else None
            options = TrialOptions(
                recorded_run(capture, Streams(2, 2)), vmstat=False, replayer=replayer, preload=shim
            )
            own = [cell for cell in cells if (cell.listing, cell.advice) == (name, advice)]
            with bench_on(target, options, capture) as bench:
                for cell, run in _turns(bench, own, args.repeat):
                    by_cell[cell].append(run)
    return [_row(cell, runs) for cell, runs in by_cell.items()]


def _turns(
    bench: TrialBench, cells: Sequence[Cell], repeat: int
) -> Iterator[tuple[Cell, dict[str, float]]]:
    """Yield the runs of all turns but a first run, which is slower."""
    plan = [cells[0], *(cell for _ in range(repeat) for cell in cells)]
    trials = [_trial(bench, cell) for cell in plan]
    bench.announce(trials)
    for at, (cell, trial) in enumerate(zip(plan, trials, strict=True)):
        outcome = bench.run(trial)
        bench.announce(trials[at + 1 :])
        print(f"{cell.what}: {outcome.status} {outcome.seconds} {outcome.notes}", file=sys.stderr)
        if at and outcome.seconds is not None and outcome.status in ("ok", "contended"):
            counters = outcome.counters
            yield (
                cell,
                {
                    "seconds": outcome.seconds,
                    "requests": counters["disk.reads"],
                    "read_bytes": 512 * counters["disk.read_sectors"],
                },
            )


def _trial(bench: TrialBench, cell: Cell) -> Trial:
    window = str(cell.window_kb)
    later = tuple(
        Later(step.after_s, knob, str(step.read_ahead_kb), window)
        for step in cell.later
        for knob in bench.windows
    )
    settings = tuple((knob, window) for knob in bench.windows)
    return Trial(
        settings, replays=cell.listing is not None, later=later, preloads=bool(cell.advice)
    )


def _row(cell: Cell, runs: list[dict[str, float]]) -> dict[str, Any]:
    return {
        "what": cell.what,
        "rank": cell.rank,
        "read_ahead_kb": cell.window_kb,
        "later": [[step.after_s, step.read_ahead_kb] for step in cell.later],
        "list": cell.listing,
        "predicted": cell.predicted,
        "seconds": [run["seconds"] for run in runs],
        "requests": median([run["requests"] for run in runs]),
        "read_bytes": median([run["read_bytes"] for run in runs]),
    }


def verdict(measured: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return by how much the row ranked first takes longer than the fastest measured row."""
    ranked = [row for row in measured if row["rank"] is not None]
    first = min(ranked, key=lambda row: int(row["rank"]))
    best = min(measured, key=lambda row: float(median(row["seconds"])))
    seconds = [float(median(row["seconds"])) for row in (first, best)]
    return {
        "first": first["what"],
        "first_seconds": seconds[0],
        "best": best["what"] + (", with the list" if best["rank"] is None and best["list"] else ""),
        "best_seconds": seconds[1],
        "longer_percent": 100 * (seconds[0] / seconds[1] - 1),
    }


def text(measured: Sequence[Mapping[str, Any]]) -> str:
    """Return the table in the order of the measured seconds."""
    ordered = sorted(measured, key=lambda row: float(median(row["seconds"])))
    return "\n".join(markdown(COLUMNS, [_cells(row) for row in ordered]))


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    what = row["what"] if row["rank"] is None else f"row {row['rank']}: {row['what']}"
    seconds = row["seconds"]
    times = (row["predicted"], median(seconds), min(seconds), max(seconds))
    return (
        what,
        str(row["read_ahead_kb"]),
        row["list"] or "",
        *(f"{value:.3f}" for value in times),
        f"{row['requests']:.0f}",
        f"{row['read_bytes'] / (1 << 20):.1f}",
    )


def main() -> None:
    """Measure one start."""
    args = _arguments()
    recording = load(args.capture)
    advice = advise(recording, device_model=args.device_model)
    args.output.mkdir(parents=True, exist_ok=True)
    for name, content in {DOCUMENT: advice.document.to_json().encode(), **advice.lists}.items():
        (args.output / name).write_bytes(content)
    situation = situation_of([recording], device_from(args.device_model))
    whole = whole_list(situation)
    lists = {**advice.lists, **(whole.lists if whole else {})}
    ranked = [cell for cell in rows(advice) if args.shim is not None or not cell.advice]
    cells = [*grid(recording, args.device_model, args.windows), *ranked]
    with orderly_exit():
        measured = predicted_again(measure(cells, recording, args, lists), situation)
    document = {"schema": SCHEMA, "verdict": verdict(measured), "rows": measured}
    (args.output / "measured.json").write_text(json.dumps(document, indent=1) + "\n")
    print(text(measured), json.dumps(document["verdict"], indent=1), sep="\n\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("capture", metavar="CAPTURE")
    parser.add_argument("--target", required=True, metavar="T")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--device-model", metavar="FILE")
    parser.add_argument("--replayer", type=Path, metavar="PROGRAM")
    parser.add_argument("--shim", type=Path, metavar="LIBRARY")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument(
        "--windows",
        type=lambda words: [int(word) for word in words.split(",")],
        default=WINDOWS_KB,
        metavar="K,K...",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
