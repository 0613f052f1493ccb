"""What recording with tracefs costs a cold start: pairs of runs with and without the recorder.

Both runs of a pair are the same in everything else: read_ahead_kb=0, caches dropped and proven
cold, the command held before its exec. Which of the two comes first alternates. Needs root.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

from boards.device import Devices
from tracer import tracefs
from tracer.backends.base import WANTED_EVENTS
from tracer.backends.tracefs import TracefsBackend
from tracer.interrupts import orderly_exit
from tracer.journal import Journal
from tracer.run import Run, RunOptions, run_cold

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


def plain(options: RunOptions) -> Run:
    return run_cold(options, begin=lambda: None, end=lambda: None)


def recorded(options: RunOptions, buffer_kib: int) -> tuple[Run, int]:
    """Return the run and how many events were lost."""
    backend = TracefsBackend()
    with tracefs.mounted() as place:
        events, _ = tracefs.available(place, WANTED_EVENTS)
    with tempfile.TemporaryDirectory() as directory:
        try:
            run = run_cold(
                options,
                begin=lambda: backend.start(Path(directory), events, buffer_kib),
                end=backend.stop,
            )
        finally:
            lost = sum(backend.stop().lost.values())
    return run, lost


def measure(pairs: int, wait_s: float, progress: Callable[[str], None]) -> dict[str, object]:
    options = RunOptions([shutil.which("python3") or sys.executable, "-W", "ignore", "-c", CODE])
    with_recorder, without, lost = [], [], 0
    with Journal(wait_s=wait_s) as journal:
        devices = Devices()
        for knob in devices.read_ahead_knobs(devices.mounted()):
            journal.set(knob, "0")
        plain(options)  # the first run is slower
        for pair in range(pairs):
            for traced in (True, False) if pair % 2 else (False, True):
                if traced:
                    run, missed = recorded(options, 32 << 10)
                    with_recorder.append(run.seconds)
                    lost += missed
                else:
                    without.append(plain(options).seconds)
            progress(f"pair {pair + 1}/{pairs}: {without[-1]:.3f} {with_recorder[-1]:.3f}")
    ratios = [a / b for a, b in zip(with_recorder, without, strict=True)]
    return {
        "pairs": pairs,
        "seconds_recorded_median": median(with_recorder),
        "seconds_plain_median": median(without),
        "ratio_of_medians": median(with_recorder) / median(without),
        "paired_ratio_median": median(ratios),
        "paired_ratio_quartiles": quantiles(ratios, n=4),
        "events_lost": lost,
        "target": 1.05,
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
