"""Window against prefetch list, measured: cold starts with either, both and neither.

    python -m studies.prefetch.measure -o DIR [--repeat N] [--order access|disk] [--shell]
        [--bytes-per-second N] [--requests-per-second N] [APPLICATION ...]

On a loop device whose reads a cgroup limits (studies/accuracy/loop_board.py). Each application is
recorded once at read_ahead_kb=0; `foreread prefetch` writes its list and predicts the four cases,
which are then run cold, in turn. The replayer and the list are in the image, and reading them
counts. DIR gets for each application its capture, list, prediction and measurement (which
`foreread report --prefetch` takes), and prefetch.json with all of it. Needs root and a C compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from foreread.analyzer.apply.write import REPLAYER_SCRIPT, REPLAYER_SOURCE, shipped
from foreread.boards.base.document import SCHEMA
from foreread.boards.base.interrupts import orderly_exit
from foreread.boards.device import SECTOR_BYTES
from foreread.boards.knobs import READ_AHEAD
from foreread.tracer.local.journal import Journal
from studies.accuracy.loop_board import Limit, LoopBoard, missing
from studies.accuracy.starts import SEEN, Start

Document = dict[str, Any]
_WAIT_S = 600.0  # for another foreread that uses the machine's knobs
PRESENT_KB = 128  # the window of the cases without a proposed one
_FOREREAD = [sys.executable, "-m", "foreread"]
_COLUMNS = ("case", "KiB", "predicted s", "measured s", "from", "to", "requests", "read MiB")


class Board:
    """The loop board with a replayer and a list in its image."""

    def __init__(self, loop: LoopBoard, limit: Limit, shell: bool) -> None:
        self._shell = shell
        self.limit = limit
        self.words = loop.start(limit)
        self._work = Path(self.words[0]).parent
        self._mnt = loop.root
        self.disk = loop.disk
        # As most devices have it; loop devices may take another one from what is below them.
        Path(f"/sys/block/{self.disk}/queue/read_ahead_kb").write_text(str(PRESENT_KB))
        self._start = self._work / "start-prefetched"
        with self._writable():
            (self._mnt / "foreread-prefetch").write_bytes(self._replayer())
            (self._mnt / "foreread-prefetch").chmod(0o755)

    def _replayer(self) -> bytes:
        if self._shell:
            return shipped(REPLAYER_SCRIPT)
        source, program = self._work / REPLAYER_SOURCE, self._work / "foreread-prefetch"
        source.write_bytes(shipped(REPLAYER_SOURCE))
        subprocess.run(
            ["cc", "-std=c11", "-O2", "-static", "-s", "-o", program, source], check=True
        )
        return program.read_bytes()

    @contextmanager
    def _writable(self) -> Iterator[None]:
        for way in ("rw", "ro"):
            if way == "ro":
                yield
            subprocess.run(["mount", "-o", f"remount,{way},noatime", self._mnt], check=True)

    def put(self, listing: bytes) -> list[str]:
        """Put a list into the image; return the words before a command that is to start with it."""
        with self._writable():
            (self._mnt / "foreread-prefetch.list").write_bytes(listing)
        place = shlex.quote(str(self._mnt / "foreread-prefetch"))
        joined = Path(self.words[0]).read_text().rsplit("exec ", 1)
        self._start.write_text(f"{joined[0]}{place} {place}.list >/dev/null &\nexec {joined[1]}")
        self._start.chmod(0o755)
        return [str(self._start)]


def predicted(board: Board, application: Start, order: str, folder: Path) -> Document:
    """Record an application, write its list, and return what is predicted."""
    folder.mkdir(parents=True, exist_ok=True)
    capture, listing = folder / "capture", folder / "list"
    record = [*_FOREREAD, "record", "--wait", str(_WAIT_S), "--allow-warm", "-o", str(capture)]
    command = [*record, "--", *board.words, *application.command]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    device = ["--device-model", str(board.limit.write(folder))]
    words = ["prefetch", str(capture), "-o", str(listing), "--order", order, *device, "--json"]
    done = subprocess.run([*_FOREREAD, *words], check=True, stdout=subprocess.PIPE)
    (folder / "predicted.json").write_bytes(done.stdout)
    prediction: Document = json.loads(done.stdout)
    return prediction


def measured(
    board: Board, application: Start, prediction: Document, listing: bytes, repeat: int
) -> Document:
    """Run the four cases in turn; a first run of each, slower after a mount, is not counted."""
    starts = {False: board.words, True: board.put(listing)}
    rows: list[Document] = [
        {"name": case["name"], "read_ahead_kb": case["read_ahead_kb"]}
        | {"seconds": [], "requests": [], "read_bytes": []}
        for case in prediction["cases"]
    ]
    for turn in range(repeat + 1):
        with Journal(wait_s=_WAIT_S) as journal:  # while no other foreread changes windows
            for row in rows:
                start = starts[row["name"] in ("list", "both")]
                journal.set(f"/sys/block/{board.disk}/{READ_AHEAD}", str(row["read_ahead_kb"]))
                run = _cold_run([*start, *application.command], board.disk)
                if turn:
                    for name, value in run.items():
                        row[name].append(value)
    command = [*board.words, *application.command]
    return {"schema": SCHEMA, "kernel": os.uname().release, "command": command, "cases": rows}


def _cold_run(command: list[str], disk: str) -> Document:
    """Drop caches, run a command to its end, and return its seconds and the disk's reads.

    The bytes read show that the run was cold: they are as many as in the recording, or more.
    """
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3")
    before = _served(disk)
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - begin
    requests, sectors = (b - a for a, b in zip(before, _served(disk), strict=True))
    return {"seconds": seconds, "requests": requests, "read_bytes": sectors * SECTOR_BYTES}


def _served(disk: str) -> tuple[int, int]:
    """Return the reads that a disk has served, and their sectors (iostats.rst)."""
    fields = Path(f"/sys/block/{disk}/stat").read_text().split()
    return int(fields[0]), int(fields[2])


def table(application: str, prediction: Document, measurement: Document) -> str:
    """Return the four cases side by side."""
    rows = [_COLUMNS]
    for case, runs in zip(prediction["cases"], measurement["cases"], strict=True):
        seconds = runs["seconds"]
        times = (median(seconds), min(seconds), max(seconds))
        guess = "-" if case["seconds"] is None else f"{case['seconds']:.2f}"
        read = median(runs["read_bytes"]) / (1 << 20)
        figures = (*(f"{s:.2f}" for s in times), f"{median(runs['requests']):.0f}", f"{read:.1f}")
        rows.append((case["name"], str(case["read_ahead_kb"]), guess, *figures))
    widths = [max(len(row[at]) for row in rows) for at in range(len(_COLUMNS))]
    lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([f"{application}: list of {prediction['bytes'] / (1 << 20):.1f} MiB", *lines])


def main() -> None:
    """Measure the applications named, or all."""
    args = _arguments()
    if why := missing():
        sys.exit(f"no loop board can be made here: {why}")
    name = f"{args.bytes_per_second}-{args.requests_per_second}"
    limit = Limit(name, args.bytes_per_second, args.requests_per_second)
    loop = LoopBoard(sorted({name for start in SEEN for name in start.packages}), _fill)
    with orderly_exit():
        try:
            board = Board(loop, limit, args.shell)
            applications = [
                _compared(board, application, args) for application in _chosen(args.applications)
            ]
        finally:
            loop.end()
    document = {
        "schema": SCHEMA,
        "limit": vars(limit),
        "shell": args.shell,
        "applications": applications,
    }
    (args.output / "prefetch.json").write_text(json.dumps(document, indent=1) + "\n")


def _fill(tree: Path) -> None:
    """Put in what the applications work on."""
    (tree / "a.c").write_text("#include <stdio.h>\nint main(void) { return 0; }\n")


def _chosen(names: list[str]) -> list[Start]:
    return [start for start in SEEN if not names or start.name in names]


def _compared(board: Board, application: Start, args: argparse.Namespace) -> Document:
    """Predict and measure one application, and print the four cases."""
    folder = args.output / application.name
    prediction = predicted(board, application, args.order, folder)
    listing = (folder / "list").read_bytes()
    times = measured(board, application, prediction, listing, args.repeat)
    (folder / "measured.json").write_text(json.dumps(times, indent=1) + "\n")
    print(table(application.name, prediction, times), end="\n\n", flush=True)
    return {"name": application.name, "predicted": prediction, "measured": times}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("applications", nargs="*", metavar="APPLICATION")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--order", choices=("access", "disk"), default="access")
    parser.add_argument("--shell", action="store_true", help="replay by the shell script")
    parser.add_argument("--bytes-per-second", type=int, default=10_000_000)
    parser.add_argument("--requests-per-second", type=int, default=1000)
    return parser.parse_args()


if __name__ == "__main__":
    main()
