"""What commands print about a suite: each board, each disk, each start."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from analyzer.confirm.text import gain_text, interval_text, percent
from analyzer.predict.holds_for import holds_for
from analyzer.suite.answer import (
    SuiteAdvice,
    SuiteAdviceDisk,
    SuiteAdviceRow,
    SuiteBoardAnswer,
    SuiteDisk,
    SuiteDocument,
    SuiteStartAnswer,
)
from boards.counted import plural
from foreread.cli.main import printable
from foreread.cli.text.table import plus_minus, render
from foreread.documents.suite import SuiteBoardProof, SuiteConfirmationDocument
from tracer.formats.scenario import beside

_ADVICE_ROWS = 20
_HEAD = ("start", "weight", "captures", "now", "s now", "s then", "band", "own", "s own", "regret")


def suite_text(found: SuiteDocument) -> str:
    """Return the answer for a suite."""
    parts = [part for board in found.boards for part in _board(board)]
    verdicts = [disk.verdict for board in found.boards for disk in board.disks]
    measured = shlex.join(["--suite", found.path])
    loads = dict.fromkeys(holds_for(verdict, measured) for verdict in verdicts)
    parts += [f"load: {printable(one)}" for one in loads if one]
    return "\n\n".join(parts)


def _board(board: SuiteBoardAnswer) -> Iterator[str]:
    kernel = f"Linux {board.kernel}" if board.kernel else "unknown kernel"
    machine = f", {board.machine}" if board.machine else ""
    yield printable(f"{board.name} ({kernel}{machine}): {plural(board.captures, 'capture')}")
    for disk in board.disks:
        yield "\n".join(_disk(disk))
    if board.one_window is not None:
        one = board.one_window
        yield (
            f"one window for all disks, {one.read_ahead_kb:,} KiB: {one.seconds:.3f} weighted "
            f"seconds; a window for each disk: {one.seconds_by_disk:.3f} s"
        )
    for idle in board.idle:
        yield printable(f"{idle.name}: {idle.why}")


def _disk(disk: SuiteDisk) -> Iterator[str]:
    yield printable(f"{disk.name}: {plural(len(disk.starts), 'start')}")
    if disk.starts:
        yield render(_HEAD, [_start(one) for one in disk.starts], left=frozenset({0}))
    verdict = disk.verdict
    kib = verdict.read_ahead_kb
    yield f"verdict: {verdict.action}" + ("" if kib is None else f" read_ahead_kb={kib}")
    yield f"  {printable(verdict.why)}"
    if verdict.remedy is not None:
        yield f"  run: {printable(verdict.remedy)}"
    yield from (f"  {line}" for line in _figures(disk))
    for one in disk.starts:
        yield from (f"  doubt: {printable(f'{one.name}: {doubt}')}" for doubt in one.doubts)
    for other in disk.unpredicted[1:]:
        yield f"  {printable(f'{other.name}: {other.why}')}"
        if other.remedy:
            yield f"  run: {printable(other.remedy)}"


def _figures(disk: SuiteDisk) -> Iterator[str]:
    """Yield lines on the saving, on the starts under it, and on other ways."""
    if disk.saved is not None and disk.saved_band is not None and disk.confidence is not None:
        yield (
            f"saves {disk.saved:.3f} weighted seconds ({plus_minus(disk.saved_band)}); "
            f"within 1 % of the fastest window in {100 * disk.confidence:.0f} % of the draws"
        )
    worst = next((one for one in disk.starts if one.name == disk.worst_start), None)
    if worst is not None and disk.least_regret_kb is not None:
        yield (
            f"worst start: {printable(worst.name)}, {100 * worst.regret:.1f} % of its seconds now "
            f"lost against its own {worst.own_read_ahead_kb:,} KiB; the largest regret is smallest "
            f"at {disk.least_regret_kb:,} KiB"
        )
    if disk.seconds_each_its_own is not None and disk.seconds is not None:
        gain = disk.seconds - disk.seconds_each_its_own
        yield (
            f"a window for each start, set before it starts: {disk.seconds_each_its_own:.3f} s, "
            f"{gain:.3f} s less"
        )
    if disk.published is not None:
        paper = disk.published
        seconds = "" if paper.seconds is None else f": {paper.seconds:.3f} weighted seconds"
        yield (
            f"published criterion F² + G², summed over the starts: {paper.read_ahead_kb:,} KiB "
            f"(F = {paper.f:,}, G = {paper.g:,}){seconds}"
        )


def _start(one: SuiteStartAnswer) -> tuple[str, ...]:
    return (
        one.name,
        f"{one.weight:g}",
        str(one.captures),
        f"{one.read_ahead_kb_now:,} KiB",
        f"{one.seconds_now:.3f}",
        f"{one.seconds:.3f}",
        f"{one.seconds_low:.3f}-{one.seconds_high:.3f}",
        f"{one.own_read_ahead_kb:,} KiB",
        f"{one.own_seconds:.3f}",
        f"{100 * one.regret:.1f} %",
    )


def proof_text(found: SuiteConfirmationDocument) -> str:
    """Return what was measured for a suite."""
    parts = ["\n".join(_proof(one)) for one in found.boards]
    parts += [f"unchanged: {printable(one)}" for one in found.unchanged]
    return "\n\n".join(parts)


def _proof(one: SuiteBoardProof) -> Iterator[str]:
    kib = f"{one.read_ahead_kb:,} KiB on {one.disk} of {one.board}"
    if one.gain is None or one.low is None or one.high is None:
        yield printable(f"{one.outcome}: {kib}")
    else:
        saves = f"saves {percent(one.gain)} % ({interval_text(one.low, one.high)})"
        seconds = f"{one.seconds_now:.3f} -> {one.seconds:.3f} weighted seconds"
        yield printable(f"{one.outcome}: {kib} {saves}, {seconds}")
    if one.predicted_gain is not None:
        yield f"  predicted: saves {percent(one.predicted_gain)} %"
    for start in one.starts:
        pairs = plural(len(start.result.pairs), "pair")
        when = "" if start.measured else f", measured on {start.result.date}"
        outcome = f"{start.result.outcome}{beside(start.result.scenario)}"
        text = f"{start.name}: {outcome}: {gain_text(start.result)}, {pairs}{when}"
        yield f"  {printable(text)}"


def advice_text(found: SuiteAdvice) -> str:
    """Return the advice for a suite."""
    return "\n\n".join("\n".join(_advice(disk)) for disk in found.disks)


def _advice(disk: SuiteAdviceDisk) -> Iterator[str]:
    kib, now, then = disk.verdict.read_ahead_kb, disk.seconds_now, disk.seconds
    window = disk.verdict.action + ("" if kib is None else f" read_ahead_kb={kib}")
    seconds = "" if now is None or then is None else f", {now:.3f} -> {then:.3f} weighted seconds"
    yield printable(f"{disk.disk} of {disk.board}: {window}{seconds}")
    if disk.verdict.remedy is not None:
        yield f"  run: {printable(disk.verdict.remedy)}"
    yield from (printable(f"  {one.name}: {one.why}") for one in disk.unpredicted)
    shown = disk.rows[:_ADVICE_ROWS]
    if shown:
        head = ("weighted s", "seconds", "saves", "band", "start", "change")
        yield render(head, [_advice_row(one) for one in shown], left=frozenset({4}))
    elif disk.seconds is not None:
        yield "nothing else found that saves more than its band"
    if len(disk.rows) > len(shown):
        yield f"and {len(disk.rows) - len(shown)} more (--json has all)"
    for one in shown:
        if one.row.measure is not None:
            yield printable(f"  measure {one.start}, {one.row.kind}: {one.row.measure}")


def _advice_row(one: SuiteAdviceRow) -> tuple[str, ...]:
    row = one.row
    seconds = (f"{one.saved:.3f}", f"{row.seconds:.3f}", f"{row.saved:.3f}", plus_minus(row.band))
    return (*seconds, one.start, row.what)
