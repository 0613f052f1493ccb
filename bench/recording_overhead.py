"""What recording with tracefs costs a cold start: pairs of runs with and without the recorder.

Both runs of a pair are the same in everything else: read_ahead_kb=0, caches dropped and proven
cold, the command held before its exec. Which of the two comes first alternates. Needs root.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from foreread.boards.base.interrupts import orderly_exit
from foreread.boards.device import Devices
from foreread.tracer.backends import tracefs_mount
from foreread.tracer.backends.base import WANTED_EVENTS
from foreread.tracer.backends.tracefs import TracefsBackend
from foreread.tracer.local.journal import Journal
from foreread.tracer.local.run import run_cold
from foreread.tracer.runs.options import RunOptions

IMPORTS = (
    "argparse, ast, asyncio, base64, bz2, calendar, cmd, code, colorsys, concurrent.futures,"
    "configparser, contextlib, csv, ctypes, curses, dataclasses, datetime, decimal, difflib, dis,"
    "doctest, email.message, ftplib, gzip, hashlib, http.client, http.server, imaplib, inspect,"
    "ipaddress, json, logging.config, lzma, mailbox, multiprocessing.pool, netrc, optparse,"
    "pathlib, pdb, pickle, plistlib, poplib, pprint, pydoc, queue, random, sched, secrets, shelve,"
    "smtplib, socketserver, sqlite3, ssl, statistics, string, subprocess, tarfile, tempfile,"
    "tkinter.ttk, trace, turtle, typing, unittest.mock, urllib.request, uuid, wave,"
    "xml.dom.minidom, xml.etree.ElementTree, xmlrpc.client, zipfile"
)
CODE = f"""
for name in {IMPORTS!r}.split(","):
    try:
        __import__(name.strip())
    except ImportError:
        pass
"""


@dataclass(frozen=True)
class Cost:
    wall_s: float
    cpu_s: float  # of the command and its children


def plain(options: RunOptions) -> Cost:
    before_s = _children_cpu_s()
    run = run_cold(options, begin=lambda: None, end=lambda: None)
    return Cost(run.seconds, _children_cpu_s() - before_s)


def recorded(options: RunOptions, buffer_kib: int) -> tuple[Cost, int]:
    """Return what the run cost and how many events were lost."""
    before_s = _children_cpu_s()
    backend = TracefsBackend()
    with tracefs_mount.mounted() as place:
        events, _ = tracefs_mount.available(place, WANTED_EVENTS)
    with tempfile.TemporaryDirectory() as directory:
        try:
            run = run_cold(
                options,
                begin=lambda: backend.start(Path(directory), events, buffer_kib),
                end=backend.stop,
            )
        finally:
            lost = sum(backend.stop().lost.values())
    return Cost(run.seconds, _children_cpu_s() - before_s), lost


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(pairs: int, wait_s: float, progress: Callable[[str], None]) -> dict[str, object]:
    options = RunOptions([shutil.which("python3") or sys.executable, "-W", "ignore", "-c", CODE])
    with_recorder: list[Cost] = []
    without: list[Cost] = []
    lost = 0
    with Journal(wait_s=wait_s) as journal:
        devices = Devices()
        journal.set_all([(knob, "0") for knob in devices.read_ahead_knobs(devices.mounted())])
        plain(options)  # the first run is slower
        for pair in range(pairs):
            for traced in (True, False) if pair % 2 else (False, True):
                if traced:
                    cost, missed = recorded(options, 32 << 10)
                    with_recorder.append(cost)
                    lost += missed
                else:
                    without.append(plain(options))
            progress(f"pair {pair + 1}/{pairs}: {without[-1]} {with_recorder[-1]}")
    return {**figures(with_recorder, without), "events_lost": lost, "target": 1.05}


def figures(with_recorder: list[Cost], without: list[Cost]) -> dict[str, object]:
    """Return medians and paired ratios; CPU time shows the recorder's cost on a busy machine."""
    pairs = list(zip(with_recorder, without, strict=True))
    wall = [a.wall_s / b.wall_s for a, b in pairs]
    extra_cpu = [(a.cpu_s - b.cpu_s) / b.wall_s for a, b in pairs]
    return {
        "pairs": len(pairs),
        "seconds_recorded_median": median(a.wall_s for a, _ in pairs),
        "seconds_plain_median": median(b.wall_s for _, b in pairs),
        "ratio_of_minima": min(a.wall_s for a, _ in pairs) / min(b.wall_s for _, b in pairs),
        "paired_ratio_median": median(wall),
        "paired_ratio_quartiles": quantiles(wall, n=4),
        "cpu_seconds_recorded_median": median(a.cpu_s for a, _ in pairs),
        "cpu_seconds_plain_median": median(b.cpu_s for _, b in pairs),
        "extra_cpu_of_wall_median": median(extra_cpu),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=21)
    parser.add_argument("--wait", type=float, default=60.0, help="for another foreread, seconds")
    args = parser.parse_args()
    with orderly_exit():
        result = measure(args.pairs, args.wait, lambda line: print(line, file=sys.stderr))
    print(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
