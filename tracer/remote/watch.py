"""Watches the workload of a machine: a snapshot of its bios every period, and its throughput.

The machine's shell does it (watch.sh), also on this machine, since the watch must continue when
nobody is connected and is not implemented twice. With plans, a plan is in force while its
fingerprint persists; everything is restored at the end.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from foreread.boards.target import Target
from foreread.tracer.error import RecordError
from foreread.tracer.remote.bios import SUMS, parse_sums
from foreread.tracer.remote.guarded_run import losing_no_target
from foreread.tracer.remote.job import Fact, Job, facts, making_sense, script
from foreread.tracer.runs.knobs import check_plan

PARTS = (
    "lib.sh",
    "held.sh",
    "tracing.sh",
    "bios.sh",
    "plans.sh",
    "owned.sh",
    "watch.sh",
)
RESIDENT_JOB = "/run/foreread-resident"
_TELL_S = 5  # maximum wait for news before the lease is renewed
_FINGERPRINT = re.compile(r"(?:read|write)-(?:sequential|random)-(?:small|large)(?:_[0-9]{1,4})?")
_DISK = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.!-]{0,63}")

BY_PROCESS = ("processes", "own_followers", "own_jumps")

Plans = Mapping[str, Sequence[tuple[str, str]]]
Patterns = Mapping[str, tuple[int, int, int, int]]


@dataclass(frozen=True)
class WatchOptions:
    """How to watch.

    ``disks``: names below /sys/block, all if empty. ``plans``: (knob, value) by fingerprint, in
    the order to be written; a fingerprint with "_" and a number is one of ``patterns``, which has
    processes, shares of reads and of random accesses in percent, and KiB of a request.
    ``by_process``: sums by process, too, as patterns need them. ``patience``: periods that a
    fingerprint must persist before its plan is put in force, and that the defaults and the plan run
    before they are compared.
    ``worse_percent``: loss of throughput, or rise of latency, that undoes a plan. ``recheck``:
    periods until the defaults are measured again, or a refused plan is tried again; the number
    doubles as long as the result stays the same; 0: never. ``least_ios``: a period with fewer has
    no workload. ``buffer_kib``: trace buffer per CPU; bios of a second that do not fit are not
    counted. ``wait_s``: maximum wait for another foreread that holds the knobs. ``losses``: what a
    power cut may lose with the plans.
    """

    period_s: int = 10
    disks: Sequence[str] = ()
    plans: Plans = field(default_factory=dict)
    patience: int = 3
    worse_percent: int = 10
    recheck: int = 60
    least_ios: int = 20
    buffer_kib: int = 16
    wait_s: float = 0.0
    losses: Sequence[str] = ()
    patterns: Patterns = field(default_factory=dict)
    by_process: bool = False


@dataclass(frozen=True)
class Period:
    """One period: its fingerprint, empty if there were too few bios, and the snapshot's sums.

    ``own``: the sums by process (BY_PROCESS), empty if they were not wanted.
    """

    fingerprint: str
    sums: Mapping[str, int]
    own: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """A comparison of a fingerprint's plan with the defaults.

    ``why``: throughput or latency if the plan was worse, else empty. Bytes that processes read and
    wrote in a ms of the disks' time, and ms of a request; None if unknown. Under the defaults, and
    under the plan.
    """

    fingerprint: str
    why: str
    throughput: tuple[float | None, float | None]
    latency_ms: tuple[float | None, float | None]


class Watch:
    """A machine that is being watched."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._heard = 0

    def news(self) -> list[Fact]:
        """Return the watcher's new facts; empty if there are none within a few seconds.

        A fact "state over" is the last one. Raises RecordError, TargetError.
        """
        words = ("tell", str(self._heard), str(_TELL_S))
        answer = self._job.raw(*words, step="watching", within_s=_TELL_S).stdout
        self._heard += len(answer.strip(b"\n").splitlines())
        news = facts(answer)
        for fact in news:
            if fact.key == "error":
                message, _, remedy = fact.value.partition("|")
                raise RecordError(message, remedy)
        return news

    def stop(self) -> list[Fact]:
        """Have everything restored; return the watcher's last facts."""
        self._job.ask("stop", step="ending the watch")
        last: list[Fact] = []
        while Fact("state", "over") not in last:
            last += self.news()
        return last


@contextmanager
def watching(
    target: Target, options: WatchOptions, shell: Sequence[str] = ("sh",)
) -> Iterator[Watch]:
    """Watch ``target`` as long as the block lasts. Raises RecordError, TargetError."""
    variables = _variables(options)
    with losing_no_target() as jobs, Job(target, PARTS, shell) as job:
        jobs.append(job)
        job.settings(variables, [])
        job.ask("begin_watch", "-", "watch", step="starting the watch", within_s=_TELL_S)
        yield Watch(job)


def parse_period(fact: Fact) -> Period:
    """Return the period in a fact "period"; raises RecordError."""
    with making_sense("a period"):
        name, *sums = fact.value.split(" ")
        if not (name == "-" or _FINGERPRINT.fullmatch(name)):
            raise ValueError(name)
        own = [int(number) for number in sums[len(SUMS) :]]
        if own and min(own) < 0:
            raise ValueError(fact.value)
        return Period(
            name.removeprefix("-"),
            parse_sums(" ".join(sums[: len(SUMS)])),
            dict(zip(BY_PROCESS, own, strict=True)) if own else {},
        )


def parse_verdict(fact: Fact) -> Verdict:
    """Return the comparison in a fact "undone" or "kept"; raises RecordError."""
    with making_sense("a comparison"):
        name, why, *figures = fact.value.split(" ")
        if not _FINGERPRINT.fullmatch(name) or why not in ("throughput", "latency", "-"):
            raise ValueError(fact.value)
        rate, latency_us, plan_rate, plan_us = (None if x == "-" else int(x) for x in figures)
        ms = [None if us is None else us / 1000 for us in (latency_us, plan_us)]
        return Verdict(name, why.removeprefix("-"), (rate, plan_rate), (ms[0], ms[1]))


def resident_script(options: WatchOptions) -> str:
    """Return the script that watches a board without a host. Raises RecordError."""
    settings = {"resident_job": RESIDENT_JOB, **_variables(options)}
    head = [
        "#!/bin/sh",
        "# shellcheck disable=SC2034,SC2154,SC2209,SC2317,SC3045,SC3067",
        "# Keeps the settings that suit the workload of this board in force; written by foreread.",
        "# usage: foreread-fingerprint start|stop|status|run",
        *(f"# Durability: {loss}." for loss in options.losses),
        *(f"{name}={shlex.quote(value)}" for name, value in settings.items()),
    ]
    return "\n".join([*head, "", script((*PARTS, "resident.sh"))])


def _variables(options: WatchOptions) -> dict[str, str]:
    """Return the settings for the shell, after checking each of them."""
    for disk in options.disks:
        if not _DISK.fullmatch(disk):
            raise RecordError(f"{disk!r} is not a name of a disk", "name one of /sys/block")
    patterns = []
    for name, numbers in options.patterns.items():
        if not _FINGERPRINT.fullmatch(name) or "_" not in name:
            raise RecordError(f"{name!r} is not a pattern", "make the plans again")
        patterns.append(" ".join([name, *(str(int(number)) for number in numbers)]))
    lines = []
    for fingerprint, settings in options.plans.items():
        if not _FINGERPRINT.fullmatch(fingerprint):
            raise RecordError(f"{fingerprint!r} is not a fingerprint", "make the plans again")
        for knob, value in settings:
            check_plan(knob, value)
            lines.append(f"{fingerprint}\t{knob}\t{value}")
    return {
        "period_s": str(options.period_s),
        "watched": " ".join(options.disks),
        "plans": "\n".join(lines),
        "patterns": "\n".join(patterns),
        "by_process": "1" if options.by_process or patterns else "",
        "patience": str(options.patience),
        "worse_percent": str(options.worse_percent),
        "recheck": str(options.recheck),
        "least_ios": str(options.least_ios),
        "buffer_kib": str(options.buffer_kib),
        "lock_wait_s": str(round(options.wait_s)),
    }
