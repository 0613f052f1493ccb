"""How exact foreread's predictions are: records, sweeps, compares, and prints the tables.

    python -m studies.accuracy.run [-o DIR] [--only AREA[/NAME]]... [--list | --judge-again]

Each cell is kept in DIR as it is finished, and not made again. --judge-again predicts anew from the
captures that DIR has, with this foreread's models, and measures nothing. README.md says what each
area is.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from studies.accuracy import (
    kernel_cells,
    on_boards,
    on_disks,
    on_filesystems,
    on_kernel,
    on_kernels,
    on_loads,
    on_machine,
    on_memory,
    on_reclaim,
    on_small_boards,
    tables,
)
from studies.accuracy.loop_board import LoopBoard
from studies.accuracy.store import Cell, Document, Store, chosen

ROOT = Path(__file__).parents[2]


def all_cells(live: on_boards.Live, loop: LoopBoard) -> list[Cell]:
    """Return every cell there is, in the order in which they are made."""
    on_this = [*on_machine.cells(loop), *on_kernel.cells(loop)]
    on_board = [*on_boards.cells(live), *on_disks.cells(live), *on_kernels.cells(live)]
    beside = [*on_loads.cells(live, loop), *on_memory.cells(loop), *on_reclaim.cells(live)]
    small = on_small_boards.cells(live)
    return [
        *on_this,
        *on_board,
        *on_filesystems.cells(live),
        *kernel_cells.cells(live),
        *beside,
        *small,
    ]


def make(cell: Cell, store: Store) -> Document:
    """Return the result of a cell, from now or before."""
    document = store.finished(cell)
    if document is not None:
        return document
    why = cell.missing()
    if why is not None:
        return {"skipped": why}
    print(f"{datetime.now():%H:%M} {cell.id}: {cell.title}", file=sys.stderr, flush=True)
    begin = time.monotonic()
    try:
        document = cell.run(store.work(cell))
    except (OSError, ValueError, RuntimeError, subprocess.SubprocessError) as error:
        return {"skipped": f"failed: {error}"}
    facts = {
        "title": cell.title,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "foreread": version(),
        "host_kernel": os.uname().release,
        "took_s": round(time.monotonic() - begin, 1),
    }
    store.keep(cell, facts | document)
    return facts | document


def judge_again(cell: Cell, store: Store) -> Document:
    """Return a cell of seconds with its stored captures compared anew with its stored runs."""
    kept = store.finished(cell) or {}
    if cell.judge is None or not any(store.work(cell).glob("*sweep.json")):
        return kept or {"skipped": "nothing measured that could be judged again"}
    document = kept | {"judged_by": version()} | cell.judge(store.work(cell))
    store.keep(cell, document)
    return document


def version() -> str:
    """Return the commit that this is, and whether files differ from it."""
    line = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def main() -> int:
    """Make the selected cells, and print the tables of all stored cells."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("accuracy-out"), metavar="DIR")
    parser.add_argument("--only", action="append", default=[], metavar="AREA[/NAME]")
    parser.add_argument("--list", action="store_true", help="name the cells, and make none")
    parser.add_argument("--judge-again", action="store_true", help="predict anew, measure nothing")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    live, loop = on_boards.Live(), on_machine.board()
    store = Store(args.output.absolute())
    only = [word for text in args.only for word in text.split(",") if word]
    cells = all_cells(live, loop)
    selected = chosen(cells, only)
    if not selected:
        parser.error(f"--only {' '.join(only)}: no such cell; --list names them")
    if args.list:
        print("\n".join(f"{cell.id}: {cell.title}" for cell in selected))
        return 0
    results = []
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # boards and mounts are undone, too
    try:
        for cell in selected:
            results.append((cell, (judge_again if args.judge_again else make)(cell, store)))
    except KeyboardInterrupt:
        return 130
    finally:
        live.end()
        loop.end()
    report = tables.text(results)
    (args.output / "accuracy.md").write_text(report + "\n")
    document = {cell.id: result for cell, result in results}
    (args.output / "accuracy.json").write_text(json.dumps(document, indent=1) + "\n")
    print(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
