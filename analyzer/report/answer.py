"""The report's first section: the window, the reason, the gain, and warnings."""

from __future__ import annotations

from statistics import median

from analyzer.confirm.sequential import TOO_SMALL
from analyzer.confirm.text import cited_upper, contradicting, stored
from analyzer.predict.prediction import Curve
from analyzer.predict.remedy import target_words
from analyzer.report.blocks import Block, Bullets, Code, Column, Facts, Paragraph, Section, Table
from analyzer.report.subject import Subject, row_of
from analyzer.report.wording import count, kib, percent, seconds, shell_words, size
from boards.counted import plural

UNANSWERED = 0.01  # share of reads without a completion from which on the report warns


def answer(subject: Subject) -> Section:
    """Return the section that a reader with a minute reads."""
    blocks: list[Block] = []
    against = _contradiction(subject)
    if against:
        blocks.append(Bullets([against], warning=True))
    predicted = "Predicted: " if measured_otherwise(subject) is not None else ""
    blocks.append(Paragraph(_sentence(predicted + subject.prediction.verdict.why)))
    blocks.append(_where(subject))
    blocks += _confirmed(subject)
    if subject.prediction.verdict.remedy:
        blocks += [Paragraph("To get an answer, run:"), Code([subject.prediction.verdict.remedy])]
    blocks += [Paragraph(text) for text in _worth(subject)]
    if subject.prediction.total.tap:
        blocks.append(_windows(subject))
    if subject.prediction.verdict.action == "set" and measured_otherwise(subject) is None:
        blocks += _how(subject)
    beware = caveats(subject)
    if beware:
        blocks += [Paragraph("Before relying on it:"), Bullets(beware, warning=True)]
    return Section("answer", headline(subject), blocks)


def headline(subject: Subject) -> str:
    """Return the answer in one line."""
    verdict = subject.prediction.verdict
    faster_kb = measured_otherwise(subject)
    if faster_kb is not None and verdict.action in ("set", "keep"):
        return f"Measured fastest: {kib(faster_kb)}, not the predicted {kib(verdict.read_ahead_kb)}"
    if verdict.action == "set":
        was = f" (now {kib(subject.current_kb)})" if subject.current_known else ""
        return f"Set read_ahead_kb to {verdict.read_ahead_kb:,} KiB{was}"
    if verdict.action == "keep":
        return f"Keep read_ahead_kb at {kib(verdict.read_ahead_kb)}"
    if verdict.action == "measure":
        return "Measure first: the start-up seconds cannot be predicted"
    return "Keep the current settings: no window to recommend"


def measured_otherwise(subject: Subject) -> int | None:
    """Return the window (KiB) that measurements found faster than the verdict's; None if none.

    None, too, where the difference is at most TOO_SMALL of the time at the default window, or
    their runs overlap.
    """
    kb, validation = subject.prediction.verdict.read_ahead_kb, subject.validation
    if kb is None:
        return None
    against = contradicting(subject.recording.capture, kb)
    if against is not None:
        return against.present_kb
    regret = None if validation is None else validation.regret_proposed
    if validation is None or regret is None or regret <= TOO_SMALL or subject.sweep is None:
        return None
    runs = {point.read_ahead_kb: point.seconds for point in subject.sweep.points}
    chosen, best = validation.proposed_read_ahead_kb, validation.best_read_ahead_kb
    apart = chosen in runs and min(runs[chosen]) > max(runs[best])
    return best if apart else None


def _where(subject: Subject) -> Facts:
    """Return the board and the cost of its disk, for which the answer holds."""
    capture, prediction = subject.recording.capture, subject.prediction
    kernel = f"Linux {subject.recording.kernel or 'of an unknown version'}"
    rows = [("Board", kernel)]
    if capture is not None:
        host, target = capture.host, target_words(capture)
        name = target[1] if target else host.nodename or "unnamed"
        cpu = f"{host.cpu_count} × {host.cpu_model or host.machine}"
        rows = [("Board", f"{name}: {cpu}, {size(host.memory_kib * 1024)}, {kernel}")]
    names = " and ".join(curve.name for curve in prediction.worth_setting) or "unknown"
    cost = prediction.disk_cost or "cost unknown"
    return Facts([*rows, ("Disk", f"{names}: {cost}")])


def _confirmed(subject: Subject) -> list[Block]:
    """Return the result of the runs at the present and at the proposed window."""
    found = stored(subject.recording.capture)
    proved = [Paragraph(cited_upper(one)) for one in found if one.outcome != "contradicted"]
    against = [cited_upper(one) for one in found if one.outcome == "contradicted"]
    return [*proved, *([Bullets(against, warning=True)] if against else [])]


def _worth(subject: Subject) -> list[str]:
    """Return the gain of the change, first measured, then predicted, in one sentence each."""
    if subject.prediction.verdict.action != "set":
        return _regret(subject)
    total, now, new = subject.prediction.total, subject.current_window, subject.window
    predicted = _gain(
        "Predicted", subject, (now, _predicted(total, now)), (new, _predicted(total, new))
    )
    return _measured_gain(subject) + predicted + _counts(subject) + _regret(subject)


def _measured_gain(subject: Subject) -> list[str]:
    if subject.validation is None or _contradiction(subject):
        return []
    return _gain("Measured", subject, *_measured_pair(subject))


def _contradiction(subject: Subject) -> str | None:
    """Say so when the sweep found the recommended window slower than the one in force."""
    validation = subject.validation
    if subject.prediction.verdict.action != "set" or validation is None:
        return None
    (now, now_s), (new, new_s) = _measured_pair(subject)
    if now_s is None or new_s is None or new_s <= now_s:
        return None
    return (
        f"The measurements contradict this: start-up took {seconds(new_s)} with "
        f"{kib(new * subject.page_kb)} and {seconds(now_s)} with {kib(now * subject.page_kb)}; "
        f"the shortest start-up had {kib(validation.best_read_ahead_kb)}."
    )


Timed = tuple[int, float | None]  # window in pages, seconds


def _measured_pair(subject: Subject) -> tuple[Timed, Timed]:
    """Return the measurements at the default and at the recommended window; None without them."""
    assert subject.validation is not None
    points = subject.validation.points
    default_kb = subject.validation.default_read_ahead_kb
    default = next(p for p in points if p.read_ahead_kb == default_kb)
    chosen = (subject.window, _measured(subject, subject.window))
    return (default.window, default.measured.seconds), chosen


def _gain(what: str, subject: Subject, now: Timed, new: Timed) -> list[str]:
    if not now[1] or new[1] is None:
        return []
    gain = (now[1] - new[1]) / now[1]
    change = f"{percent(abs(gain))} {'shorter' if gain >= 0 else 'longer'}"
    return [
        f"{what} start-up: {seconds(now[1])} with {kib(now[0] * subject.page_kb)}, "
        f"{seconds(new[1])} with {kib(new[0] * subject.page_kb)}, {change}."
    ]


def _predicted(curve: Curve, window: int) -> float | None:
    row = row_of(curve, window)
    return None if curve.seconds is None or row is None else curve.seconds[row]


def _measured(subject: Subject, window: int) -> float | None:
    points = [] if subject.validation is None else subject.validation.points
    return next((p.measured.seconds for p in points if p.window == window), None)


def _counts(subject: Subject) -> list[str]:
    total = subject.prediction.total
    now, new = row_of(total, subject.current_window), row_of(total, subject.window)
    if now is None or new is None or not total.f[now]:
        return []
    reference = "now" if subject.current_known else "with the kernel's default"
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
        return [f"The fastest window measured was {kib(best)}."]
    regret = validation.regret_proposed
    if regret is None:
        return [
            f"The fastest window measured was {kib(best)}; {kib(chosen)} was not measured, so "
            "its regret is unknown."
        ]
    if chosen == best:
        return [f"The sweep agrees: {kib(best)} was the fastest window measured."]
    return [
        f"The fastest window measured was {kib(best)}; the recommended one, {kib(chosen)}, misses "
        f"{percent(regret)} of the default's start-up time (regret)."
    ]


def _answer_kb(subject: Subject) -> int | None:
    """Return the window that the verdict sets or keeps, in KiB; None if it names none."""
    return subject.prediction.verdict.read_ahead_kb


def _windows(subject: Subject) -> Table:
    """Return the few windows worth comparing, each once, with all its reasons."""
    total = subject.prediction.total
    wanted = {0: ["no readahead"]}
    current = "in force before" if subject.current_known else "kernel's default"
    wanted.setdefault(subject.current_window, []).append(current)
    wanted.setdefault(total.quasi_optimal, []).append("quasi-optimal (smallest C_opt)")
    if total.smallest_within not in (None, total.predicted_best):
        wanted.setdefault(total.smallest_within, []).append("smallest within the best's band")
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
    answered = subject.prediction.verdict.read_ahead_kb is not None and subject.window in wanted
    marked = sorted(wanted).index(subject.window) if answered else -1
    columns = [
        Column("window", "left"),
        Column("meaning", "left", share=2.6),
        Column("requests (F)"),
        Column("pages read"),
        Column("unused (G)"),
        Column("predicted"),
        Column("measured"),
    ]
    return without_empty(Table(columns, rows, marked=frozenset({marked})))


def _window_row(subject: Subject, window: int, what: str) -> list[str]:
    total = subject.prediction.total
    row = row_of(total, window)
    counts = ["–"] * 3
    if row is not None:
        counts = [count(total.f[row]), count(total.pages[row]), count(total.g[row])]
    times = [seconds(_predicted(total, window)), seconds(_measured(subject, window))]
    return [kib(window * subject.page_kb), what, *counts, *times]


def without_empty(table: Table) -> Table:
    """Leave out the columns that have no value at all."""
    kept = [n for n in range(len(table.columns)) if any(row[n] != "–" for row in table.rows)]
    return Table(
        [table.columns[n] for n in kept],
        [[row[n] for n in kept] for row in table.rows],
        table.caption,
        table.marked,
    )


def _how(subject: Subject) -> list[Block]:
    if subject.recording.capture is None:
        return []
    curves = subject.prediction.worth_setting
    lines = [
        f"echo {kb} > " + shell_words([f"/sys/block/{curve.name}/queue/read_ahead_kb"])
        for curve in curves
        if (kb := _kb_for(subject, curve, len(curves) == 1)) is not None
    ]
    target = target_words(subject.recording.capture)
    where = "as root"
    if target:
        by_ssh = target[1].startswith("ssh://")
        where = "by ssh" if by_ssh else f"as root on the board ({target[1]}), not on this machine"
    path = subject.recording.path or "CAPTURE"
    published = subject.prediction.verdict.by == "criterion"
    criterion = ["--criterion", "published"] if published else []
    words = ["foreread", "script", path, *criterion, "-o", "boot", *_installing(target)]
    return [
        Paragraph(f"Until the next boot, {where}:"),
        Code(_on_target(target, lines)),
        Paragraph("At every boot (installs a boot script):" if target else _WRITES),
        Code([shell_words(words)]),
    ]


_WRITES = "At every boot (writes a boot script and how to install it into the folder boot):"


def _on_target(target: list[str], lines: list[str]) -> list[str]:
    """Return commands that run ``lines`` on a target reached by ssh, from this machine."""
    if not target or not target[1].startswith("ssh://"):
        return lines
    key = ["-i", target[3]] if target[2:3] == ["--identity"] else []
    return [shell_words(["ssh", *key, "--", target[1], line]) for line in lines]


def _installing(target: list[str]) -> list[str]:
    return ["--install", *target] if target else []


def _kb_for(subject: Subject, curve: Curve, only_disk: bool) -> int | None:
    """Return the window for one disk; with several, each disk's own, as the boot script has it.

    None for a disk that keeps its window.
    """
    window = subject.window if only_disk else subject.prediction.window_for(curve)
    return None if window is None else int(window * subject.page_kb)


def caveats(subject: Subject) -> list[str]:
    """Return the limits of the answer, the most serious first."""
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
        found.append(
            "The caches could not be shown to be cold before the run: pages may be missing."
        )
    if capture is not None and (capture.signal or capture.exit_status):
        end = f"signal {capture.signal}" if capture.signal else f"status {capture.exit_status}"
        found.append(
            f"The command failed ({end}): the recording may not contain a complete start-up."
        )
    if subject.unanswered > UNANSWERED * subject.reads.sum():
        found.append(f"{plural(subject.unanswered, 'read')} without a recorded completion.")
    return found + _model_limits(subject)


def _model_limits(subject: Subject) -> list[str]:
    limits = []
    if subject.prediction.model == "fixed":
        limits.append(
            "The fixed-window model reads a whole window at every miss and no metadata; the "
            "kernel grows and shrinks its window, and reads metadata too."
        )
    if subject.prediction.verdict.by == "criterion":
        limits.append(
            "The published criterion F² + G² gave the answer, as asked: it ignores the speed of "
            "the disk and gives a request and an unused page the same weight."
        )
    return limits + [_sentence(doubt) for doubt in subject.prediction.doubts]


def lost_events(subject: Subject) -> int:
    """Return the number of lost events, from the capture or else from the trace."""
    capture = subject.recording.capture
    counted = sum(capture.lost.values()) if capture is not None else 0
    return max(counted, sum(subject.recording.trace.lost.values()))


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


def _sentence(text: str) -> str:
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"
