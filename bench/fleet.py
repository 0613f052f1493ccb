"""Captures a second, parallel efficiency and memory of ``fleet analyse``. Prints JSON.

    python bench/fleet.py                        # 64 captures of 51,919 events, one and two workers
    python bench/fleet.py --captures 2000        # what a fleet of boards sends in a few minutes
    python bench/fleet.py --dask                 # the same on a Dask cluster of this machine

The captures are copies of the shipped one with another board, command and day each, so that no two
have the same content. Each worker has one processor, with its reader and a share of the driver: a
run of N workers is held to N processors. Efficiency is the time of one worker, divided by the time
of all and their number. The peer is one process that predicts the same captures one after the
other, as ``foreread predict`` does, without a store.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests/support")]

from dask_clusters import cluster  # noqa: E402
from fleet_captures import LARGE, Original, day  # noqa: E402

BOARDS, STARTS = 10, 20
_PEER = 16  # captures
_ANALYSE = """
import json, sys
from foreread import fleet_analyse
found = fleet_analyse([sys.argv[1]], sys.argv[2], **json.loads(sys.argv[3]))
print(found.to_json())
"""


def make(folder: Path, number: int) -> None:
    """Write captures of several boards and starts."""
    source = Original(LARGE)
    for each in range(number):
        board, start = f"board-{each % BOARDS}", f"app-{each // BOARDS % STARTS}"
        path = folder / board / start / f"{each}.capture.tar.xz"
        host = {"nodename": board}
        source.write(
            path, created=day(each), command=[start], host=host, wall_seconds=3.667 + each / 1e6
        )


def analysed(captures: Path, store: Path, **options: Any) -> dict[str, Any]:
    """Return the figures of one run, in a process of its own."""
    began, peaks = time.monotonic(), Peaks()
    with subprocess.Popen(
        [sys.executable, "-c", _ANALYSE, str(captures), str(store), json.dumps(options)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    ) as process:
        while process.poll() is None:
            peaks.look(process.pid)
            time.sleep(1)
        figures = json.loads(process.stdout.read()) if process.stdout else {}
    seconds = time.monotonic() - began
    return {
        "workers": figures["workers"],
        "captures": figures["analysed"],
        "errors": figures["errors"],
        "seconds": round(seconds, 2),
        "captures_per_second": round(figures["analysed"] / seconds, 3),
        "captures_per_cpu_second": round(figures["analysed"] / figures["cpu_seconds"], 3),
        "peak_mib": peaks.mib,
    }


class Peaks:
    """The largest resident memory of processes by kind, in MiB: driver, analysis, reader, worker.

    The analysis is the child process of a batch; its own child reads the capture.
    """

    def __init__(self) -> None:
        self.mib: dict[str, int] = {}

    def look(self, driver: int) -> None:
        """Look at all processes of this user once."""
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                if kind := self._kind(place, driver):
                    lines = (place / "status").read_text().splitlines()
                    peak = next(
                        (int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0
                    )
                    self.mib[kind] = max(self.mib.get(kind, 0), peak >> 10)

    def _kind(self, place: Path, driver: int) -> str:
        if int(place.name) == driver:
            return "driver"
        words = (place / "cmdline").read_bytes()
        if b"dask_worker" in words:
            return "worker"
        if b"foreread.analyzer.fleet.child" not in words:
            return ""
        parent = (place / "stat").read_text().rpartition(")")[2].split()[1]
        above = Path("/proc", parent, "cmdline").read_bytes()
        return "reader" if b"foreread.analyzer.fleet.child" in above else "analysis"


def peer(captures: Path) -> dict[str, Any]:
    """Return how fast one process predicts the captures without a fleet."""
    from foreread import load, predict  # noqa: PLC0415

    some = sorted(captures.rglob("*.tar.xz"))[:_PEER]
    began = time.monotonic()
    for path in some:
        predict(load(path))
    seconds = time.monotonic() - began
    return {"captures": len(some), "captures_per_second": round(len(some) / seconds, 3)}


def cpu_seconds() -> float:
    """Return the processor time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextlib.contextmanager
def held_to(processors: int) -> Iterator[None]:
    """Hold this process, and those that it starts in the block, to the first processors."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:processors])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def runs(captures: Path, workers: int, dask: bool, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the figures with one worker, and with all."""
    for number in sorted({1, workers}):
        store, before = folder / f"store-{number}", cpu_seconds()
        with held_to(number), contextlib.ExitStack() as stack:
            if dask:
                made = stack.enter_context(cluster(folder, number))
                figures = analysed(captures, store, dask=made.address)
            else:
                figures = analysed(captures, store, jobs=number)
        whole = cpu_seconds() - before  # of driver, scheduler and workers, too
        rate = round(figures["captures"] / whole, 3)
        share = round(figures["captures"] / figures["captures_per_cpu_second"] / whole, 3)
        yield figures | {"captures_per_cpu_second_of_all": rate, "analysis_share_of_cpu": share}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--captures", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--dask", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder / "captures", args.captures)
        load_before = os.getloadavg()
        alone = peer(folder / "captures")
        figures = list(runs(folder / "captures", args.workers, args.dask, folder))
        serial, parallel = figures[0], figures[-1]
        efficiency = (
            serial["seconds"] / parallel["seconds"] / parallel["workers"] * serial["workers"]
        )
        result = {
            "engine": "dask" if args.dask else "local",
            "processors": len(os.sched_getaffinity(0)),
            "load_before": [round(each, 2) for each in load_before],
            "load_after": [round(each, 2) for each in os.getloadavg()],
            "peer": alone,
            "runs": figures,
            "efficiency": round(efficiency, 3),
        }
        print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
