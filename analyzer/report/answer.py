"""The report's first section: which window, why, what it is worth, and what to beware of."""

from __future__ import annotations

from statistics import median

from analyzer.report.blocks import Block, Bullets, Code, Column, Paragraph, Section, Table
from analyzer.report.subject import Subject, row_of
from analyzer.report.wording import count, kib, percent, plural, seconds, shell_words


def answer(subject: Subject) -> Section:
    """Return the section that a reader with a minute reads."""
    blocks: list[Block] = []
    against = _contradiction(subject)
    if against:
        blocks.append(Bullets([against], warning=True))
    blocks.append(Paragraph(_sentence(subject.prediction.verdict.why)))
    blocks += [Paragraph(text) for text in _worth(subject)]
    if subject.prediction.total.tap:
        blocks.append(_windows(subject))
    if subject.prediction.verdict.action == "set":
        blocks += _how(subject)
    beware = caveats(subject)
    if beware:
        blocks += [Paragraph("Before relying on it:"), Bullets(beware, warning=True)]
    return Section("answer", headline(subject), blocks)


def headline(subject: Subject) -> str:
    """Return the answer in one line."""
    verdict = subject.prediction.verdict
    if verdict.action == "set":
        was = f" (now {kib(subject.current_kb)})" if subject.current_known else ""
        return f"Set read_ahead_kb to {verdict.read_ahead_kb:,} KiB{was}"
    if verdict.action == "keep":
        return f"Keep read_ahead_kb at {kib(verdict.read_ahead_kb)}"
    return "Nothing to set"


def _worth(subject: Subject) -> list[str]:
    """Return what the change brings, measured before predicted, one sentence each."""
    if subject.prediction.verdict.action != "set":
        return _regret(subject)
    now, new = subject.current_window, subject.window
    texts = [
        _gain(f"{how} start-up", _seconds_at(subject, how, now), _seconds_at(subject, how, new))
        for how in ("Measured", "Predicted")
    ]
    return [text for text in texts if text] + _counts(subject) + _regret(subject)


def _contradiction(subject: Subject) -> str | None:
    """Say so when the sweep found the recommended window slower than the one in force."""
    if subject.prediction.verdict.action != "set" or subject.validation is None:
        return None
    now = _seconds_at(subject, "Measured", subject.current_window)
    new = _seconds_at(subject, "Measured", subject.window)
    if now is None or new is None or new <= now:
        return None
    best = subject.validation.best_read_ahead_kb
    return (
        f"The measurements speak against this: start-up took {seconds(new)} with "
        f"{kib(subject.window_kb)} and {seconds(now)} with {kib(subject.current_kb)}. "
        f"The fastest window measured was {kib(best)}."
    )


def _gain(what: str, now: float | None, new: float | None) -> str | None:
    if not now or new is None:
        return None
    gain = (now - new) / now
    change = f"{percent(abs(gain))} {'shorter' if gain >= 0 else 'longer'}"
    return f"{what}: {seconds(now)} now, {seconds(new)} with the recommended window, {change}."


def _seconds_at(subject: Subject, how: str, window: int) -> float | None:
    if how == "Measured":
        points = [] if subject.validation is None else subject.validation.points
        return next((p.measured.seconds for p in points if p.window == window), None)
    total = subject.prediction.total
    row = row_of(total, window)
    return None if total.seconds is None or row is None else total.seconds[row]


def _counts(subject: Subject) -> list[str]:
    total = subject.prediction.total
    now, new = row_of(total, subject.current_window), row_of(total, subject.window)
    if now is None or new is None or not total.f[now]:
        return []
    reference = "now" if subject.current_known else "with the kernel's default"
    change = (total.f[new] - total.f[now]) / total.f[now]
    return [
        f"Predicted requests: {count(total.f[now])} {reference}, {count(total.f[new])} with the "
        f"recommended window ({percent(change, signed=True)}); pages read in vain: "
        f"{count(total.g[now])} and {count(total.g[new])}."
    ]


def _regret(subject: Subject) -> list[str]:
    validation = subject.validation
    if validation is None:
        return []
    chosen, best = validation.chosen_read_ahead_kb, validation.best_read_ahead_kb
    if chosen == best:
        return [f"The sweep agrees: {kib(best)} was the fastest window measured."]
    return [
        f"The fastest window measured was {kib(best)}; the predicted one, {kib(chosen)}, misses "
        f"{percent(validation.regret)} of the default's start-up time (regret)."
    ]


def _windows(subject: Subject) -> Table:
    """Return the few windows worth comparing, each once, with all the reasons to look at it."""
    total = subject.prediction.total
    wanted = {0: ["no readahead"]}
    current = "in force before" if subject.current_known else "kernel's default"
    wanted.setdefault(subject.current_window, []).append(current)
    wanted.setdefault(total.quasi_optimal, []).append("quasi-optimal (smallest C_opt)")
    if total.predicted_best is not None:
        wanted.setdefault(total.predicted_best, []).append("predicted best (fewest seconds)")
    if subject.prediction.verdict.action == "set":
        wanted.setdefault(subject.window, []).insert(0, "recommended")
    if subject.validation is not None:
        best = next(
            point.window
            for point in subject.validation.points
            if point.read_ahead_kb == subject.validation.best_read_ahead_kb
        )
        wanted.setdefault(best, []).append("fastest measured")
    rows = [_window_row(subject, window, "; ".join(wanted[window])) for window in sorted(wanted)]
    marked = sorted(wanted).index(subject.window) if subject.window in wanted else -1
    columns = [
        Column("window", "left"),
        Column("what it is", "left", share=2.6),
        Column("requests (F)"),
        Column("pages read"),
        Column("in vain (G)"),
        Column("predicted"),
        Column("measured"),
    ]
    return _without_empty(Table(columns, rows, marked=frozenset({marked})))


def _window_row(subject: Subject, window: int, what: str) -> list[str]:
    total = subject.prediction.total
    row = row_of(total, window)
    counts = ["–"] * 3
    if row is not None:
        counts = [count(total.f[row]), count(total.pages[row]), count(total.g[row])]
    times = [seconds(_seconds_at(subject, how, window)) for how in ("Predicted", "Measured")]
    return [kib(window * subject.page_kb), what, *counts, *times]


def _without_empty(table: Table) -> Table:
    """Leave out the columns that have no value at all."""
    kept = [n for n in range(len(table.columns)) if any(row[n] != "–" for row in table.rows)]
    return Table(
        [table.columns[n] for n in kept],
        [[row[n] for n in kept] for row in table.rows],
        table.caption,
        table.marked,
    )


def _how(subject: Subject) -> list[Block]:
    names = [curve.name for curve in subject.prediction.devices if curve.name]
    knobs = [shell_words([f"/sys/block/{name}/queue/read_ahead_kb"]) for name in names]
    lines = [f"echo {subject.window_kb} > {knob}" for knob in knobs]
    if not lines or subject.recording.capture is None:
        return []
    text = "Until the next boot, as root (foreread script writes what does it at every boot):"
    return [Paragraph(text), Code(lines)]


def caveats(subject: Subject) -> list[str]:
    """Return what limits the answer, the gravest first."""
    recording, capture = subject.recording, subject.recording.capture
    found = []
    if recording.contaminated:
        found.append(
            "The recording is contaminated: it was not made at read_ahead_kb=0, so pages that the "
            "kernel's readahead brought in are mixed with those the application touched. "
            "Record again at read_ahead_kb=0."
        )
    lost = lost_events(subject)
    if lost:
        found.append(
            f"{plural(lost, 'event')} lost: pages are missing from every figure here. Record again "
            "with larger buffers."
        )
    if capture is None:
        found.append(
            "A foreign trace without foreread's metadata: board, command, file sizes and cold "
            "caches are unknown."
        )
    elif not capture.cold.proven:
        found.append("The caches were not proven cold before the run: pages may be missing.")
    if capture is not None and (capture.signal or capture.exit_status):
        end = f"signal {capture.signal}" if capture.signal else f"status {capture.exit_status}"
        found.append(f"The command failed ({end}): what was recorded may not be a full start-up.")
    if subject.unanswered:
        found.append(f"{plural(subject.unanswered, 'request')} without a recorded completion.")
    return found + _model_limits(subject)


def _model_limits(subject: Subject) -> list[str]:
    limits = []
    if subject.prediction.model == "fixed":
        limits.append(
            "The fixed-window model reads a whole window at every miss and no metadata; the "
            "kernel grows and shrinks its window, and reads metadata too."
        )
    if subject.prediction.total.seconds is None:
        limits.append(
            "No device model was given: the answer weighs a request like a page read in vain, "
            "which a fast or a slow device may not."
        )
    return limits


def lost_events(subject: Subject) -> int:
    """Return how many events were lost, as the capture or else the trace says."""
    capture = subject.recording.capture
    counted = sum(capture.lost.values()) if capture is not None else 0
    return max(counted, sum(subject.recording.trace.lost.values()))


def spread_of(values: list[float]) -> str:
    """Return the range of repeated seconds around their median: ``−1.2 … +3.4 %``."""
    middle = median(values)
    if len(values) < 2 or not middle:
        return "–"
    low, high = (min(values) - middle) / middle, (max(values) - middle) / middle
    return f"{percent(low, signed=True).removesuffix(' %')} … {percent(high, signed=True)}"


def _sentence(text: str) -> str:
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"
