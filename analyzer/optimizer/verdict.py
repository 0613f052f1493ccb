"""What to do about the window, and why, in one sentence."""

from __future__ import annotations

from analyzer.prediction import Curve, Verdict

FEW_PAGES = 32  # 128 KiB of 4 KiB pages, the kernel's default window: one request reads them all
MARGIN_PERCENT = 10  # of C_opt, a sum of squares: about 5 % in requests and pages


def decide(total: Curve, page_size: int, contaminated: bool, lost: int) -> Verdict:
    """Return the verdict by the published criterion (C_opt, Linux Symposium 2010, equation 7).

    ``none``: at most FEW_PAGES pages were accessed. ``keep``: the current window is the best or
    its C_opt exceeds the best by at most MARGIN_PERCENT. ``set``: any other case, a current
    window that is unknown or was not emulated included. ``lost`` counts lost events.
    """
    doubt = _doubt(contaminated, lost)
    if total.tap <= FEW_PAGES:
        pages = f"only {total.tap} pages" if total.tap else "no page"
        return Verdict("none", None, f"{pages} accessed: no window can gain anything{doubt}")
    current = _current_window(total, page_size)
    if current is not None and _good_enough(total, current):
        why = _why_keep(total, current)
        return Verdict("keep", total.current_read_ahead_kb, why + BY_CRITERION + doubt)
    why = f"{_figures(total, total.quasi_optimal)} is least{_against(total, current)}"
    return Verdict("set", _kb(total, total.quasi_optimal), why + BY_CRITERION + doubt)


BY_CRITERION = (
    "; this follows the published criterion F² + G², which knows nothing of the device's speed"
)


def _current_window(total: Curve, page_size: int) -> int | None:
    """Return the current window in pages, rounded down as the kernel does, if it was emulated."""
    if total.current_read_ahead_kb is None:
        return None
    window = total.current_read_ahead_kb * 1024 // page_size
    return window if window in total.windows else None


def _good_enough(total: Curve, current: int) -> bool:
    best = _c_opt(total, total.quasi_optimal)
    return _c_opt(total, current) * 100 <= best * (100 + MARGIN_PERCENT)


def _why_keep(total: Curve, current: int) -> str:
    if current == total.quasi_optimal:
        return f"the current window is the best: {_figures(total, current)} is least"
    return (
        f"the current window is within {MARGIN_PERCENT} % of the least F² + G²: "
        f"{_figures(total, current)}, against {_figures(total, total.quasi_optimal)}"
    )


def _against(total: Curve, current: int | None) -> str:
    if current is not None:
        return f", against {_figures(total, current)} now"
    if total.current_read_ahead_kb is None:
        return "; the current window is unknown"
    return f"; the current {total.current_read_ahead_kb:,} KiB is not among the windows emulated"


def _figures(total: Curve, window: int) -> str:
    at = total.windows.index(window)
    return (
        f"F² + G² = {_c_opt(total, window):,} at {_kb(total, window):,} KiB "
        f"(F = {total.f[at]:,} requests, G = {total.g_formula[at]:,} pages)"
    )


def _c_opt(total: Curve, window: int) -> int:
    return total.c_opt[total.windows.index(window)]


def _kb(total: Curve, window: int) -> int:
    return total.read_ahead_kb[total.windows.index(window)]


def _doubt(contaminated: bool, lost: int) -> str:
    reasons = []
    if contaminated:
        reasons.append("readahead was on while recording, so the accesses are not exact")
    if lost:
        reasons.append(f"{lost:,} events were lost")
    return f"; doubtful, since {' and '.join(reasons)}" if reasons else ""
