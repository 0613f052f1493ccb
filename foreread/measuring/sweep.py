"""Measures cold runs of a start at every window: the manual method."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.predict.kib import Kibs, KibsOf, all_pages_of
from foreread.boards.base.outputs import check_new
from foreread.boards.base.silent import silent
from foreread.boards.base.units import KIB
from foreread.boards.open import LOCAL, open_target
from foreread.checks import (
    Command,
    checked_number,
    checked_path,
    checked_run,
    key_of,
)
from foreread.question import Question
from foreread.recording.recorded_start import RecordedStart, check_board, recorded_start
from foreread.tracer.formats.scenario import IDLE
from foreread.tracer.formats.sweep import Sweep, write_sweep
from foreread.tracer.machines import bench_on
from foreread.tracer.runs.options import Ending, RunOptions
from foreread.tracer.trials.sweep import SweepOptions, SweepProgress
from foreread.tracer.trials.sweep import sweep as run_sweep
from foreread.tracer.trials.trial import Scenario, TrialBench, TrialOptions
from foreread.version import VERSION

LEAST_PAGE_BYTES = 1024
THRASH_S = 120.0  # for a run with little memory
DEFAULT_WINDOWS_KB = (0, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
WindowsOf = Callable[[int], tuple[int, ...]]  # windows in KiB, by page size in bytes, rising


def sweep(
    start: Command | StrPath,
    output: StrPath,
    *,
    windows_kib: Kibs | KibsOf | None = None,
    repeat: int = 3,
    seed: int = 0,
    scenario: str = IDLE,
    memory_kib: int | None = None,
    limit_s: float | None = None,
    devices: Sequence[str] = (),
    target: str = LOCAL,
    identity: StrPath | None = None,
    ending: Ending | None = None,
    question: Question | None = None,
    force: bool = False,
    wait_s: float = 0.0,
    tell: Callable[[str], None] = silent,
    progress: Callable[[SweepProgress], None] = silent,
) -> Sweep:
    """Measure a start at every window, in shuffled rounds, and return seconds, requests and pages.

    Each run is cold. Needs root on the measured machine; its settings are restored afterwards.
    The sweep is written to ``output`` after every run. Ctrl-C returns what has been measured.

    Args:
        start: the path of a capture: its command is repeated on the machine that was recorded, and
            its proposed window is measured, too; or the words of a command, or RunOptions.
        output: JSON file to write; read it with :func:`foreread.read_sweep`.
        windows_kib: windows in KiB, or a function of the page size (bytes) that returns them;
            None: 0 to 1024 KiB in powers of two, and the present window.
        repeat: runs of each window.
        seed: of the order of the runs.
        scenario: the load during the runs: idle, reader[:FILE], writer[:FOLDER], memory[:MIB].
        memory_kib: memory of each run, in a control group without swap; None: the machine's.
        limit_s: a run that has not ended by then is ended and counts as killed; None: 120 s with
            ``memory_kib``, no limit without.
        devices: names of the disks that get the windows; by default the disk of the command.
        target: the machine, as in :func:`foreread.record`.
        identity: private key that logs in to an ssh target.
        ending: when a run of a capture's command is over, if the capture does not say it.
        question: how the proposed window of a capture is predicted.
        force: measure although the machine is not the one of the capture.
        wait_s: how long to wait for another foreread that holds the machine's settings.
        tell: is called with each step, in words.
        progress: is called after each run.

    Raises:
        ArgumentError: arguments that make no sense.
        boards.base.outputs.OutputError: ``output`` cannot be created.
        tracer.error.RecordError: the runs cannot be made; ``remedy`` says what to do.
    """
    file = checked_path(output, "output")
    check_new(file)
    of = _recorded(start, question)
    options = SweepOptions(
        run=checked_run(start) if of is None else _run_of(of, ending),
        windows_kb=_with_proposed(_windows(windows_kib), of),
        repeat=checked_number(repeat, "repeat", least=1),
        seed=seed,
        with_default=windows_kib is None,
        scenario=Scenario.parse(scenario),
        devices=tuple(devices) or _disks(of),
        wait_s=wait_s,
        foreread=VERSION,
        memory_kib=memory_kib,
        limit_s=THRASH_S if limit_s is None and memory_kib is not None else limit_s,
    )
    place = of.target if of is not None and target == LOCAL else target

    @contextmanager
    def opened(trials: TrialOptions) -> Iterator[TrialBench]:
        with bench_on(machine, trials, None if of is None else of.capture) as bench:
            if of is not None and not force:
                check_board(bench, of.capture)
            yield bench

    with open_target(place, identity=key_of(identity), tell=tell) as machine:
        return run_sweep(options, opened, partial(write_sweep, file), progress)


def _recorded(start: object, question: Question | None) -> RecordedStart | None:
    if isinstance(start, (str, os.PathLike)):
        return recorded_start(Path(start), question)[0]
    return None


def _run_of(of: RecordedStart, ending: Ending | None) -> RunOptions:
    if ending is None or of.run.ending != Ending():
        return of.run
    return replace(of.run, ending=ending)


def _disks(of: RecordedStart | None) -> tuple[str, ...]:
    return () if of is None or of.proposal is None else tuple(of.proposal.by_disk)


def _windows(windows_kib: Kibs | KibsOf | None) -> WindowsOf:
    if windows_kib is None:
        return default_windows
    if callable(windows_kib):
        of = windows_kib
        return lambda page_bytes: tuple(of(page_bytes))
    given = tuple(windows_kib)
    all_pages_of(given, LEAST_PAGE_BYTES)

    def checked(page_bytes: int) -> tuple[int, ...]:
        all_pages_of(given, page_bytes)
        return given

    return checked


def default_windows(page_bytes: int) -> tuple[int, ...]:
    """Return the usual windows that are whole pages: the kernel rounds others down."""
    return tuple(kb for kb in DEFAULT_WINDOWS_KB if kb * KIB % page_bytes == 0)


def _with_proposed(windows_of: WindowsOf, of: RecordedStart | None) -> WindowsOf:
    """Return the windows with the proposed one of a capture."""
    if of is None or of.proposal is None:
        return windows_of
    proposed = of.proposal.read_ahead_kb
    return lambda page_bytes: tuple(sorted({*windows_of(page_bytes), proposed}))
