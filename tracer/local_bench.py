"""This machine as the bench of a sweep."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from boards.device import Devices
from tracer.backends.base import RecordError
from tracer.journal import Journal, restore_leftovers, unrestored
from tracer.run import run_cold
from tracer.sweep_run import Measured, SweepOptions, disks_to_count, disks_to_sweep


@contextmanager
def local_bench(options: SweepOptions) -> Iterator[LocalBench]:
    """Yield this machine; at the end every window is put back. Raises RecordError."""
    left = restore_leftovers()
    devices = Devices()
    disks = disks_to_sweep(options, devices, options.run.executable())
    with Journal(wait_s=options.wait_s) as journal:
        yield LocalBench(options, journal, devices, disks, unrestored([*left, *journal.leftovers]))


class LocalBench:
    """A bench as ``tracer.sweep_run.Bench`` describes it."""

    def __init__(
        self,
        options: SweepOptions,
        journal: Journal,
        devices: Devices,
        disks: list[str],
        notes: list[str],
    ) -> None:
        self.kernel = os.uname().release
        self.page_bytes = os.sysconf("SC_PAGE_SIZE")
        self.disks = disks
        self.notes = notes
        self._options = options
        self._journal = journal
        self._devices = devices
        self._counted = disks_to_count(disks, devices)
        self._knobs = devices.read_ahead_knobs(disks)

    def default_kb(self) -> int:
        """Return the window that the first disk has now."""
        return int(self._journal.target.read_knob(self._knobs[0]))

    def run(self, read_ahead_kb: int) -> Measured:
        """Make one cold run of the command at that window."""
        taken, notes = self._set(read_ahead_kb)
        counts: list[tuple[int, int]] = []
        run = run_cold(
            self._options.run,
            begin=lambda: counts.append(self._read_counts()),
            end=lambda: counts.append(self._read_counts()),
        )
        (requests, sectors), (requests_after, sectors_after) = counts
        return Measured(
            read_ahead_kb=taken,
            seconds=run.seconds,
            requests=requests_after - requests,
            sectors=sectors_after - sectors,
            by=run.over.by,
            ended=run.ended,
            notes=[*run.notes, *notes],
        )

    def _set(self, window: int) -> tuple[int, list[str]]:
        """Set the window of all disks; return the one the kernel took, and notes."""
        taken, notes = window, []
        for knob in self._knobs:
            try:
                taken = int(self._journal.set(knob, str(window)))
            except OSError as error:
                raise RecordError(
                    f"{knob} cannot be set to {window}: {error.strerror}",
                    "run as root, on a disk whose window can be written",
                ) from error
            if taken != window:
                notes.append(f"{knob}: the kernel made {window} to {taken}")
        return taken, notes

    def _read_counts(self) -> tuple[int, int]:
        counters = [self._devices.counters(name) for name in self._counted]
        return sum(c.requests for c in counters), sum(c.sectors for c in counters)
