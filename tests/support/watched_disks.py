"""Disks that nobody else uses under load, watched: for tests of fingerprints."""

from __future__ import annotations

import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loop_devices import attached

from tracer.remote.watch import WatchOptions, parse_period

WINDOW_KB = 84  # set before a test; nothing else on the machine has it
WAIT_S = 120.0  # for another foreread on this machine
FEW_S = 150.0  # what anything here takes at most, so that two of them end before the test's limit
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
    end = time.monotonic() + FEW_S
    while not any(fact.key == key for fact in said):
        assert time.monotonic() < end, said
        said += watch.news()
    return said


def whole_period(watch):
    """Return the second period with a workload: in the midst of the first one the load began."""
    seen = []
    while len(seen) < 2:
        periods = [parse_period(fact) for fact in until(watch, "period") if fact.key == "period"]
        seen += [period for period in periods if period.fingerprint]
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
        wait_s=WAIT_S,
    )


def eventually(get, wanted):
    end = time.monotonic() + FEW_S
    while get() != wanted and time.monotonic() < end:
        time.sleep(0.1)
    return get() == wanted


def plans(loop, **windows):
    return {name.replace("_", "-"): [(str(loop.knob), str(kb))] for name, kb in windows.items()}
