"""What ``foreread improve`` prints: a line for each step, and the answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from foreread.boards.base.printable import printable
from foreread.boards.base.units import kib_text, percent
from foreread.cli.text.confirming import show_progress
from foreread.cli.text.progress import ProgressLine
from foreread.cli.text.table import render, render_cut, seconds_cell
from foreread.cli.text.tuning import TuningLine
from foreread.cli.text.wording import duration_text
from foreread.documents.improve import (
    ImproveDisk,
    ImproveDocument,
    ImproveNow,
    ImproveRemedy,
    ImproveStep,
)
from foreread.improving.job import Watch

_LEAST_CHANGE = 30  # columns for what a remedy changes


class StepLines:
    """A line for each step on stderr; on a terminal its progress stands there meanwhile.

    ``verbose``: also a line for each part of a step.
    """

    def __init__(self, verbose: bool) -> None:
        self._line = TuningLine(sys.stderr)
        self._shown = verbose or self._line.on_terminal
        self._verbose = verbose
        self._step = ""

    def watch(self) -> Watch:
        """Return the functions that ``improve`` calls."""
        watch = Watch(self._begun, self._ended)
        if not self._shown:
            return watch
        return Watch(
            self._begun,
            self._ended,
            self._tell,
            self._part,
            show_progress,
            self._line.searching,
            self._line.confirming,
        )

    def _begun(self, name: str) -> None:
        self._step = name
        if self._line.on_terminal:
            self._line.say(f"{name:<8} …")

    def _ended(self, step: ImproveStep) -> None:
        ProgressLine.say(self._line, step_text(step))
        self._line.end()

    def _tell(self, text: str) -> None:
        if self._verbose:
            self._line.end()
        self._line.say(f"{self._step:<8} {text}")

    def _part(self, text: str, done: int, total: int) -> None:
        self._line.part(f"{self._step:<8} {text}", done, total)


def step_text(step: ImproveStep) -> str:
    """Return the line of a step that has ended."""
    time = _duration(step.seconds) if step.state in ("done", "failed") else step.state
    failed = "failed: " if step.state == "failed" else ""
    return f"{step.name:<8} {time:>10}  {failed}{step.result}"


def _duration(seconds: float) -> str:
    """Return the time of a step, with a decimal below a minute."""
    return f"{seconds:.1f} s" if seconds < 60 else duration_text(seconds)


def improved_text(document: ImproveDocument) -> str:
    """Return the answer, the parts of the present time, remedies, and the next commands."""
    parts = ["\n".join(_answer(document))]
    if document.remedies:
        parts.append(_table(document.remedies))
    if document.disks:
        parts.append(_disks(document.disks))
    if document.next:
        width = max(len(step.what) for step in document.next)
        parts.append("\n".join(f"{step.what:<{width}}  {step.command}" for step in document.next))
    return "\n\n".join("\n".join(map(printable, part.splitlines())) for part in parts)


def _answer(document: ImproveDocument) -> Iterator[str]:
    yield f"{document.verdict}: {document.answer}"
    if document.now is not None:
        yield _now(document.now)
    if document.tuned is not None and document.verdict != "tuned":
        settings = ", ".join(f"{name} = {value}" for name, value in document.tuned.settings.items())
        yield f"tuned: {settings or 'no setting is shown to be faster'}"


def _now(now: ImproveNow) -> str:
    seconds = "unknown" if now.seconds is None else f"{now.seconds:.3f} s predicted"
    text = f"now: {seconds} at {now.read_ahead_kb:,} KiB"
    if now.parts is None:
        return text
    parts = (
        ("computing", now.parts.computing),
        ("needed pages", now.parts.needed_pages),
        ("unused pages", now.parts.unused_pages),
        ("asleep", now.parts.asleep),
    )
    return f"{text} = {' + '.join(f'{value:.3f} {name}' for name, value in parts)}"


def _table(remedies: list[ImproveRemedy]) -> str:
    head = ("row", "predicted", "measured", "saves (95 %)", "remedy")
    return render_cut(head, [(*_row(remedy), remedy.what) for remedy in remedies], _LEAST_CHANGE)


def _row(remedy: ImproveRemedy) -> tuple[str, ...]:
    predicted = f"{remedy.seconds:.3f} s"
    result = remedy.measured
    if result is None:
        return str(remedy.row), predicted, "-" if remedy.by_script else remedy.effort, "-"
    then = "-" if result.seconds is None else f"{result.seconds:.3f} s"
    return str(remedy.row), predicted, then, _gain(result.gain, result.low, result.high)


def _gain(gain: float | None, low: float | None, high: float | None) -> str:
    if gain is None:
        return "-"
    interval = "" if low is None or high is None else f" ({percent(low)} to {percent(high)})"
    return f"{percent(gain)} %{interval}"


def _disks(disks: list[ImproveDisk]) -> str:
    rows = [
        (
            *(disk.board, disk.disk, kib_text(disk.read_ahead_kb_now, "-")),
            kib_text(disk.read_ahead_kb, "keep"),
            *(seconds_cell(disk.seconds_now), seconds_cell(disk.seconds)),
            _gain(disk.gain, disk.low, disk.high),
        )
        for disk in disks
    ]
    return render(("board", "disk", "now", "set", "s now", "s then", "saves (95 %)"), rows)
