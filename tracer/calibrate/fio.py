"""Runs fio on a target: read-only, past the page cache, one pattern at a time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from foreread.boards.base.units import MIB
from foreread.boards.target import Target
from foreread.tracer.error import TracerError

UNLIMITED_KIB = 1 << 20  # more than any disk takes
SMALLEST_BYTES = 16 << 20  # of the read area: a smaller one would be read again and again
_HERE = Path(__file__).parent
_MOST_ANSWER = 1 << 16  # bytes of place.sh's output
_START_S = 60.0  # a slow board takes long to start fio, and to complete requests in flight


class CalibrateError(TracerError, RuntimeError):
    """A disk that could not be measured; ``remedy`` says what to do."""


@dataclass(frozen=True)
class Place:
    """What is read: ``path``, a block device or a file, of ``size`` bytes, on ``disk`` if known.

    The disk takes requests of ``largest_kib`` at most (max_sectors_kb).
    """

    path: str
    size: int
    disk: str
    kernel: str
    fio: str
    largest_kib: int = UNLIMITED_KIB


@dataclass(frozen=True)
class Job:
    """Requests of ``kib``, in order or at random, ``depth`` at a time, for ``seconds``."""

    kib: int
    sequential: bool
    depth: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Seen:
    """Each request of a job: when it completed (ns, whole milliseconds), and how long it took (ns).

    In order of completion, without the requests in flight when the job's time expired: fio notices
    these only when all are done.
    """

    job: Job
    done_ns: npt.NDArray[np.float64]
    latency_ns: npt.NDArray[np.float64]


def find_place(target: Target, place: str) -> Place:
    """Return the disk or file that ``place`` is on the target; raises CalibrateError."""
    done = target.run(["sh", "-c", _script("place.sh"), "sh", place], timeout_s=_START_S)
    lines = os.fsdecode(done.stdout[:_MOST_ANSWER]).splitlines()
    facts = dict(line.partition(" ")[::2] for line in lines)
    path, size = facts.get("path", ""), facts.get("bytes", "")
    if not facts.get("fio"):
        raise CalibrateError(
            "fio is not installed there",
            "install it (Debian: apt install fio), or give the disk's figures by hand: "
            "docs/howto/disk-cost.md",
        )
    if not path or not size.isdecimal():
        raise CalibrateError(
            f"{place} is not a disk, and contains no file that could be read instead",
            "name a block device, a large file, or a directory on the disk",
        )
    if int(size) < SMALLEST_BYTES:
        raise CalibrateError(
            f"{path}: {int(size):,} bytes are too few to measure a disk",
            f"name the disk, or a file of at least {SMALLEST_BYTES // MIB} MiB",
        )
    kernel = facts.get("kernel", "") or "unknown"
    largest = facts.get("largest", "")
    largest_kib = int(largest) if largest.isdecimal() else UNLIMITED_KIB
    return Place(path, int(size), facts.get("disk", ""), kernel, facts["fio"], largest_kib)


def measure(target: Target, place: Place, job: Job, start: float = 0.0) -> Seen:
    """Run a job, a sequential one from the fraction ``start`` of the place on; or
    CalibrateError."""
    command = ["sh", "-c", _script("job.sh"), "sh", *_arguments(place, job, start)]
    done = target.run(command, timeout_s=job.seconds + _START_S)
    if done.status != 0:
        text = os.fsdecode(done.stderr).strip().splitlines()
        raise CalibrateError(
            f"fio could not read {place.path}: {text[-1] if text else f'status {done.status}'}",
            "run as root, on a disk or file that may be read past the page cache (O_DIRECT)",
        )
    return parse(job, done.stdout)


def parse(job: Job, answer: bytes) -> Seen:
    """Parse a job's output; raises CalibrateError."""
    try:
        report, log = answer.split(b"\n", 1)
        ended = msgspec.json.decode(report.removeprefix(b"report "), type=_Report)
        if not ended.jobs or ended.jobs[0].error:
            raise ValueError("the job failed")
        lines = log.decode().splitlines()
        if not lines or not lines[0]:
            raise ValueError("no request completed")
        rows = np.loadtxt(lines, delimiter=",", usecols=(0, 1), ndmin=2, comments=None)
        if not np.isfinite(rows).all() or (rows < 0).any():
            raise ValueError("invalid times")
    except (ValueError, msgspec.DecodeError) as error:
        raise CalibrateError(
            f"cannot parse the output of fio: {error}", "use fio 3.16 or later"
        ) from error
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    within = rows[rows[:, 0] <= job.seconds * 1000]
    chosen = within if len(within) else rows[:1]
    return Seen(job, chosen[:, 0] * 1e6, chosen[:, 1])


class _Ended(msgspec.Struct):
    error: int


class _Report(msgspec.Struct):
    jobs: list[_Ended]


def _arguments(place: Place, job: Job, start: float) -> Sequence[str]:
    # A colon would name two files.
    name = place.path.replace("\\", "\\\\").replace(":", "\\:")
    engine = ["--ioengine=psync"] if job.depth == 1 else ["--ioengine=libaio"]
    pattern = (
        ["--rw=read", f"--offset={int(place.size * start) >> 20}m"]
        if job.sequential
        else ["--rw=randread", "--norandommap", "--randrepeat=0"]
    )
    return [
        "--name=foreread",
        "--readonly",
        "--direct=1",
        "--allow_file_create=0",
        "--time_based",
        f"--runtime={round(job.seconds * 1000)}ms",
        f"--bs={job.kib}k",
        f"--iodepth={job.depth}",
        f"--filename={name}",
        *engine,
        *pattern,
    ]


def _script(name: str) -> str:
    return (_HERE / name).read_text()
