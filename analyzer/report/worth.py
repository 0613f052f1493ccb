"""What the recommended window is worth: measured before predicted, and where they differ."""

from __future__ import annotations

from statistics import median

from foreread.analyzer.predict.prediction import Curve
from foreread.analyzer.report.subject import Subject, row_of
from foreread.analyzer.report.wording import count, percent, seconds
from foreread.boards.base.units import kib_text


def worth(subject: Subject) -> list[str]:
    """Return the gain of the change, first measured, then predicted, in one sentence each."""
    if subject.prediction.verdict.action != "set":
        return _regret(subject)
    total, now, new = subject.prediction.total, subject.current_window, subject.window
    predicted = _gain(
        "Predicted", subject, (now, predicted_s(total, now)), (new, predicted_s(total, new))
    )
    return _measured_gain(subject) + predicted + _counts(subject) + _regret(subject)


def _measured_gain(subject: Subject) -> list[str]:
    if subject.validation is None or contradiction(subject):
        return []
    return _gain("Measured", subject, *_measured_pair(subject))


def contradiction(subject: Subject) -> str | None:
    """Say so when the sweep found the recommended window slower than the one in force."""
    validation = subject.validation
    if subject.prediction.verdict.action != "set" or validation is None:
        return None
    (now, now_s), (new, new_s) = _measured_pair(subject)
    if now_s is None or new_s is None or new_s <= now_s:
        return None
    return (
        f"The measurements contradict this: start-up took {seconds(new_s)} with "
        f"{kib_text(new * subject.page_kb)} and {seconds(now_s)} with "
        f"{kib_text(now * subject.page_kb)}; the shortest start-up had "
        f"{kib_text(validation.best_read_ahead_kb)}."
    )


Timed = tuple[int, float | None]  # window in pages, seconds


def _measured_pair(subject: Subject) -> tuple[Timed, Timed]:
    """Return the measurements at the default and at the recommended window; None without them."""
    assert subject.validation is not None
    points = subject.validation.points
    default_kb = subject.validation.default_read_ahead_kb
    default = next(p for p in points if p.read_ahead_kb == default_kb)
    chosen = (subject.window, measured_s(subject, subject.window))
    return (default.window, default.measured.seconds), chosen


def _gain(what: str, subject: Subject, now: Timed, new: Timed) -> list[str]:
    if not now[1] or new[1] is None:
        return []
    gain = (now[1] - new[1]) / now[1]
    change = f"{percent(abs(gain))} {'shorter' if gain >= 0 else 'longer'}"
    idle = " on an idle machine" if subject.prediction.beside else ""
    return [
        f"{what} start-up{idle}: {seconds(now[1])} with {kib_text(now[0] * subject.page_kb)}, "
        f"{seconds(new[1])} with {kib_text(new[0] * subject.page_kb)}, {change}."
    ]


def predicted_s(curve: Curve, window: int) -> float | None:
    """Return the seconds predicted at a window (pages), None where there are none."""
    row = row_of(curve, window)
    return None if curve.seconds is None or row is None else curve.seconds[row]


def measured_s(subject: Subject, window: int) -> float | None:
    """Return the median seconds measured at a window (pages), None where there are none."""
    points = [] if subject.validation is None else subject.validation.points
    return next((p.measured.seconds for p in points if p.window == window), None)


def _counts(subject: Subject) -> list[str]:
    total = subject.prediction.total
    now, new = row_of(total, subject.current_window), row_of(total, subject.window)
    if now is None or new is None or not total.f[now]:
        return []
    reference = "now" if subject.current_known else f"with {kib_text(subject.current_kb)}"
    change = (total.f[new] - total.f[now]) / total.f[now]
    return [
        f"Predicted requests: {count(total.f[now])} {reference}, {count(total.f[new])} with the "
        f"recommended window ({percent(change, signed=True)}); unused pages read: "
        f"{count(total.g[now])} and {count(total.g[new])}."
    ]


def _regret(subject: Subject) -> list[str]:
    validation = subject.validation
    if validation is None:
        return []
    chosen, best = _answer_kb(subject), validation.best_read_ahead_kb
    if chosen is None:
        return [f"The fastest window measured was {kib_text(best)}."]
    regret = validation.regret_proposed
    if regret is None:
        return [
            f"The fastest window measured was {kib_text(best)}; {kib_text(chosen)} was not "
            "measured, so its regret is unknown."
        ]
    if chosen == best:
        return [f"The sweep agrees: {kib_text(best)} was the fastest window measured."]
    return [
        f"The fastest window measured was {kib_text(best)}; the recommended one, "
        f"{kib_text(chosen)}, misses {percent(regret)} of the default's start-up time (regret)."
    ]


def _answer_kb(subject: Subject) -> int | None:
    """Return the window that the verdict sets or keeps, in KiB; None if it names none."""
    return subject.prediction.verdict.read_ahead_kb


def spread_of(values: list[float]) -> str:
    """Return the range of repeated seconds around their median: ``−1.2 … +3.4 %``.

    ``–`` of a single run; where every run took the median's time, that.
    """
    middle = median(values)
    if len(values) < 2 or not middle:
        return "–"
    low, high = (min(values) - middle) / middle, (max(values) - middle) / middle
    if percent(low) == percent(high) == percent(0.0):
        return "less than 0.1 %"
    return f"{percent(low, signed=True).removesuffix(' %')} … {percent(high, signed=True)}"
