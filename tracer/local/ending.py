"""The end of a run: the command's exit, a duration, idleness, a line of its output, or Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import re
import select
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from foreread.boards.base.interrupts import uninterrupted
from foreread.tracer.local.command import HeldCommand
from foreread.tracer.runs.options import EndedBy, Ending, Streams, compiled

_EXIT_POLL_S = 0.02  # only without pidfd_open (before Linux 5.3)
_LONGEST_POLL_S = 3600.0  # poll(2) takes no more than 24 days of milliseconds
_OUTPUT_KEPT = 1 << 16  # bytes before a match that a regular expression can reach back over


@dataclass(frozen=True)
class Over:
    """The reason for the end of the run, and its time (CLOCK_MONOTONIC, ns).

    For idleness that is the time of the last read, not the end of the wait after it.
    """

    by: EndedBy
    end_ns: int


class Watch:
    """Waits for the end of a run; made before the command, whose output may go through it."""

    def __init__(self, ending: Ending, streams: Streams | None = None) -> None:
        ending.check()
        self._ending = ending
        self._outputs = streams or Streams()
        self._tees: dict[int, _Tee] = {}
        self.streams = self._outputs
        if ending.output is not None:
            self.streams = self._make_tees(compiled(ending.output))

    def started(self) -> None:
        """Close the ends of the pipes that belong to the command; call once it is forked."""
        if self._tees:
            os.close(self.streams.stdout)
            os.close(self.streams.stderr)

    def run(self, command: HeldCommand) -> Over:
        """Release the command and return when its run has ended; Ctrl-C ends it, too."""
        try:
            with uninterrupted():  # a released command has run, and its result is kept
                command.release()
            return self._wait(command, command.start_ns)
        except KeyboardInterrupt:
            return Over("signal", time.monotonic_ns())

    def close(self) -> None:
        """Pass on the rest of the output and close the pipes."""
        for descriptor, tee in self._tees.items():
            os.set_blocking(descriptor, False)
            while tee.pump():
                pass
            os.close(descriptor)
        self._tees = {}

    def _make_tees(self, pattern: re.Pattern[bytes]) -> Streams:
        out, err = os.pipe(), os.pipe()
        self._tees[out[0]] = _Tee(out[0], self._outputs.stdout, pattern)
        self._tees[err[0]] = _Tee(err[0], self._outputs.stderr, pattern)
        return Streams(out[1], err[1])

    def _wait(self, command: HeldCommand, start_ns: int) -> Over:
        idleness = _Idleness(self._ending.idle_ms, start_ns) if self._ending.idle_ms else None
        poll = select.poll()
        for descriptor in self._tees:
            poll.register(descriptor, select.POLLIN)
        with _exit_watch(command, poll) as slice_s:
            while True:
                timeout_s = min(slice_s, self._until_duration(start_ns), _LONGEST_POLL_S)
                timeout_s = min(timeout_s, idleness.poll_s) if idleness else timeout_s
                ready = poll.poll(max(0, timeout_s) * 1000)
                if over := self._over([fd for fd, _ in ready], poll, command, start_ns, idleness):
                    return over

    def _over(
        self,
        ready: list[int],
        poll: select.poll,
        command: HeldCommand,
        start_ns: int,
        idleness: _Idleness | None,
    ) -> Over | None:
        now_ns = time.monotonic_ns()
        for descriptor in [fd for fd in ready if fd in self._tees]:
            if not self._tees[descriptor].pump():
                poll.unregister(descriptor)
            if self._tees[descriptor].matched:
                return Over("output", now_ns)
        if command.poll():
            return Over("exit", now_ns)
        if self._until_duration(start_ns) <= 0:
            return Over("duration", now_ns)
        if idleness and idleness.is_over(now_ns):
            return Over("idle", idleness.last_ns)
        return None

    def _until_duration(self, start_ns: int) -> float:
        if self._ending.duration_s is None:
            return float("inf")
        return self._ending.duration_s - (time.monotonic_ns() - start_ns) / 1e9


class _Idleness:
    """Whether anything is read from block devices: ``pgpgin`` of /proc/vmstat.

    It counts the KiB of every read handed to a block device, at once and exactly, while
    nr_file_pages is added up per CPU only now and then and moves with writes as well; and one small
    read of /proc every ``poll_s`` does not slow the run. Reads over a network do not count.
    """

    def __init__(self, idle_ms: float, start_ns: int) -> None:
        self._idle_ns = idle_ms * 1e6
        self.poll_s = min(max(idle_ms / 20, 5.0), 50.0) / 1e3
        self.last_ns = start_ns
        self._pages = _pgpgin()

    def is_over(self, now_ns: int) -> bool:
        pages = _pgpgin()
        if pages != self._pages:
            self._pages, self.last_ns = pages, now_ns
        return now_ns - self.last_ns >= self._idle_ns


class _Tee:
    """Copies one stream through and searches it, also across the borders of chunks."""

    def __init__(self, source: int, sink: int, pattern: re.Pattern[bytes]) -> None:
        self.matched = False
        self._source, self._sink, self._pattern = source, sink, pattern
        self._seen = b""

    def pump(self) -> bool:
        """Copy the available data; return False at the end of the stream or if there are none."""
        try:
            chunk = os.read(self._source, 1 << 16)
        except BlockingIOError:
            return False
        rest = memoryview(chunk)
        with contextlib.suppress(OSError):  # our reader has gone or its disk is full: continue
            while rest:
                rest = rest[os.write(self._sink, rest) :]
        self._seen = (self._seen + chunk)[-_OUTPUT_KEPT - len(chunk) :]
        self.matched = self.matched or self._pattern.search(self._seen) is not None
        return bool(chunk)


@contextlib.contextmanager
def _exit_watch(command: HeldCommand, poll: select.poll) -> Iterator[float]:
    """Wake ``poll`` at the command's exit; yield the maximum duration of a poll."""
    try:
        descriptor = os.pidfd_open(command.pid)
    except OSError:
        yield _EXIT_POLL_S
        return
    poll.register(descriptor, select.POLLIN)
    try:
        yield float("inf")
    finally:
        os.close(descriptor)


def _pgpgin(vmstat: Path = Path("/proc/vmstat")) -> bytes:
    text = vmstat.read_bytes()
    start = text.index(b"\npgpgin ") + 1
    return text[start : text.index(b"\n", start)]
