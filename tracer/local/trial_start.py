"""What a trial on this machine does around its start: the load, the check, the counters."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path

from boards.device import Devices
from tracer.error import RecordError
from tracer.local.command import family
from tracer.local.counters import change, read_counters
from tracer.local.load import Load, running
from tracer.local.trial import BY_LOAD, LOOK_S, Scenario, Seen, apart_notes

_READINGS = 3


class Start:
    """The steps around the start: the load, the check, the counters."""

    def __init__(
        self, scenario: Scenario, counted: list[str], devices: Devices, stack: ExitStack
    ) -> None:
        self._scenario = scenario
        self._counted = counted
        self._devices = devices
        self._stack = stack
        self._load = Load()
        self._counts: list[dict[str, float]] = []
        self._own: list[int | None] = []
        self.lapsed: RecordError | None = None  # why the load did not last until the end
        self.notes: list[str] = []

    def begin(self) -> None:
        """Start the load, and check the machine's activity."""
        self._load = self._stack.enter_context(
            running(self._scenario, self._counted, self._devices)
        )
        self._load.prove()
        self._count()
        time.sleep(LOOK_S)
        self._count()

    def begin_counting(self) -> None:
        """Read the counters once the caches are cold: what made them cold is not the run's."""
        self._own.append(min(_own_bytes(), default=None))
        self._count()

    def join(self, group: str) -> None:
        """Have a load that uses the disk in the control group that the start has joined."""
        if self._scenario.kind in BY_LOAD:
            self._load.join(group)

    def end(self) -> None:
        """Read the counters again, and check that the load still runs."""
        self._count()
        self._own.append(max(_own_bytes(), default=None))
        try:
            self._load.prove()
        except RecordError as error:
            self.lapsed = error
            self.notes.append(str(error))
        self.notes += apart_notes(self._load.apart)

    def seen(self) -> Seen:
        """Return the counters."""
        look, looked, begin, end = self._counts
        before, after = self._own
        own = None if before is None or after is None else after - before
        return Seen(change(look, looked), change(begin, end), own)

    def _count(self) -> None:
        self._counts.append(read_counters(self._counted))


def _own_bytes() -> list[int]:
    """Return the bytes that this process, its ended and its living children read from disks.

    Counted several times, since a process that ends during the count is missed or counted twice.
    The minimum is taken before the disks are counted, and the maximum after it, so that no read of
    our own is taken for somebody else's. Empty without CONFIG_TASK_IO_ACCOUNTING.
    """
    try:
        return [sum(map(_read_bytes, (os.getpid(), *family()))) for _ in range(_READINGS)]
    except OSError:
        return []


def _read_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        if pid == os.getpid():
            raise
        return 0  # it has just ended
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes:"))
