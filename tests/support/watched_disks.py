"""Disks that nobody else uses under load, watched: for tests of fingerprints."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loop_devices import attached
from waiting import left_s, wait_until

from foreread.tracer.remote.watch import WatchOptions, parse_period

WINDOW_KB = 84  # set before a test; nothing else on the machine has it
LOADS = {
    "read-sequential-small": ("read", "4k"),
    "read-random-small": ("randread", "4k"),
    "read-sequential-large": ("read", "128k"),
    "write-random-small": ("randwrite", "4k"),
    "write-random-large": ("randwrite", "64k"),
    "write-sequential-large": ("write", "64k"),
}


@dataclass(frozen=True)
class Disk:
    """A loop device that nobody else uses, and without a file system: its bios are the load's."""

    name: str

    @property
    def knob(self):
        return Path(f"/sys/block/{self.name}/queue/read_ahead_kb")

    def window_kb(self):
        return int(self.knob.read_text())


@contextmanager
def a_disk(directory):
    image = directory / "disk"
    with image.open("wb") as file:
        file.truncate(512 << 20)
    with attached(image) as name:
        disk = Disk(name)
        disk.knob.write_text(str(WINDOW_KB))
        yield disk


@contextmanager
def load(disk, pattern, size):
    """Keep fio busy, some 50 requests a second past the page cache; never twice around the disk."""
    words = [
        "fio", "--name=load", f"--filename=/dev/{disk.name}", "--direct=1", f"--rw={pattern}",
        f"--bs={size}", "--time_based", "--runtime=600", "--ioengine=psync", "--norandommap",
        "--thinktime=20ms",
    ]  # fmt: skip
    fio = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        yield
    finally:
        fio.terminate()
        fio.communicate()


def until(watch, key):
    """Return what was said up to a fact of that key."""
    said = []

    def is_said():
        said.extend(watch.news())
        return any(fact.key == key for fact in said)

    wait_until(is_said, lambda: said)
    return said


def whole_period(watch):
    """Return the second period with a workload: in the midst of the first one the load began."""
    seen = []

    def are_two_seen():
        periods = [parse_period(fact) for fact in watch.news() if fact.key == "period"]
        seen.extend(period for period in periods if period.fingerprint)
        return len(seen) >= 2

    wait_until(are_two_seen, lambda: seen)
    return seen[1]


# Neither throughput nor latency can be so much worse.
NEVER_WORSE = 10**6


def applying(loop, plans, patience, worse_percent=NEVER_WORSE, recheck=60):
    """Return the options of a watch that applies plans by fingerprint."""
    return WatchOptions(
        period_s=1,
        disks=[loop.name],
        least_ios=5,
        plans=plans,
        patience=patience,
        worse_percent=worse_percent,
        recheck=recheck,
        wait_s=left_s(),
    )


def plans(loop, **windows):
    return {name.replace("_", "-"): [(str(loop.knob), str(kb))] for name, kb in windows.items()}
