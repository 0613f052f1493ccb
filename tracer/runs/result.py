"""The result of a run, its trace and its machine: the facts that every recorder supplies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from foreread.boards.device import Devices
from foreread.boards.stack import Stack
from foreread.tracer.formats.capture import Cold, Device, Host, Squashfs
from foreread.tracer.formats.memory import Memory
from foreread.tracer.runs.inode_tables import Tables
from foreread.tracer.runs.options import Ended, EndedBy
from foreread.tracer.runs.residency import Inode


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """A run that has ended; times are of the trace's clock.

    ``ended`` is None if the command's first process still ran when the run ended. ``mapped`` are
    the files that its living processes mapped then: path by (dev, ino). ``environment`` and
    ``cgroups`` (lines of /proc/PID/cgroup) are what a repetition of the run needs; empty for a
    target: its shell has them again.
    """

    pid: int
    by: EndedBy
    ended: Ended | None
    start_ns: int
    end_ns: int
    cold: Cold
    mapped: dict[Inode, str]
    notes: list[str]
    memory: Memory | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    cgroups: Sequence[str] = ()

    @property
    def seconds(self) -> float:
        """Return the time from exec to the end of the run."""
        return (self.end_ns - self.start_ns) / 1e9


@dataclass(frozen=True)
class TraceSummary:
    """What recorded a run: events that were recorded, and missing ones; lost events by CPU."""

    backend: Literal["tracefs", "trace-cmd", "perf"]
    version: str
    clock: str
    events: Sequence[str]
    missing: Sequence[str]
    lost: Mapping[int, int]


@dataclass(frozen=True)
class MachineState:
    """A machine during a run.

    ``disks``: windows of these were set. ``tables``: inode tables that were read without
    readahead. ``images``: what each squashfs is mounted from, by device.
    """

    host: Host
    devices: Devices
    disks: Sequence[Device]
    stacks: Sequence[Stack]
    tables: Tables
    images: Mapping[str, Squashfs]
