"""Run a sweep: the command cold at every window, several times, in shuffled order.

Each run is a trial (tracer.trials.trial) with the window as its only setting.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from foreread.boards.base.interrupts import orderly_exit
from foreread.boards.base.units import KIB
from foreread.boards.device import SECTOR_BYTES
from foreread.tracer.error import RecordError
from foreread.tracer.formats.capture import board_words
from foreread.tracer.formats.sweep import Killed, Point, Sweep
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.trials.trial import (
    OpenTrials,
    Outcome,
    Scenario,
    Trial,
    TrialBench,
    TrialOptions,
    check_loads,
    check_run,
)


@dataclass(frozen=True)
class SweepOptions:
    """What to sweep.

    Every window that ``windows_kb`` returns for the machine's page size (bytes) is run ``repeat``
    times; each round is shuffled anew by ``seed``, so that slow drifts of the machine do not favour
    a window. ``with_default`` adds the current window of the first disk, as the baseline of the
    others. ``scenario`` is the load during every run. ``devices`` names the disks; by default the
    disks of the executable and of ``paths``. Runs have ``memory_kib`` of memory; what this limit
    kills, and what has not ended after ``limit_s``, counts as killed.
    """

    run: RunOptions
    windows_kb: Callable[[int], tuple[int, ...]]
    repeat: int = 3
    seed: int = 0
    with_default: bool = False
    scenario: Scenario = field(default_factory=Scenario)
    devices: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()
    wait_s: float = 0.0
    foreread: str = ""
    memory_kib: int | None = None
    limit_s: float | None = None


@dataclass(frozen=True)
class SweepProgress:
    """The progress of a sweep after a run; the discarded first run is number 0.

    ``seconds`` is None for a run that a limit has ended.
    """

    done: int
    total: int
    read_ahead_kb: int
    seconds: float | None
    left_s: float


@dataclass
class _Samples:
    """The measurements of one window so far."""

    seconds: list[float] = field(default_factory=list)
    requests: list[int] = field(default_factory=list)
    pages: list[float] = field(default_factory=list)
    killed: list[Killed] = field(default_factory=list)


def sweep(
    options: SweepOptions,
    bench: OpenTrials,
    save: Callable[[Sweep], None],
    progress: Callable[[SweepProgress], None],
) -> Sweep:
    """Measure all windows and return the sweep; the old windows are always restored.

    ``save`` is called with the sweep after every run, ``complete`` being False until the last.
    Ctrl-C returns the runs made so far, if any. Raises RecordError, also when the command fails,
    since its times would be meaningless.
    """
    if options.repeat < 1:
        raise RecordError("a sweep needs at least one run of each window", "give --repeat 1")
    with orderly_exit():
        measurement: _Measurement | None = None
        try:
            with bench(_trial_options(options)) as opened:
                measurement = _Measurement(options, opened)
                measurement.run_all(save, progress)
        except KeyboardInterrupt:
            partial = measurement.sweep(complete=False) if measurement else None
            if partial is None or not partial.points:
                raise
            return partial
        done = measurement.sweep(complete=True)
        save(done)
        return done


def schedule(windows_kb: tuple[int, ...], repeat: int, seed: int) -> list[int]:
    """Return the windows in the order they are run: ``repeat`` rounds, each shuffled."""
    shuffler = random.Random(seed)
    rounds = [shuffler.sample(windows_kb, len(windows_kb)) for _ in range(repeat)]
    return [window for order in rounds for window in order]


def whole_pages(windows_kb: tuple[int, ...], page_bytes: int) -> tuple[int, ...]:
    """Return the windows rounded down to whole pages, as the kernel does, without doubles."""
    page_kb = page_bytes // KIB
    return tuple(sorted({window // page_kb * page_kb for window in windows_kb}))


class _Measurement:
    """A sweep under way."""

    def __init__(self, options: SweepOptions, bench: TrialBench) -> None:
        self._options = options
        self._bench = bench
        wanted = _windows(options, bench.page_bytes)
        self._windows = whole_pages(wanted, bench.page_bytes)
        self._samples: dict[int, _Samples] = {}
        self._created = datetime.now(UTC).isoformat(timespec="seconds")
        self._default_kb = _default_kb(bench)
        self._notes = list(bench.notes)
        if set(self._windows) != set(wanted):
            self._note("windows were rounded down to whole pages, as the kernel does")
        if options.scenario.kind != "idle":
            self._note("requests and pages include those of the scenario's load")
        if options.with_default:
            self._windows = tuple(sorted({*self._windows, self._default_kb}))

    def run_all(
        self, save: Callable[[Sweep], None], progress: Callable[[SweepProgress], None]
    ) -> None:
        """Make every run; the first one, slower after a mount, is not counted."""
        check_loads(self._bench, [self._options.scenario])
        order = schedule(self._windows, self._options.repeat, self._options.seed)
        started = time.monotonic()
        self._bench.announce([self._trial(window) for window in [order[0], *order]])
        for number, window in enumerate([order[0], *order]):
            run = self._bench.run(self._trial(window))
            seconds = None if run.killed else check_run(run)
            in_force = window if run.killed and not run.in_force else self._in_force(run)
            self._note(*(() if run.killed else run.notes), *run.repeated)
            if number > 0:
                self._add(in_force, run)
                save(self.sweep(complete=False))
            left_s = (time.monotonic() - started) / (number + 1) * (len(order) - number)
            progress(SweepProgress(number, len(order), in_force, seconds, left_s))

    def sweep(self, complete: bool) -> Sweep:
        """Return the measurements so far."""
        return Sweep(
            foreread=self._options.foreread,
            created=self._created,
            kernel=self._bench.kernel,
            board=board_words(self._bench.machine, self._bench.model),
            page_size=self._bench.page_bytes,
            command=self._options.run.command,
            devices=self._bench.disks,
            default_read_ahead_kb=self._default_kb,
            scenario=self._options.scenario.text,
            memory_kib=self._options.memory_kib,
            complete=complete,
            notes=list(self._notes),
            points=[
                Point(
                    read_ahead_kb=window,
                    seconds=list(sample.seconds),
                    requests=list(sample.requests),
                    pages=list(sample.pages),
                    killed=list(sample.killed),
                )
                for window, sample in sorted(self._samples.items())
            ],
        )

    def _trial(self, window: int) -> Trial:
        settings = tuple((knob, str(window)) for knob in self._bench.windows)
        return Trial(settings, self._options.scenario)

    def _in_force(self, run: Outcome) -> int:
        """Return the window of the run, which was the same on all disks."""
        windows = {run.in_force.get(knob, "") for knob in self._bench.windows}
        window = windows.pop()
        if windows or not window.isdecimal():
            raise RecordError(
                f"cannot set the same window on {', '.join(self._bench.disks)}",
                "name one disk whose window can be written with --device NAME",
            )
        return int(window)

    def _add(self, window: int, run: Outcome) -> None:
        sample = self._samples.setdefault(window, _Samples())
        requests = pages = None
        if "disk.reads" in run.counters:
            requests = round(run.counters["disk.reads"])
            pages = run.counters["disk.read_sectors"] * SECTOR_BYTES / self._bench.page_bytes
        if run.killed is not None:
            killed = Killed(by=run.killed, seconds=run.seconds, requests=requests, pages=pages)
            sample.killed.append(killed)
            return
        assert run.seconds is not None and requests is not None and pages is not None
        sample.seconds.append(run.seconds)
        sample.requests.append(requests)
        sample.pages.append(pages)

    def _note(self, *notes: str) -> None:
        """Add notes to the sweep, each once."""
        self._notes += [note for note in notes if note not in self._notes]


def _trial_options(options: SweepOptions) -> TrialOptions:
    return TrialOptions(
        options.run,
        options.devices,
        options.paths,
        options.wait_s,
        limit_s=None,
        vmstat=False,
        memory_kib=options.memory_kib,
        most_s=options.limit_s,
    )


def _default_kb(bench: TrialBench) -> int:
    """Return the window that the first disk has now."""
    return int(bench.probe(bench.windows[:1])[bench.windows[0]])


def _windows(options: SweepOptions, page_bytes: int) -> tuple[int, ...]:
    windows_kb = options.windows_kb(page_bytes)
    if not windows_kb or min(windows_kb) < 0:
        raise RecordError("a sweep needs windows of 0 KiB or more", "give them with --windows")
    return windows_kb
