"""The part of a difference that the settings cause: window, kernel and disk change in turn.

OLD's start is replayed with NEW's window, then also with NEW's kernel, then also on NEW's disk. The
application causes the rest: other files, other pages, another order, more computing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from foreread.analyzer.diff.document import CauseKind, DiffCause
from foreread.analyzer.diff.side import ByFile, Side, counts_by_file
from foreread.analyzer.predict.inputs import Inputs, inputs
from foreread.analyzer.predict.start import Start
from foreread.emulator.linux.rules import Version, rules_for, series_text
from foreread.emulator.linux.steps import Timed

_SHARE = 0.01  # smaller differences in computing, as a share of the seconds, are not named


@dataclass(frozen=True, eq=False)
class Step:
    """OLD's start with some of NEW's settings; ``start`` and ``timed`` are None without seconds."""

    by_file: ByFile
    start: Start | None = None
    timed: Timed | None = None

    @property
    def requests(self) -> int:
        """Requests of file data."""
        return int(self.by_file.requests.sum())

    @property
    def pages(self) -> int:
        """Pages of file data that are read."""
        return int(self.by_file.pages.sum())

    @property
    def seconds(self) -> float | None:
        """The replayed seconds."""
        return None if self.timed is None else self.timed.total_ns / 1e9


@dataclass(frozen=True, eq=False)
class Settings:
    """OLD as it is, and OLD with all of NEW's settings, with the steps between them."""

    causes: list[DiffCause]
    old: Step
    under_new: Step


def settings_between(old: Side, new: Side) -> Settings:
    """Return what NEW's window, kernel and disk do to OLD's start.

    Where OLD and NEW have different page sizes, or one of them no kernel's model, the settings are
    not distinguished from the rest.
    """
    first = _step(old, old.inputs, old.version, old.window, old.start)
    if old.inputs is None or new.inputs is None or old.version is None or new.version is None:
        return Settings([], first, first)
    if old.recording.page_size != new.recording.page_size:
        return Settings([], first, first)
    causes, last = [], first
    start = old.start if new.start is not None else None
    if old.window != new.window:
        now = _step(old, old.inputs, old.version, new.window, start)
        what = f"window: {old.kib:,} to {new.kib:,} KiB ({new.prediction.reference.name})"
        causes.append(_cause("window", what, last, now))
        last = now
    start_inputs = old.inputs
    if old.version != new.version:
        start_inputs = inputs(old.recording, new.version)
        start = _under(start, start_inputs, new.version)
        now = _step(old, start_inputs, new.version, new.window, start)
        kernels = f"{series_text(old.version)} to that of {series_text(new.version)}"
        what = f"kernel: the readahead of {kernels}"
        causes.append(_cause("kernel", what, last, now))
        last = now
    if start is not None and new.start is not None and _costs(start) != _costs(new.start):
        start = replace(start, device=new.start.device)
        now = _step(old, start_inputs, new.version, new.window, start)
        what = f"disk: {_costs(old.start)} to {_costs(new.start)}"
        causes.append(_cause("disk", what, last, now))
        last = now
    return Settings(causes, first, last)


def rest_of(settings: Settings, new: Side) -> list[DiffCause]:
    """Return the part of the difference that the application causes: its reads, its computing."""
    before, after = settings.under_new, _step(new, new.inputs, new.version, new.window, new.start)
    requests, pages = after.requests - before.requests, after.pages - before.pages
    before_run, after_run = before.timed, after.timed
    if before_run is None or after_run is None:
        return [_difference("files", "what the application reads", requests, pages, None)]
    seconds = (after_run.total_ns - before_run.total_ns) / 1e9
    computing = (after_run.compute_ns - before_run.compute_ns) / 1e9
    serial = all(run.compute_ns + run.waited_ns <= run.total_ns for run in (before_run, after_run))
    if not serial or abs(computing) < _SHARE * before_run.total_ns / 1e9:
        return [_difference("files", "what the application reads", requests, pages, seconds)]
    return [
        _difference("files", "what the application reads", requests, pages, seconds - computing),
        _difference("computing", "what the application computes", None, None, computing),
    ]


def _step(
    side: Side,
    start_inputs: Inputs | None,
    version: Version | None,
    window: int,
    start: Start | None,
) -> Step:
    if start_inputs is None or version is None:
        return Step(side.by_file)
    by_file = counts_by_file(start_inputs, version, window)
    return Step(by_file, start, None if start is None else start.timed([window])[0])


def _under(start: Start | None, start_inputs: Inputs, version: Version) -> Start | None:
    """Return a start as it runs under another kernel."""
    if start is None:
        return None
    program = replace(start.run.program, files=start_inputs.program.files)
    return replace(start, run=replace(start.run, program=program, rules=rules_for(version)))


def _cause(kind: CauseKind, what: str, before: Step, after: Step) -> DiffCause:
    seconds = None
    if before.seconds is not None and after.seconds is not None:
        seconds = after.seconds - before.seconds
    requests, pages = after.requests - before.requests, after.pages - before.pages
    return _difference(kind, what, requests, pages, seconds)


def _difference(
    kind: CauseKind, what: str, requests: int | None, pages: int | None, seconds: float | None
) -> DiffCause:
    return DiffCause(kind=kind, what=what, requests=requests, pages=pages, seconds=seconds)


def _costs(start: Start | None) -> str:
    return "" if start is None else start.device.describe()


def largest(causes: list[DiffCause]) -> Iterator[DiffCause]:
    """Yield causes, the largest part of the seconds (else of the requests) first."""
    yield from sorted(
        causes, key=lambda cause: (-abs(cause.seconds or 0.0), -abs(cause.requests or 0))
    )
