"""What ``confirm`` prints: a line for each run, and the result."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

from foreread.analyzer.confirm.boards import BoardGain, board_gains, differing
from foreread.analyzer.confirm.text import board_text, gain_text, interval_text, windows_text
from foreread.boards.base.counted import plural
from foreread.boards.base.units import percent
from foreread.cli.text.answer import answer_text
from foreread.cli.text.progress import ProgressLine
from foreread.cli.text.table import render, seconds_cell
from foreread.cli.text.wording import duration_text
from foreread.measuring.comparison import PairProgress
from foreread.measuring.confirm import Confirmed

_HEAD = ("board", "pairs", "s now", "s then", "saves (95 %, all boards at once)")


def show_progress(progress: PairProgress) -> None:
    """Print a run, and the result so far."""
    result = progress.assessment
    so_far = ""
    if result.gain is not None and result.low is not None and result.high is not None:
        interval = interval_text(result.low, result.high)
        what = progress.change or f"{progress.proposed_kb} KiB"
        so_far = f"; {what} saves {percent(result.gain)} % so far ({interval})"
    board = f" on {progress.board}" if progress.board else ""
    line = (
        f"run {progress.runs}{board}: {progress.read_ahead_kb} KiB, {progress.seconds:.3f} s"
        f"{so_far}; at most {duration_text(progress.left_s)} left"
    )
    ProgressLine(sys.stderr).say(line)


def confirmed_text(confirmed: Confirmed, again: str) -> str:
    """Return the result; ``again`` is the command line that continues an undecided one."""
    of, gain = confirmed.result, confirmed.predicted_gain
    command = shlex.join(confirmed.capture.command or [])
    words = {"too small": "too small to matter"}
    head = words.get(of.outcome, of.outcome)
    if of.outcome == "undecided":
        head = f"undecided after {plural(of.runs, 'run')}"
    measured = (
        f"measured: {plural(len(of.pairs), 'pair')} of cold runs "
        f"in {duration_text(of.wall_seconds)}, "
        f"on {of.target or 'this machine'} ({board_text(of)}): {command}"
    )
    apply = of.outcome == "confirmed" and not of.change
    answer = [f"{head}{of.conditions}: {windows_text(of)} {gain_text(of)}"]
    if gain is not None:
        answer.append(f"  predicted: saves {percent(gain)} %")
    if of.outcome == "undecided":
        answer.append(f"  to continue: {again}")
    basis = [measured]
    if of.disturbed:
        pairs = plural(of.disturbed, "pair", "was")
        basis.append(f"{pairs} disturbed by other processes and made again")
    gains = board_gains(of)
    return answer_text(
        answer,
        [render(_HEAD, [_row(gain) for gain in gains])] if gains else [],
        doubts=[*_apart(gains), *of.notes],
        basis=basis,
        more="foreread script CAPTURE -o DIR (sets the window at boot)" if apply else "",
    )


def _apart(gains: Sequence[BoardGain]) -> list[str]:
    """Return how several boards differ, and which were set aside."""
    lines = []
    if (apart := differing(gains)) is not None:
        more, less = apart
        lines.append(
            f"the boards gain differently: {more.board} saves more than {less.board}; the result "
            "is their mean: test each by itself with foreread confirm --target T"
        )
    lines += [f"{gain.board} was set aside: {gain.set_aside}" for gain in gains if gain.set_aside]
    return lines


def _row(of: BoardGain) -> tuple[str, ...]:
    saves = "-" if of.gain is None else f"{percent(of.gain)} %"
    if of.low is not None and of.high is not None:
        saves += f" ({interval_text(of.low, of.high)})"
    now, then = map(seconds_cell, (of.present_seconds, of.proposed_seconds))
    return of.board, str(of.pairs), now, then, saves
