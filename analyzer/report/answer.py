"""The report's first section: the window, the reason, the gain, and warnings."""

from __future__ import annotations

from foreread.analyzer.confirm.sequential import TOO_SMALL
from foreread.analyzer.confirm.text import cited_upper, contradicting, stored
from foreread.analyzer.predict.holds_for import holds_for
from foreread.analyzer.predict.prediction import NO_READAHEAD, Curve
from foreread.analyzer.predict.remedy import target_words
from foreread.analyzer.report.blocks import (
    Block,
    Bullets,
    Code,
    Column,
    Facts,
    Paragraph,
    Section,
    Table,
)
from foreread.analyzer.report.by_load import by_load
from foreread.analyzer.report.caveats import caveats, sentence
from foreread.analyzer.report.stacks import knobs_now, stack_facts, whose_window
from foreread.analyzer.report.subject import Subject, row_of
from foreread.analyzer.report.tuned_answer import answering, tuned_answer, tuned_headline
from foreread.analyzer.report.wording import count, seconds, shell_words
from foreread.analyzer.report.worth import contradiction, measured_s, predicted_s, worth
from foreread.boards.base.units import KIB, kib_text, size_text


def answer(subject: Subject) -> Section:
    """Return the section that a reader with a minute reads."""
    tuned = answering(subject)
    target = target_words(subject.recording.capture)
    blocks = tuned_answer(tuned, target) if tuned else []
    against = contradiction(subject)
    if against:
        blocks.append(Bullets([against], warning=True))
    otherwise = tuned is not None or measured_otherwise(subject) is not None
    predicted = "Predicted: " if otherwise else ""
    blocks.append(Paragraph(sentence(predicted + subject.prediction.verdict.why)))
    blocks.append(_where(subject))
    facts = [sentence(fact) for fact in stack_facts(subject)]
    blocks += [Bullets(facts)] if facts else []
    blocks += _confirmed(subject)
    if subject.prediction.verdict.remedy:
        blocks += [Paragraph("To get an answer, run:"), Code([subject.prediction.verdict.remedy])]
    blocks += [Paragraph(text) for text in worth(subject)]
    if subject.prediction.total.tap:
        blocks.append(_windows(subject))
    blocks += by_load(subject)
    if subject.prediction.verdict.action == "set" and not otherwise:
        blocks += _how(subject)
    beware = caveats(subject)
    if beware:
        blocks += [Paragraph("Before relying on it:"), Bullets(beware, warning=True)]
    return Section("answer", headline(subject), blocks)


def headline(subject: Subject) -> str:
    """Return the answer in one line."""
    if tuned := answering(subject):
        return tuned_headline(tuned)
    verdict = subject.prediction.verdict
    faster_kb = measured_otherwise(subject)
    if faster_kb is not None and verdict.action in ("set", "keep"):
        predicted = kib_text(verdict.read_ahead_kb)
        return f"Measured fastest: {kib_text(faster_kb)}, not the predicted {predicted}"
    if verdict.action == "set":
        was = f" (now {kib_text(subject.current_kb)})" if subject.current_known else ""
        return f"Set read_ahead_kb to {verdict.read_ahead_kb:,} KiB{was}"
    if verdict.action == "keep":
        return f"Keep read_ahead_kb at {kib_text(verdict.read_ahead_kb)}"
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
    """Return the board, the cost of its disk and the load, for which the answer holds."""
    capture, prediction = subject.recording.capture, subject.prediction
    kernel = f"Linux {subject.recording.kernel or 'of an unknown version'}"
    rows = [("Board", kernel)]
    host = capture.host
    if host is not None:
        target = target_words(capture)
        name = target[1] if target else host.nodename or "unnamed"
        cpu = f"{host.cpu_count} × {host.cpu_model or host.machine}"
        rows = [("Board", f"{name}: {cpu}, {size_text(host.memory_kib * KIB)}, {kernel}")]
    names = " and ".join(curve.name for curve in prediction.worth_setting) or "unknown"
    cost = prediction.disk_cost or "cost unknown"
    path = shell_words([subject.recording.path or "CAPTURE"])
    load = holds_for(prediction.verdict, path, prediction.beside)
    loads = [("Load", load)] if load else []
    return Facts([*rows, ("Disk", f"{names}: {cost}"), *loads, *whose_window(subject)])


def _confirmed(subject: Subject) -> list[Block]:
    """Return the result of the runs at the present and at the proposed window."""
    proofs = stored(subject.recording.capture)
    proved = [Paragraph(cited_upper(proof)) for proof in proofs if proof.outcome != "contradicted"]
    against = [cited_upper(proof) for proof in proofs if proof.outcome == "contradicted"]
    return [*proved, *([Bullets(against, warning=True)] if against else [])]


def _windows(subject: Subject) -> Table:
    """Return the few windows worth comparing, each once, with all its reasons."""
    total = subject.prediction.total
    wanted = {0: ["no readahead"]}
    if subject.reference.name != NO_READAHEAD:
        wanted.setdefault(subject.current_window, []).append(subject.reference.name)
    wanted.setdefault(total.quasi_optimal, []).append("quasi-optimal (smallest C_opt)")
    if total.smallest_within not in (None, total.predicted_best):
        wanted.setdefault(total.smallest_within, []).append("smallest within the best's band")
    if total.predicted_best is not None:
        wanted.setdefault(total.predicted_best, []).append("predicted best (fewest seconds)")
    if subject.prediction.verdict.action == "set":
        what = "predicted for an idle machine" if answering(subject) else "recommended"
        wanted.setdefault(subject.window, []).insert(0, what)
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
    times = [seconds(predicted_s(total, window)), seconds(measured_s(subject, window))]
    return [kib_text(window * subject.page_kb), what, *counts, *times]


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
    if not subject.recording.capture.mounts:
        return []
    curves = subject.prediction.worth_setting
    lines = [
        f"echo {kb} > " + shell_words([knob])
        for curve in curves
        if (kb := _kb_for(subject, curve, len(curves) == 1)) is not None
        for knob in knobs_now(subject, curve)
    ]
    target = target_words(subject.recording.capture)
    where = "as root"
    if target:
        by_ssh = target[1].startswith("ssh://")
        where = "by ssh" if by_ssh else f"as root on the board ({target[1]}), not on this machine"
    path = subject.recording.path or "CAPTURE"
    published = subject.prediction.verdict.by == "criterion"
    criterion = ["--criterion", "published"] if published else []
    loads = subject.prediction.loads.words if subject.prediction.loads else []
    words = ["foreread", "script", path, *criterion, *loads, "-o", "boot", *_installing(target)]
    return [
        *([Paragraph(f"Until the next boot, {where}:")] if lines else []),
        *([Code(_on_target(target, lines))] if lines else []),
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
