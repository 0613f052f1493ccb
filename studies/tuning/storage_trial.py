"""One trial of a file system: made on a device, mounted, measured by fio, and taken off again.

It destroys what the device holds. A device in use is always refused, one that is not blank unless
the caller says that it may be overwritten.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from foreread.boards.base.interrupts import uninterrupted
from foreread.boards.target import NOT_FOUND, LocalTarget, Target
from foreread.tracer.local.journal import Journal
from foreread.tracer.runs.knobs import KnobRefused, selected
from studies.error import StudyError

# So that mkfs asks nothing: the script has looked at what is there before.
_FORCE = {
    **dict.fromkeys(("ext2", "ext3", "ext4"), ("-q", "-F")),
    **dict.fromkeys(("xfs", "btrfs", "nilfs2"), ("-q", "-f")),
    "reiserfs": ("-q", "-f", "-f"),
}
_SCRIPT = Path(__file__).with_suffix(".sh")
_STEPS = 4  # mkfs, two of fio, and what is done around them
_LOCK_WAIT_S = 60.0  # for another foreread that uses the settings of this machine
_SHOWN = 300  # characters of a tool's message


class StorageError(StudyError, RuntimeError):
    """A device on which nothing may be tried, or nothing can be; ``remedy`` says what to do."""


@dataclass(frozen=True)
class FileSystem:
    """A file system by its name, with options for mkfs and for mount.

    ``scheduler``: the device's during the trial; "" leaves the one it has.
    """

    kind: str
    make: tuple[str, ...] = ()
    mount: tuple[str, ...] = ()
    scheduler: str = ""


@dataclass(frozen=True)
class Measured:
    """The counts of fio until all its data was on the device.

    ``status``: "invalid" where mkfs or mount refused, "failed" where another step did, with
    ``note``. ``operations`` are reads and writes, ``seconds`` fio's with the sync after it.
    """

    status: Literal["ok", "invalid", "failed"]
    note: str = ""
    operations: int = 0
    transferred_bytes: int = 0
    seconds: float = 0.0
    latency_ns: float = 0.0

    @property
    def operations_per_s(self) -> float:
        """Operations a second, 0 if they could not be measured."""
        return self.operations / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class StorageBench:
    """A device of a target that file systems are tried on, with a fio job, for ``seconds`` each.

    ``limit_s``: the most that mkfs, the layout of the files, and the run beyond its time may take.
    """

    target: Target
    device: str
    job: str
    seconds: float = 2.0
    overwrite: bool = False
    limit_s: float = 120.0

    def run(self, file_system: FileSystem) -> Measured:
        """Try a file system; raises StorageError, and TargetError if the target is out of reach.

        Signals wait for its end, which they hasten, so that nothing is left over. On this
        machine it holds the settings' lock, and their journal: RecordError where others do.
        """
        words = self._words(file_system)
        with uninterrupted():
            return self._scheduled(file_system.scheduler, words)

    def _scheduled(self, scheduler: str, words: Sequence[str]) -> Measured:
        """Make the trial with the device's scheduler set, which is put back."""
        if isinstance(self.target, LocalTarget):
            with Journal(wait_s=_LOCK_WAIT_S) as journal:
                return self._tried(journal.set, scheduler, words)
        # An emulated board of the study alone, which ends with it: there is nobody to lock out.
        changed: dict[str, str] = {}

        def write(knob: str, value: str) -> str:
            changed[knob] = selected(self.target.read_knob(knob))
            return selected(self.target.write_knob(knob, value))

        try:
            return self._tried(write, scheduler, words)
        finally:
            for knob, value in changed.items():
                self.target.write_knob(knob, value)

    def _tried(
        self, write: Callable[[str, str], str], scheduler: str, words: Sequence[str]
    ) -> Measured:
        if scheduler:
            status, name = self._ask("check", words)
            if status != "free":
                return self._outcome(status, name)
            try:
                write(f"/sys/block/{name}/queue/scheduler", scheduler)
            except (OSError, KnobRefused):
                return Measured("failed", f"scheduler {scheduler} is refused")
        return self._outcome(*self._ask("try", words))

    def _ask(self, verb: str, words: Sequence[str]) -> tuple[str, str]:
        """Run the script; return its first word, and the rest."""
        done = self.target.run(
            ["unshare", "-m", "sh", "-c", _SCRIPT.read_text(), "sh", verb, *words],
            stdin=self.job.encode(),
            timeout_s=_STEPS * (self.limit_s + self.seconds),
        )
        complaint = done.stderr.decode(errors="replace").strip()[:_SHOWN]
        if done.status == NOT_FOUND or complaint.startswith("unshare"):
            raise StorageError(
                f"no mount namespace: {complaint}",
                "run as root, with unshare of util-linux or busybox",
            )
        word, _, rest = done.stdout.decode(errors="replace").partition(" ")
        return word, rest.strip() or complaint

    def _outcome(self, word: str, rest: str) -> Measured:
        if word == "measured":
            return _parse(rest)
        detail = rest[:_SHOWN]
        if word == "refused":
            raise StorageError(
                f"{self.device} {detail}",
                "name an empty device, or allow it to be overwritten",
            )
        return Measured("invalid" if word == "invalid" else "failed", detail or "it was ended")

    def _words(self, file_system: FileSystem) -> Sequence[str]:
        if file_system.kind not in _FORCE:
            raise StorageError(
                f"no file system {file_system.kind!r} can be tried", f"use {', '.join(_FORCE)}"
            )
        return (
            self.device,
            file_system.kind,
            ",".join(file_system.mount) or "defaults",
            f"{round(self.seconds * 1000)}",
            "yes" if self.overwrite else "no",
            f"{math.ceil(self.limit_s + self.seconds)}",
            *_FORCE[file_system.kind],
            *file_system.make,
        )


class _Latency(msgspec.Struct):
    mean: float


class _Direction(msgspec.Struct):
    total_ios: int
    io_bytes: int
    lat_ns: _Latency


class _Job(msgspec.Struct):
    error: int
    job_runtime: int
    read: _Direction
    write: _Direction


class _Report(msgspec.Struct):
    jobs: list[_Job]


def _parse(answer: str) -> Measured:
    """Parse fio's report; anything else is a failure."""
    hundredths, _, report = answer.partition("\n")
    try:
        # Warnings may stand before it.
        jobs = msgspec.json.decode(report[report.index("{") :], type=_Report).jobs
        sync_s = int(hundredths) / 100
    except (ValueError, msgspec.DecodeError) as error:
        return Measured("failed", f"cannot parse the output of fio: {error}")
    if any(job.error for job in jobs):
        return Measured("failed", "fio says that a job failed")
    directions = [direction for job in jobs for direction in (job.read, job.write)]
    operations = sum(direction.total_ios for direction in directions)
    if not operations:
        return Measured("failed", "fio completed no operation in the time")
    return Measured(
        "ok",
        operations=operations,
        transferred_bytes=sum(direction.io_bytes for direction in directions),
        seconds=max(job.job_runtime for job in jobs) / 1000 + sync_s,
        latency_ns=sum(direction.lat_ns.mean * direction.total_ios for direction in directions)
        / operations,
    )


@contextmanager
def loop_device(file: Path, target: Target) -> Iterator[str]:
    """Attach a file of this machine to a loop device, and yield the device's path.

    The kernel detaches the device as soon as no process has it open, however this process ends.
    """
    done = target.run(["losetup", "--find", "--show", "--", str(file)])
    if done.status != 0:
        message = os.fsdecode(done.stderr).strip()
        raise StorageError(f"no loop device for {file}: {message}", "run as root, on Linux")
    device = os.fsdecode(done.stdout).strip()
    held = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        target.run(["losetup", "--detach", device])
        yield device
    finally:
        os.close(held)
