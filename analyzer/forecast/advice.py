"""What to set under the other kernel: to keep the present time, or to gain."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

import numpy as np

from foreread.analyzer.forecast.document import ForecastAdvice, ForecastChange
from foreread.analyzer.forecast.seconds import Both
from foreread.analyzer.forecast.timing import Timing
from foreread.analyzer.predict.bands import TOLD_APART, Bands
from foreread.analyzer.predict.verdict import KEEP_PERCENT
from foreread.emulator.linux.rules import Version, series_text


def change_of(timing: Timing) -> ForecastChange:
    """Return the seconds that the other kernel adds, each kernel with its own window."""
    both = timing.both
    added, band = both.slower(timing.then, timing.now)
    present = both.now.at(timing.now)
    share = added / present if present else 0.0
    small = abs(share) * 100 <= KEEP_PERCENT
    return ForecastChange(
        direction="same" if small else "slower" if added > 0 else "faster",
        certain=abs(added) >= band,
        seconds=added,
        seconds_low=added - band,
        seconds_high=added + band,
        share=share,
    )


def best_window(timing: Timing) -> int:
    """Return the smallest window (pages) under the other kernel that is as fast as its fastest."""
    return _bands(timing.both, timing.windows).smallest_within()


def advise(timing: Timing, version: Version, path: str | None) -> ForecastAdvice:
    """Return what to set under the other kernel, ``version``; ``path`` is the capture's."""
    both, windows, now, then = timing.both, timing.windows, timing.now, timing.then
    bands = _bands(both, windows)
    best = bands.smallest_within()
    saved, band = bands.slower(then, best)
    present, default = both.now.at(now), both.then.at(then)
    keep = _keep(both, windows, now, then)
    kernel = series_text(version)
    if saved * 100 <= KEEP_PERCENT * default or saved <= max(band, TOLD_APART * default):
        why = (
            f"no window is distinguishable from the best by more than {KEEP_PERCENT} % of the "
            f"{default:.3f} s at {windows[then]:,} KiB under {kernel}"
        )
        return ForecastAdvice(action="leave", read_ahead_kb=None, keep_read_ahead_kb=keep, why=why)
    kb = windows[best]
    against = both.then.at(best) - present
    than_now = f"{abs(against):.3f} s {'less' if against < 0 else 'more'} than now"
    why = (
        f"{both.then.at(best):.3f} s predicted at {kb:,} KiB under {kernel}, {than_now}, against "
        f"{default:.3f} s at {windows[then]:,} KiB"
    )
    capture = "CAPTURE" if path is None else path
    words = ["foreread", "script", capture, "--read-ahead-kb", str(kb), "-o", "boot"]
    return ForecastAdvice(
        action="set",
        read_ahead_kb=kb,
        keep_read_ahead_kb=keep,
        why=why,
        remedy=shlex.join(words),
    )


def _keep(both: Both, windows: dict[int, int], now: int, then: int) -> int | None:
    """Return the window in KiB that keeps the present time, if the default loses it."""
    most = both.now.at(now) * (1 + KEEP_PERCENT / 100)
    if both.then.at(then) <= most:
        return None
    kept = [window for window in windows if both.then.at(window) <= most]
    if not kept:
        return None
    return windows[now if now in kept else min(kept)]


def _bands(both: Both, windows: Iterable[int]) -> Bands:
    column = both.then
    nothing = np.zeros(len(column.windows))
    return Bands(column.windows, column.seconds, column.draws, sorted(windows), nothing)
