"""Seconds of a whole prediction from captures of 1e4 to 1e6 events. Prints JSON.

    python bench/scaling.py                  # the shipped capture, repeated
    python bench/scaling.py --capture DIR    # another one
    python bench/scaling.py --trace FILE     # and trace-cmd report against the fixed model

A capture of N events is the start in the given one again and again, each time with other threads
(but for the first), other inodes and at a later time. Each figure is of a process of its own, start
of Python included; parts (load, follow, steps, replay) are CPU seconds within one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from foreread.analyzer.ingest import tracefs
from foreread.analyzer.ingest.archive import unpack
from foreread.analyzer.ingest.fields import FieldReader
from foreread.analyzer.ingest.formats import Formats
from foreread.analyzer.ingest.ring import Layout, RingBuffers
from foreread.analyzer.ingest.spec import EVENT_SPECS

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples/python-start/python-start.capture.tar.xz"
SIZES = (10_000, 30_000, 50_000, 100_000, 300_000, 1_000_000)
SYSTEMS = ("syscalls:", "task:")
WINDOWS = "0-80"
DEVICE = 'kind = "fixed"\nlatency_us = 100\nns_per_kib = 1000\n'
PIDS = ("common_pid", "prev_pid", "next_pid", "child_pid", "parent_pid", "pid", "old_pid")
INODES = ("i_ino",)
STRIDE = {"pid": 1 << 20, "ino": 1 << 32}
PARTS = """
import json, sys, time
from pathlib import Path
from foreread.analyzer.predict.disk.device_model import read_device_model
from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.inputs import inputs
from foreread.analyzer.predict.start import prepare
from foreread.emulator.linux.rules import version_of

def part(name, work):
    begin = time.process_time()
    result = work()
    parts[name] = round(time.process_time() - begin, 4)
    return result

parts = {}
recording = part("load", lambda: load(Path(sys.argv[1])))
version = version_of(recording.kernel)
taken = part("follow", lambda: inputs(recording, version))
device = read_device_model(sys.argv[2])
start = part("steps", lambda: prepare(taken, version, device))
part("replay", lambda: start.timed(list(range(21))))
print(json.dumps({"steps": len(start.run.steps), "cpu_seconds": parts}))
"""


def rings_of(trace: Path) -> RingBuffers:
    """The ring buffers of a capture's directory of pages, as tracefs.read opens them."""
    layout = Layout.parse(tracefs._header_page(trace))
    data, streams, *_ = tracefs._load(tracefs._pages(trace), layout)
    formats = Formats(tracefs._formats(trace), byte_order="little", long_size=layout.commit_size)
    return RingBuffers(data, streams, formats)


class Original:
    """A capture of raw pages: where the numbers are that tell one start from another."""

    def __init__(self, capture: Path) -> None:
        self.capture = capture
        self.rings = rings_of(capture / "trace")
        self.data = np.frombuffer(self.rings.data, np.uint8)
        self.metadata = json.loads((capture / "capture.json").read_text())
        self.files = json.loads((capture / "files.json").read_text())
        entries = self.files["files"] if isinstance(self.files, dict) else self.files
        self.entries = [entry for entry in entries if not entry["dev"].startswith("0:")]
        self.fields = {"pid": self._at(PIDS, 4), "ino": self._at(INODES, 8)}
        events, _ = self.rings.events()
        span = (events["time_ns"] >= self.metadata["start_ns"]) & (
            events["time_ns"] < self.metadata["end_ns"]
        )
        self.events = int(span.sum())
        self.period = self.metadata["end_ns"] - self.metadata["start_ns"]

    def _at(self, names: tuple[str, ...], size: int) -> Any:
        """Return offsets of the named numbers, without those of the command's first thread."""
        formats, places_of = self.rings.formats, []
        wanted = [n for n in formats.names if n in EVENT_SPECS or n.startswith(SYSTEMS)]
        reader = FieldReader(formats, lambda specs: (None, *self.rings.places(specs)[:2]))
        for name in sorted(wanted):
            _, places = reader._walk([name])
            for field in formats.event(name).fields.values():
                if field.name in names and field.size == size:
                    places_of.append(places["offset"].astype(np.int64) + field.offset)
        at = np.unique(np.concatenate(places_of))
        number = self._numbers(at, size)
        if size == 8:  # the other inodes are those of disks
            return at[np.isin(number, [entry["ino"] for entry in self.entries])]
        return at[(number > 0) & (number != self.metadata["pid"])]

    def _numbers(self, at: Any, size: int) -> Any:
        bytes_of = self.data[at[:, None] + np.arange(size)]
        return np.ascontiguousarray(bytes_of).view(f"<i{size}").ravel()

    def copy(self, number: int) -> Any:
        """Return the pages of the ``number``-th start."""
        data = self.data.copy()
        for name, size in (("pid", 4), ("ino", 8)):
            at = self.fields[name]
            moved = (self._numbers(at, size) + number * STRIDE[name]).astype(f"<i{size}")
            data[at[:, None] + np.arange(size)] = moved[:, None].view(np.uint8).reshape(-1, size)
        page = self.rings.streams[0].layout.subbuf_size
        stamps = np.arange(0, len(data), page)
        time_ns = self._numbers(stamps, 8) + number * self.period
        data[stamps[:, None] + np.arange(8)] = time_ns[:, None].view(np.uint8).reshape(-1, 8)
        return data

    def repeated(self, events: int, to: Path) -> int:
        """Write a capture of about so many events; return how many starts it is of."""
        number = max(round(events / self.events), 1)
        shutil.copytree(self.capture, to)
        pages = tracefs._pages(to / "trace")
        parts = {path: path.open("wb") for path in pages.values()}
        for start in range(number):
            data = self.copy(start)
            for stream, path in zip(self.rings.streams, pages.values(), strict=True):
                parts[path].write(data[stream.offset : stream.offset + stream.size].tobytes())
        for file in parts.values():
            file.close()
        metadata = {**self.metadata, "end_ns": self.metadata["start_ns"] + number * self.period}
        (to / "capture.json").write_text(json.dumps(metadata))
        more = [
            {**entry, "ino": entry["ino"] + start * STRIDE["ino"]}
            for start in range(number)
            for entry in self.entries
        ]
        document = {**self.files, "files": more} if isinstance(self.files, dict) else more
        (to / "files.json").write_text(json.dumps(document))
        return number


def run(*words: str) -> tuple[float, float, int]:
    """Run a process; return seconds, CPU seconds, and its peak memory in KiB."""
    begin = time.perf_counter()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    took = time.perf_counter() - begin
    if status:
        sys.exit(f"{words} failed")
    return took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def measured(capture: Path, device: Path, repeat: int) -> dict[str, object]:
    words = (sys.executable, "-m", "foreread", "predict", str(capture), "--windows", WINDOWS)
    runs = [run(*words, "--device-model", str(device), "--json") for _ in range(repeat)]
    command = [sys.executable, "-c", PARTS, str(capture), str(device)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parts = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return {
        "predict_seconds": round(min(seconds for seconds, _, _ in runs), 3),
        "predict_cpu_seconds": round(min(cpu for _, cpu, _ in runs), 3),
        "peak_rss_mib": max(rss for _, _, rss in runs) // 1024,
        **json.loads(parts.stdout),
    }


def growth(rows: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Return by part how much more an event costs than at the size before."""
    by_part: dict[str, list[float]] = {}
    for before, row in pairwise(rows):
        for name, seconds in row["cpu_seconds"].items():
            each = (seconds / row["events"]) / (before["cpu_seconds"][name] / before["events"])
            by_part.setdefault(name, []).append(round(each, 2))
        cpu = [size["predict_cpu_seconds"] / size["events"] for size in (before, row)]
        by_part.setdefault("predict", []).append(round(cpu[1] / cpu[0], 2))
    return by_part


def against_trace_cmd(file: Path, repeat: int) -> dict[str, object]:
    """Predict a trace.dat with the fixed model, and print it with trace-cmd, in turns."""
    ours, theirs = [], []
    for _ in range(repeat):
        words = (sys.executable, "-m", "foreread", "predict", str(file), "--model", "fixed")
        ours.append(run(*words, "--json")[0])
        theirs.append(run("trace-cmd", "report", "-i", str(file))[0])
    return {
        "bytes": file.stat().st_size,
        "foreread_seconds": [round(s, 3) for s in ours],
        "trace_cmd_report_seconds": [round(s, 3) for s in theirs],
        "ratio": round(min(theirs) / min(ours), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--capture", type=Path)
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="foreread-bench-") as name:
        scratch = Path(name)
        device = scratch / "device.toml"
        device.write_text(DEVICE)
        capture = arguments.capture
        if capture is None:
            capture = unpack(EXAMPLE, scratch)
        original = Original(capture)
        rows: list[dict[str, Any]] = []
        for size in arguments.sizes:
            to = scratch / f"{size}"
            starts = original.repeated(size, to)
            rows.append({"events": starts * original.events, "starts": starts})
            rows[-1] |= measured(to, device, arguments.repeat)
            shutil.rmtree(to)
        result: dict[str, object] = {"sizes": rows, "growth": growth(rows)}
        if arguments.trace is not None:
            result["trace.dat"] = against_trace_cmd(arguments.trace, arguments.repeat)
        print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
