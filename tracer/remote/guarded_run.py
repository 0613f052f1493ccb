"""One cold run of a command on a target, owned by a guard there: start, wait, fetch the output."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from foreread.boards.target import TargetError
from foreread.tracer.error import RecordError
from foreread.tracer.remote.job import Job
from foreread.tracer.remote.machine import Machine
from foreread.tracer.runs.knobs import KnobRefused, check_value
from foreread.tracer.runs.options import RunOptions, Streams

PARTS = ("lib.sh", "held.sh", "tracing.sh", "disks.sh", "memory.sh", "guarded.sh")
AWAIT_S = 5  # maximum wait for the target before the lease is renewed
_OUTPUT_BYTES = 1 << 20  # of each stream of the command that are kept


class NotOverError(TargetError):
    """A run that exceeded its limit, on a target that answers."""


def settings(
    machine: Machine, run: RunOptions, wait_s: float, knobs: Sequence[tuple[str, str]] = ()
) -> dict[str, str]:
    """Return the shell variables that describe the run and its settings to the target."""
    ending = run.ending
    return {
        "knobs": knobs_text(knobs),
        "all_knobs": "",
        "allowed_kib": str(machine.allowed_kib),
        "allow_warm": "yes" if run.allow_warm else "",
        "keep_running": "yes" if run.keep_running else "",
        "directory": directory(run),
        "user": run.user or "",
        "duration_s": "" if ending.duration_s is None else f"{ending.duration_s:.3f}",
        "idle_cs": "" if ending.idle_ms is None else str(max(1, round(ending.idle_ms / 10))),
        "until_output": ending.output or "",
        "output_bytes": str(_OUTPUT_BYTES),
        "lock_wait_s": str(round(wait_s)),
        "own_session": "setsid" if "setsid" in machine.applets else "",
    }


def knobs_text(knobs: Sequence[tuple[str, str]]) -> str:
    """Return knobs and values as the target reads them; raises RecordError.

    A trial may ask for the value that was found, so its shell decides what may be set.
    """
    for knob, value in knobs:
        check_value(knob, value)
    return "\n".join(f"{knob}\t{value}" for knob, value in knobs)


def refusals(knobs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return why a knob or its value is not in the list, by knob."""
    reasons: dict[str, str] = {}
    for knob, value in knobs:
        try:
            check_value(knob, value)
        except KnobRefused as error:
            reasons[knob] = str(error)
    return reasons


def directory(run: RunOptions) -> str:
    """Return the working directory of the command on the target."""
    return str(run.cwd or "/")


def check(run: RunOptions) -> None:
    """Raise RecordError if there is nothing to run, or its end condition is invalid."""
    if not run.command:
        raise RecordError("no command was given", "add -- COMMAND [ARGUMENT ...]")
    run.ending.check()


def executable_on(job: Job, machine: Machine, run: RunOptions, wait_s: float) -> Path:
    """Return the file on the target that is executed for the command; raises RecordError."""
    job.settings(settings(machine, run, wait_s), run.command)
    answer = job.ask("locate", step="looking for the command")
    if len(answer) != 1 or not answer[0].value.startswith("/"):
        raise RecordError("cannot find the command on the target", "give its full path")
    return Path(answer[0].value)


def run_to_end(job: Job, limit_s: float | None = None) -> None:
    """Start the run and return when it has ended; Ctrl-C ends it.

    Raises NotOverError if it has not ended after ``limit_s`` of this machine's time.
    """
    job.ask("start", step="starting the run", within_s=AWAIT_S)
    deadline = time.monotonic() + (limit_s or float("inf"))
    interrupted = False
    while True:
        try:
            if time.monotonic() > deadline:
                raise NotOverError(
                    f"the run did not end within {limit_s:g} s",
                    "give it more time",
                )
            if interrupted and job.ask("stop", step="ending the run")[:1]:
                raise KeyboardInterrupt  # it had not begun
            answer = job.ask("await", str(AWAIT_S), step="running the command", within_s=AWAIT_S)
            if any(fact.key == "state" and fact.value == "over" for fact in answer):
                return
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True


def pass_on_output(job: Job, streams: Streams) -> None:
    """Write reading the command's output to our own streams."""
    for name, descriptor in (("stdout", streams.stdout), ("stderr", streams.stderr)):
        printed = job.raw("output", name, step="fetching the command's output").stdout
        write_out(printed, descriptor)


def write_out(printed: bytes, descriptor: int) -> None:
    """Write the output of a command, as long as there is a reader."""
    rest = memoryview(printed)
    with contextlib.suppress(OSError):  # our reader has gone
        while rest:
            rest = rest[os.write(descriptor, rest) :]


@contextlib.contextmanager
def losing_no_target() -> Iterator[list[Job]]:
    """Turn a lost connection into an error that says what happens on the target."""
    jobs: list[Job] = []
    try:
        yield jobs
    except TargetError as error:
        if not jobs:
            raise
        raise RecordError(
            f"{error}; the guard on the target ends the command and restores everything within "
            f"{jobs[0].lease_s(AWAIT_S)} s of its time",
            error.remedy,
        ) from error
