"""What ``foreread predict --explain`` prints: how the seconds of one window come about."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foreread.analyzer.predict.bands import DEVIATIONS, Bands
from foreread.analyzer.predict.prediction import Curve, Prediction, Spent
from foreread.analyzer.predict.start import Start
from foreread.boards.base.counted import plural
from foreread.cli.arguments import UsageError

_NAME_WIDTH = 10


def explained_text(prediction: Prediction, kb: int) -> str:
    """Return the steps from the recorded events to the seconds of a window (KiB), one a line.

    Raises UsageError if the prediction has no seconds, or none at this window.
    """
    total, bands, spent = prediction.total, prediction.bands, prediction.total.spent
    if bands is None or spent is None or not prediction.starts:
        raise UsageError(f"--explain: there are no seconds: {prediction.verdict.why}")
    if kb not in total.known_seconds:
        windows = ", ".join(map(str, total.known_seconds))
        raise UsageError(
            f"--explain {kb}: this window was not replayed: choose one of {windows}, or name it "
            "with --windows"
        )
    row = total.read_ahead_kb.index(kb)
    start, of = prediction.starts[0], len(prediction.starts)
    lines = [
        (f"{kb:,} KiB", f"{plural(total.windows[row], 'page')} of readahead at most"),
        *_counts(prediction, start, row),
        *_parts(total, spent, row),
        *_band(bands, total.windows[row], len(prediction.doubts)),
    ]
    if of > 1:
        several = f"each window has the median of {of}; counts are of the first, parts of a median"
        lines.insert(1, ("captures", several))
    return "\n".join(f"{name:{_NAME_WIDTH}}  {text}" for name, text in lines)


def _counts(prediction: Prediction, start: Start, row: int) -> Iterator[tuple[str, str]]:
    """Yield the events, the program, and the requests that the kernel's readahead makes of it."""
    recording, steps, total = start.recording, start.run.steps, prediction.total
    threads = len(np.unique(steps["thread"]))
    operations = int((steps["operation"] >= 0).sum())
    yield (
        "events",
        f"{plural(recording.trace.events.rows, 'event')}: {plural(total.tap, 'page')} of "
        f"{plural(int((recording.files['accessed'] > 0).sum()), 'file')} accessed",
    )
    yield (
        "program",
        f"{plural(operations, 'file operation')} and "
        f"{plural(len(steps) - operations, 'other read')} of {plural(threads, 'thread')} on "
        f"{plural(start.run.cpus, 'CPU')}",
    )
    yield (
        "kernel",
        f"{prediction.model}: {plural(total.pages[row], 'page')} in "
        f"{plural(total.f[row], 'request')}; {plural(total.g[row], 'page')} unused",
    )
    yield "disk", start.device.describe()
    yield "processor", start.cpu.describe()


def _parts(total: Curve, spent: Spent, row: int) -> Iterator[tuple[str, str]]:
    """Yield the parts of the seconds, and their sum."""
    compute, waited, unused, asleep = (
        part[row] or 0.0 for part in (spent.compute, spent.waited, spent.behind, spent.asleep)
    )
    at_zero = spent.compute[0] if total.read_ahead_kb[0] == 0 else None
    recorded = "" if at_zero is None else f"; {at_zero:.3f} s at 0 KiB"
    yield "computing", f"{compute:.3f} s{recorded}"
    yield "waiting", f"{waited:.3f} s for the disk; {unused:.3f} s of it for unused pages"
    yield "asleep", f"{asleep:.3f} s"
    yield "sum", f"{compute + waited + asleep:.3f} s"


def _band(bands: Bands, window: int, doubts: int) -> Iterator[tuple[str, str]]:
    """Yield the band, and the standard deviations that it is made of."""
    row = bands.windows.index(window)
    low, high = (float(edge[row]) for edge in bands.band())
    drawn, replayed = float(bands.draws[:, row].std()), float(bands.left_out[row])
    doubted = bands.spread * bands.at(window)
    yield (
        "band",
        f"{low:.3f} to {high:.3f} s: {DEVIATIONS:g} × the root of the sum of these squares",
    )
    yield (
        "  draws",
        f"{drawn:.3f} s, from {plural(len(bands.draws), 'random draw')} of disk and processor",
    )
    yield "  replay", f"{replayed:.3f} s, the difference of replays and runs on known disks"
    yield "  doubts", f"{doubted:.3f} s, from {plural(doubts, 'doubt')}"
