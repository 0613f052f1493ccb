"""The recommendation about the window, with the reason, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.bands import Bands
from foreread.analyzer.predict.criterion import c_opt
from foreread.analyzer.predict.prediction import Curve, Verdict
from foreread.analyzer.predict.remedy import prefetch
from foreread.analyzer.predict.stacks import deciding, stacks_of
from foreread.boards.base.counted import plural
from foreread.boards.base.note import Note, NoteKind
from foreread.boards.base.units import percent_text
from foreread.boards.stack import PREFETCH, Stack

FEW_PAGES = 32  # so few that a handful of requests reads them all, whatever the window
MARGIN_PERCENT = 10  # of C_opt, a sum of squares: about 5 % in requests and pages

KEEP_PERCENT = 1  # of the present seconds: a smaller gain does not justify changing a board


@dataclass(frozen=True)
class Point:
    """The requests F that ``tap`` accessed pages cost under a window (pages, and its KiB)."""

    window: int
    kb: int
    f: int
    tap: int

    @property
    def c_opt(self) -> int:
        """The coefficient of optimality, equation 7."""
        return c_opt([self.f], [self.window], self.tap)[0]

    def __str__(self) -> str:
        g = self.f * (self.window + 1) - self.tap
        return (
            f"F² + G² = {self.c_opt:,} at {self.kb:,} KiB "
            f"(F = {plural(self.f, 'request')}, G = {plural(g, 'page')})"
        )


@dataclass(frozen=True)
class Missing:
    """Why there are no seconds, as a clause, and the command that obtains them."""

    why: str
    remedy: str


def decide_by_criterion(total: Curve, current: Point | None) -> Verdict:
    """Return the verdict by the published criterion (C_opt, Linux Symposium 2010, equation 7).

    ``current`` is the window that the board has, None if unknown or beyond what is emulated.

    ``none``: at most FEW_PAGES pages were accessed. ``keep``: the current window is the best or
    its C_opt exceeds the best by at most MARGIN_PERCENT. ``set``: any other case, a current
    window that is unknown or was not emulated included.
    """
    if total.tap <= FEW_PAGES:
        return _nothing_to_gain(total)
    best = _best(total)
    if current is not None and current.c_opt * 100 <= best.c_opt * (100 + MARGIN_PERCENT):
        return Verdict("keep", current.kb, _why_keep(best, current) + BY_CRITERION, "criterion")
    why = f"{best} is the minimum{_against(total, current)}"
    return Verdict("set", best.kb, why + BY_CRITERION, "criterion")


BY_CRITERION = (
    "; this is the published criterion F² + G² of the fixed window, which ignores the speed of the "
    "disk"
)


def _nothing_to_gain(total: Curve) -> Verdict:
    pages = f"only {plural(total.tap, 'page')}" if total.tap else "no page"
    return Verdict("none", None, f"{pages} accessed: no window can save time")


def decide_without_seconds(total: Curve, missing: Missing) -> Verdict:
    """Return the verdict where seconds are unknown or unusable."""
    if total.tap <= FEW_PAGES:
        return _nothing_to_gain(total)
    why = f"no predicted seconds: {missing.why}"
    return Verdict("measure", None, why, remedy=missing.remedy)


def decide_by_seconds(total: Curve, bands: Bands, current: int | None) -> Verdict:
    """Return the verdict by predicted seconds.

    ``current`` is the window that the board has, None if unknown; it is one of the bands'.
    ``set``: the smallest window that is not distinguishable from the best. ``keep``: the best saves
    no more than KEEP_PERCENT of the current window's seconds, or than the band of that saving.
    ``none``: at most FEW_PAGES pages were accessed.
    """
    if total.tap <= FEW_PAGES:
        return _nothing_to_gain(total)
    proposed = bands.smallest_within()
    kb = total.read_ahead_kb[total.windows.index(proposed)]
    current_kb = total.current_read_ahead_kb
    chosen = _predicted(total, bands, proposed)
    if current is None or current_kb is None:
        why = f"{chosen}; the current window is unknown"
        return Verdict("set", kb, why, "seconds")
    if current == proposed:
        why = f"the current window is the best: {chosen}"
        return Verdict("keep", current_kb, why, "seconds")
    now = bands.at(current)
    too_little = _too_little(total, bands, current, current_kb)
    if too_little:
        return Verdict("keep", current_kb, f"{too_little}: {chosen}", "seconds")
    why = f"{chosen}, against {now:.3f} s at {current_kb:,} KiB now"
    return Verdict("set", kb, why, "seconds")


def _too_little(total: Curve, bands: Bands, current: int, kb: int) -> str | None:
    """Return why the best window is not a reason for a change; None if it is one."""
    now = bands.at(current)
    saved, band = bands.slower(current, bands.best)
    here = f"{now:.3f} s predicted at {kb:,} KiB, the current window"
    if saved * 100 <= KEEP_PERCENT * now:
        return f"{here}{_waits(total, current)}, and no more than {KEEP_PERCENT} % less at the best"
    if saved <= band or bands.at(bands.smallest_within()) >= now:
        return f"{here}, which is not distinguishable from the best"
    return None


def _waits(total: Curve, current: int) -> str:
    """Return how much of the start-up waits for the disk: all that a window can save."""
    if total.spent is None or current not in total.windows:
        return ""
    waited, seconds = total.spent.waited[total.windows.index(current)], total.seconds_at(current)
    return (
        ""
        if waited is None or not seconds
        else f" ({percent_text(waited / seconds, 0)} of it waits for the disk)"
    )


def _predicted(total: Curve, bands: Bands, proposed: int) -> str:
    """Return the proposed window's seconds, and those of the best if that is another."""
    best, kb = bands.best, dict(zip(total.windows, total.read_ahead_kb, strict=True))
    if proposed == best:
        return f"{bands.at(best):.3f} s predicted at {kb[best]:,} KiB, the fastest window"
    return (
        f"{bands.at(proposed):.3f} s predicted at {kb[proposed]:,} KiB, the smallest window that "
        f"is not distinguishable from the best ({bands.at(best):.3f} s at {kb[best]:,} KiB)"
    )


def _best(total: Curve) -> Point:
    at = total.windows.index(total.quasi_optimal)
    fixed = total.f if total.f_fixed is None else total.f_fixed
    return Point(total.quasi_optimal, total.read_ahead_kb[at], fixed[at], total.tap)


def _why_keep(best: Point, current: Point) -> str:
    if current.window == best.window:
        return f"the current window is the best: {best} is the minimum"
    return (
        f"the current window is within {MARGIN_PERCENT} % of the minimal F² + G²: "
        f"{current}, against {best}"
    )


def _against(total: Curve, current: Point | None) -> str:
    if current is not None:
        return f", against {current} now"
    if total.current_read_ahead_kb is None:
        return "; the current window is unknown"
    return f"; the current {total.current_read_ahead_kb:,} KiB is larger than any emulated window"


def windowless(
    recording: Recording, worth: Sequence[Curve]
) -> tuple[Verdict | None, tuple[Note, ...]]:
    """Return the verdict if no window counts for any disk ``worth`` setting, else None.

    The notes mention disks without a known window beside others that have one.
    """
    capture = recording.capture
    without = [stack for curve in worth for stack in _unknown_stacks(recording, curve.dev)]
    if not without:
        return None, ()
    if not any(deciding(capture, curve.dev) for curve in worth):
        return _without_window(without[0], recording), ()
    reasons = dict.fromkeys(f"no window counts for {_reason(stack)}" for stack in without)
    return None, tuple(Note(reason, NoteKind.ANSWER) for reason in reasons)


def _unknown_stacks(recording: Recording, dev: str) -> list[Stack]:
    """Return the stacks that leave a disk without a known window."""
    if deciding(recording.capture, dev):
        return []
    return [stack for stack in stacks_of(recording.capture, dev) if stack.unknown]


def _without_window(stack: Stack, recording: Recording) -> Verdict:
    why = f"no window counts for {_reason(stack)}"
    if stack.remedy != PREFETCH:
        return Verdict("none", None, f"{why}; {stack.remedy}")
    return Verdict("none", None, why, remedy=prefetch(recording))


def _reason(stack: Stack) -> str:
    return f"the files of {stack.mountpoint} ({stack.file_system}): {stack.unknown}"
