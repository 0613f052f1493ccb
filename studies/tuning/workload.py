"""Workloads by fio: processes that read and write a file, in order or at random.

IOPerf (section 4) simulates each of its chromosomes so, with iozone and tiobench. The file is read
and written through the page cache, since the window is to matter, and fio gives the kernel no
advice about it; it empties the cache of the file before. What is measured is fio's own time, on an
emulated board the guest's.
"""

from __future__ import annotations

import math
import os
import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from foreread.boards.base.interrupts import uninterrupted
from foreread.boards.target import Target
from foreread.tracer.calibrate.fio import CalibrateError
from foreread.tracer.remote.bios import parse_sums
from foreread.tracer.remote.job import facts, making_sense, script
from foreread.tracer.remote.run_facts import Lines, by_key
from foreread.tracer.runs.knobs import check_value
from foreread.tracer.runs.restored import Restored, unrestored
from foreread.tracer.trials.counters import Counters, change, parse_counters

_MIB = 1 << 20
# A file larger than memory can hold dirty would be needed, if nobody asked for its data to be safe.
_SYNCED_KIB = 4096
_LAYING_S = 3600.0
_ENDS_S = 120.0  # that a run may take longer than it is asked to
_SHOWN = 300  # characters of an error
_LOCK_S = 300  # for another foreread that uses the knobs
_BIOS_KIB = 8192  # of trace, per CPU
_SAFE = "end_fsync=1\n"
_PARTS = ("lib.sh", "held.sh", "tracing.sh", "bios.sh")
_KEYS = ("before", "after")


@dataclass(frozen=True)
class Workload:
    """The workload: Table 1's characteristic parameters; shares in percent."""

    processes: int
    read_share: int
    random_share: int
    request_kib: int


@dataclass(frozen=True)
class Ground:
    """Where it is done: the file ``data`` of ``size_bytes``."""

    data: str
    size_bytes: int


@dataclass(frozen=True)
class Done:
    """The result: bytes read and written in ``seconds``, in so many requests.

    ``latency_s`` is the mean time of a request, with its share of the time to make data safe.
    """

    transferred_bytes: int
    seconds: float
    requests: int
    latency_s: float

    @property
    def bytes_per_second(self) -> float:
        """Productivity."""
        return self.transferred_bytes / self.seconds


@dataclass(frozen=True)
class Seen:
    """What a disk counted meanwhile (counters.py, ``disk.*``), and sums of its bios (bios.py)."""

    counters: Counters
    bios: Mapping[str, int]


def lay_out(target: Target, ground: Ground) -> None:
    """Make the data, unless it is there. Raises CalibrateError, TargetError."""
    have = target.run(["stat", "-c", "%s", ground.data])
    if have.status == 0 and have.stdout.strip() == str(ground.size_bytes).encode():
        return
    count = ground.size_bytes // _MIB
    command = ["dd", "if=/dev/zero", f"of={ground.data}", f"bs={_MIB}", f"count={count}"]
    written = target.run(command, timeout_s=_LAYING_S)
    if written.status or target.run(["sync"], timeout_s=_LAYING_S).status:
        last = os.fsdecode(written.stderr.strip().rpartition(b"\n")[2])
        raise CalibrateError(
            f"{ground.data} cannot be written: {last}", "check its free space and permissions"
        )


def run(
    target: Target,
    ground: Ground,
    workload: Workload,
    seconds: float,
    settings: Sequence[tuple[str, str]] = (),
) -> Done:
    """Run ``workload`` for ``seconds`` under (knob, value) settings, which are restored.

    Raises CalibrateError, also for a setting that the target refuses, RecordError for what is no
    knob, TargetError. Signals wait for the end, so that nothing is left over.
    """
    return _run(target, job_text(ground, workload, seconds), seconds, settings)[0]


def run_watched(
    target: Target,
    ground: Ground,
    workload: Workload,
    seconds: float,
    settings: Sequence[tuple[str, str]],
    disk: str,
) -> tuple[Done, Seen]:
    """Run like ``run``, until all data is safe; return also what ``disk`` counted."""
    job = job_text(ground, workload, seconds) + _SAFE
    done, lines = _run(target, job, seconds, settings, disk)
    with making_sense("what the disk counted"):
        before, after = (parse_counters({f"disk:{disk}": lines[key][0]}) for key in _KEYS)
        return done, Seen(change(before, after), parse_sums(lines["bios"][0]))


def _run(
    target: Target,
    job: str,
    seconds: float,
    settings: Sequence[tuple[str, str]],
    disk: str = "",
) -> tuple[Done, Lines]:
    """Return what fio has done, and the facts that came with it."""
    for knob, value in settings:
        check_value(knob, value)
    limit_s = math.ceil(seconds + _ENDS_S)
    words = [str(limit_s), *(word for setting in settings for word in setting)]
    with uninterrupted():
        answer = target.run(
            ["sh", "-c", shell_text(disk), "sh", *words],
            stdin=job.encode(),
            timeout_s=_LOCK_S + 2.0 * limit_s,
        )
    header, measured, report = answer.stdout.partition(b"measured\n")
    lines = by_key(facts(header))
    if not measured:
        output = "".join(lines["error"][:1]) or os.fsdecode(answer.stderr).strip() or "it was ended"
        message, _, remedy = output[:_SHOWN].partition("|")
        raise CalibrateError(
            f"the workload did not run: {message}", remedy or "run its job by hand with fio"
        )
    with making_sense("reading its settings"):
        restored = [Restored(*line.split("\t")) for line in lines["restored"]]
    if problems := unrestored(restored):
        raise CalibrateError("; ".join(problems), "put it back by hand")
    return parse(report), lines


def shell_text(disk: str, folder: str = "") -> str:
    """Return the script of a run that watches ``disk``, "" for none, in a folder of its own."""
    variables = {
        "resident_job": folder or f"/run/foreread-{secrets.token_hex(8)}",
        "lock_wait_s": str(_LOCK_S),
        "watched": disk,
        "buffer_kib": str(_BIOS_KIB),
    }
    head = "\n".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
    return "\n".join([head, script(_PARTS), Path(__file__).with_suffix(".sh").read_text()])


def job_text(ground: Ground, workload: Workload, seconds: float) -> str:
    """Return the job file; raises CalibrateError for what fio could not do."""
    if not (ground.data.startswith("/") and ground.data.isprintable()):
        raise CalibrateError(f"{ground.data!r} is not a path of a file", "give an absolute one")
    request_kib = max(workload.request_kib, 1)
    share = ground.size_bytes // workload.processes // _MIB * _MIB
    if share < request_kib << 10:
        raise CalibrateError(
            f"{ground.size_bytes:,} bytes are too few for {workload.processes} processes",
            "make the file larger",
        )
    name = ground.data.replace("\\", "\\\\").replace(":", "\\:")
    lines = [
        "[workload]",
        f"filename={name}",
        f"size={share}",
        f"offset_increment={share}",
        f"numjobs={workload.processes}",
        "group_reporting=1",
        "ioengine=psync",
        "fadvise_hint=0",
        "invalidate=1",
        "allow_file_create=0",
        "rw=randrw",
        f"rwmixread={workload.read_share}",
        f"percentage_random={workload.random_share}",
        "norandommap=1",
        f"bs={request_kib}k",
        f"fdatasync={max(_SYNCED_KIB // request_kib, 1)}",
        "time_based=1",
        f"runtime={round(seconds * 1000)}ms",
    ]
    return "\n".join([*lines, ""])


def parse(report: bytes) -> Done:
    """Parse fio's report; raises CalibrateError."""
    try:
        # Warnings may stand before it.
        jobs = msgspec.json.decode(report[report.index(b"{") :], type=_Report).jobs
        if len(jobs) != 1 or jobs[0].error:
            raise ValueError("the job failed")
        return _done(jobs[0])
    except (ValueError, msgspec.DecodeError, RecursionError) as error:
        raise CalibrateError(
            f"cannot parse the output of fio: {error}", "use fio 3.16 or later"
        ) from error


class _Latency(msgspec.Struct, rename={"count": "N"}):
    mean: float = 0.0
    count: int = 0  # of syncs there is no other: fio 3.33 forgets their total_ios


class _Part(msgspec.Struct):
    """One direction of transfer, or the syncs, which have neither bytes nor runtime."""

    total_ios: int
    io_bytes: int = 0
    runtime: int = 0  # ms
    lat_ns: _Latency = msgspec.field(default_factory=_Latency)


class _Job(msgspec.Struct):
    error: int
    read: _Part
    write: _Part
    sync: _Part


class _Report(msgspec.Struct):
    jobs: list[_Job]


def _done(job: _Job) -> Done:
    transfers: Sequence[_Part] = (job.read, job.write)
    requests = sum(part.total_ios for part in transfers)
    milliseconds = max(part.runtime for part in transfers)
    latencies = [part.lat_ns for part in (*transfers, job.sync)]
    spent_ns = sum(latency.count * latency.mean for latency in latencies)
    if requests < 1 or milliseconds < 1 or not 0 <= spent_ns < float("inf"):
        raise ValueError("no request completed")
    return Done(
        transferred_bytes=sum(part.io_bytes for part in transfers),
        seconds=milliseconds / 1000,
        requests=requests,
        latency_s=spent_ns / requests / 1e9,
    )
