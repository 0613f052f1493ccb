"""What to do about the window, and why, in one sentence."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.optimizer.criterion import c_opt
from analyzer.prediction import Curve, Verdict

FEW_PAGES = 32  # 128 KiB of 4 KiB pages, the kernel's default window: one request reads them all
MARGIN_PERCENT = 10  # of C_opt, a sum of squares: about 5 % in requests and pages

KEEP_PERCENT = 1  # of the seconds now: what predictions can be off by


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
            f"(F = {self.f:,} requests, G = {g:,} pages)"
        )


def decide(total: Curve, current: Point | None, contaminated: bool, lost: int) -> Verdict:
    """Return the verdict by the published criterion (C_opt, Linux Symposium 2010, equation 7).

    ``current`` is the window that the board has, None if unknown or beyond what is emulated.

    ``none``: at most FEW_PAGES pages were accessed. ``keep``: the current window is the best or
    its C_opt exceeds the best by at most MARGIN_PERCENT. ``set``: any other case, a current
    window that is unknown or was not emulated included. ``lost`` counts lost events.
    """
    doubt = _doubt(contaminated, lost)
    if total.tap <= FEW_PAGES:
        pages = f"only {total.tap} pages" if total.tap else "no page"
        return Verdict("none", None, f"{pages} accessed: no window can gain anything{doubt}")
    best = _best(total)
    if current is not None and current.c_opt * 100 <= best.c_opt * (100 + MARGIN_PERCENT):
        return Verdict("keep", current.kb, _why_keep(best, current) + BY_CRITERION + doubt)
    why = f"{best} is least{_against(total, current)}"
    return Verdict("set", best.kb, why + BY_CRITERION + doubt)


BY_CRITERION = (
    "; this follows the published criterion F² + G², which knows nothing of the device's speed"
)


def decide_by_seconds(published: Verdict, total: Curve, now: float | None) -> Verdict:
    """Return the verdict by predicted seconds; ``published`` is that of the criterion.

    ``now`` are the seconds with the current window, None if it is unknown. ``keep``: the fewest
    seconds are less than KEEP_PERCENT below ``now``. Where nothing can gain, nothing is told.
    """
    if published.action == "none" or total.seconds is None or total.predicted_best is None:
        return published
    at = total.windows.index(total.predicted_best)
    kb, seconds = total.read_ahead_kb[at], total.seconds[at]
    if seconds is None:
        return published
    _, _, doubt = published.why.partition("; doubtful")
    behind = f"; doubtful{doubt}" if doubt else ""
    best = f"{seconds:.3f} s predicted at {kb:,} KiB"
    current = total.current_read_ahead_kb
    if now is None or current is None:
        return Verdict("set", kb, f"{best} are fewest; the current window is unknown{behind}")
    if current == kb:
        return Verdict("keep", kb, f"the current window is the best: {best} are fewest{behind}")
    if (now - seconds) * 100 <= KEEP_PERCENT * now:
        why = f"{now:.3f} s predicted at {current:,} KiB, the current window: {best} is no"
        return Verdict("keep", current, f"{why} more than {KEEP_PERCENT} % less{behind}")
    return Verdict("set", kb, f"{best}, against {now:.3f} s at {current:,} KiB now{behind}")


def _best(total: Curve) -> Point:
    at = total.windows.index(total.quasi_optimal)
    return Point(total.quasi_optimal, total.read_ahead_kb[at], total.f[at], total.tap)


def _why_keep(best: Point, current: Point) -> str:
    if current.window == best.window:
        return f"the current window is the best: {best} is least"
    return (
        f"the current window is within {MARGIN_PERCENT} % of the least F² + G²: "
        f"{current}, against {best}"
    )


def _against(total: Curve, current: Point | None) -> str:
    if current is not None:
        return f", against {current} now"
    if total.current_read_ahead_kb is None:
        return "; the current window is unknown"
    return f"; the current {total.current_read_ahead_kb:,} KiB is beyond what is emulated"


def _doubt(contaminated: bool, lost: int) -> str:
    reasons = []
    if contaminated:
        reasons.append("readahead was on while recording, so the accesses are not exact")
    if lost:
        reasons.append(f"{lost:,} events were lost")
    return f"; doubtful, since {' and '.join(reasons)}" if reasons else ""
