"""Run a sweep: the command cold at every window, several times, in shuffled order.

Which disks? Those whose window a user would set for this application: the disks that hold the
file system of its executable and of every path given, or exactly those named. Their windows
are set, the windows of all others stay as they are. Requests and pages are those of the same
disks, without disks that another one of them is made of: a read of a loop or dm device would
be counted twice. They include whatever else reads from these disks meanwhile.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from boards.device import SECTOR_BYTES, Devices
from tracer.backends.base import RecordError
from tracer.interrupts import orderly_exit
from tracer.journal import Journal, restore_leftovers, unrestored
from tracer.run import Run, RunOptions, run_cold
from tracer.sweep import Point, Sweep

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class SweepOptions:
    """What to sweep.

    Every window of ``windows_kb`` is run ``repeat`` times; each round is shuffled anew by
    ``seed``, so that slow drifts of the machine do not favour a window. ``with_default`` adds
    the window that the first disk has now, against which the others are held. ``devices`` names
    the disks; by default they are those of the executable and of ``paths``.
    """

    run: RunOptions
    windows_kb: tuple[int, ...]
    repeat: int = 3
    seed: int = 0
    with_default: bool = False
    devices: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()
    wait_s: float = 0.0
    foreread: str = ""


@dataclass(frozen=True)
class Progress:
    """Where a sweep stands after one of its runs; the discarded first run is number 0."""

    done: int
    total: int
    read_ahead_kb: int
    seconds: float
    left_s: float


@dataclass
class _Samples:
    """What one window measured so far."""

    seconds: list[float] = field(default_factory=list)
    requests: list[int] = field(default_factory=list)
    pages: list[float] = field(default_factory=list)


def sweep(
    options: SweepOptions,
    save: Callable[[Sweep], None],
    progress: Callable[[Progress], None],
) -> Sweep:
    """Measure all windows and return the sweep; windows are put back whatever happens.

    ``save`` is handed the sweep after every run, ``complete`` being False until the last.
    Ctrl-C returns what there is, if there is anything. Raises RecordError, also when the command
    fails: its times would mean nothing.
    """
    with orderly_exit():
        left = restore_leftovers()
        measurement = _Measurement(options)
        try:
            with Journal(wait_s=options.wait_s) as journal:
                measurement.note(*unrestored([*left, *journal.leftovers]))
                measurement.run_all(journal, save, progress)
        except KeyboardInterrupt:
            partial = measurement.sweep(complete=False)
            if not partial.points:
                raise
            return partial
        done = measurement.sweep(complete=True)
        save(done)
        return done


def schedule(windows_kb: tuple[int, ...], repeat: int, seed: int) -> list[int]:
    """Return the windows in the order they are run: ``repeat`` rounds, each shuffled."""
    shuffler = random.Random(seed)
    rounds = [shuffler.sample(windows_kb, len(windows_kb)) for _ in range(repeat)]
    return [window for one in rounds for window in one]


def whole_pages(windows_kb: tuple[int, ...]) -> tuple[int, ...]:
    """Return the windows rounded down to whole pages, as the kernel does, without doubles."""
    page_kb = _PAGE_BYTES // 1024
    return tuple(sorted({window // page_kb * page_kb for window in windows_kb}))


class _Measurement:
    """A sweep under way."""

    def __init__(self, options: SweepOptions) -> None:
        _check(options)
        self._options = options
        self._devices = Devices()
        self._disks = _disks(options, self._devices)
        self._counted = _not_below_another(self._disks, self._devices)
        self._knobs = self._devices.read_ahead_knobs(self._disks)
        self._windows = whole_pages(options.windows_kb)
        self._samples: dict[int, _Samples] = {}
        self._created = datetime.now(UTC).isoformat(timespec="seconds")
        self._default_kb: int | None = None
        self._notes: list[str] = []
        if set(self._windows) != set(options.windows_kb):
            self.note("windows were rounded down to whole pages, as the kernel does")

    def run_all(
        self,
        journal: Journal,
        save: Callable[[Sweep], None],
        progress: Callable[[Progress], None],
    ) -> None:
        """Make every run; the first one, slower after a mount, is not counted."""
        self._default_kb = int(journal.target.read_knob(self._knobs[0]))
        if self._options.with_default:
            self._windows = tuple(sorted({*self._windows, self._default_kb}))
        order = schedule(self._windows, self._options.repeat, self._options.seed)
        started = time.monotonic()
        for number, window in enumerate([order[0], *order]):
            in_force = self._set(journal, window)
            run, requests, sectors = self._measure()
            if number > 0:
                sample = self._samples.setdefault(in_force, _Samples())
                sample.seconds.append(run.seconds)
                sample.requests.append(requests)
                sample.pages.append(sectors * SECTOR_BYTES / _PAGE_BYTES)
                save(self.sweep(complete=False))
            left_s = (time.monotonic() - started) / (number + 1) * (len(order) - number)
            progress(Progress(number, len(order), in_force, run.seconds, left_s))

    def sweep(self, complete: bool) -> Sweep:
        """Return what has been measured so far."""
        return Sweep(
            foreread=self._options.foreread,
            created=self._created,
            kernel=os.uname().release,
            page_size=_PAGE_BYTES,
            command=self._options.run.command,
            devices=self._disks,
            default_read_ahead_kb=self._default_kb,
            complete=complete,
            notes=list(self._notes),
            points=[
                Point(
                    read_ahead_kb=window,
                    seconds=list(sample.seconds),
                    requests=list(sample.requests),
                    pages=list(sample.pages),
                )
                for window, sample in sorted(self._samples.items())
            ],
        )

    def _set(self, journal: Journal, window: int) -> int:
        """Set the window of all disks; return the one the kernel took."""
        taken = window
        for knob in self._knobs:
            try:
                taken = int(journal.set(knob, str(window)))
            except OSError as error:
                raise RecordError(
                    f"{knob} cannot be set to {window}: {error.strerror}",
                    "run as root, on a disk whose window can be written",
                ) from error
            if taken != window:
                self.note(f"{knob}: the kernel made {window} to {taken}")
        return taken

    def _measure(self) -> tuple[Run, int, int]:
        """Make one run; return it with the requests and sectors that the disks read."""
        counts: list[tuple[int, int]] = []
        run = run_cold(
            self._options.run,
            begin=lambda: counts.append(self._read_counts()),
            end=lambda: counts.append(self._read_counts()),
        )
        _check_run(run)
        self.note(*run.notes)
        (requests, sectors), (requests_after, sectors_after) = counts
        return run, requests_after - requests, sectors_after - sectors

    def _read_counts(self) -> tuple[int, int]:
        counters = [self._devices.counters(name) for name in self._counted]
        return sum(c.requests for c in counters), sum(c.sectors for c in counters)

    def note(self, *notes: str) -> None:
        """Add notes to the sweep, each once."""
        self._notes += [note for note in notes if note not in self._notes]


def _check(options: SweepOptions) -> None:
    if not options.windows_kb or min(options.windows_kb) < 0:
        raise RecordError("a sweep needs windows of 0 KiB or more", "give them with --windows")
    if options.repeat < 1:
        raise RecordError("a sweep needs one run of each window at least", "give --repeat 1")


def _check_run(run: Run) -> None:
    """Stop the sweep after a run that says nothing about start-up."""
    if run.over.by == "signal":
        raise KeyboardInterrupt
    if run.ended and run.ended.exit_status != 0:
        raise RecordError(
            f"the sweep was stopped: {run.notes[0]}",
            "make the command succeed when run by hand; for one that does not end by itself, "
            "end its runs by --until-idle, --until-output or --duration",
        )


def _disks(options: SweepOptions, devices: Devices) -> list[str]:
    """Return the disks to sweep."""
    if options.devices:
        return [devices.disk(name).name for name in options.devices]
    paths = [options.run.executable(), *options.paths]
    disks = [disk for path in paths for disk in devices.disks_of_path(path)]
    if not disks:
        raise RecordError(
            f"the file system of {paths[0]} is on no disk of this machine",
            "name the disk to sweep with --device",
        )
    return list(dict.fromkeys(disks))


def _not_below_another(disks: list[str], devices: Devices) -> list[str]:
    below = {lower for disk in disks for lower in devices.below(disk)}
    return [disk for disk in disks if disk not in below]
