"""What commands print about a suite: each board, each disk, each start."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from foreread.analyzer.confirm.text import gain_text, interval_text
from foreread.analyzer.predict.holds_for import holds_for
from foreread.analyzer.suite.answer import (
    SuiteAdvice,
    SuiteAdviceDisk,
    SuiteAdviceRow,
    SuiteBoardAnswer,
    SuiteDisk,
    SuiteDocument,
    SuiteStartAnswer,
)
from foreread.boards.base.counted import plural
from foreread.boards.base.printable import printable
from foreread.boards.base.units import percent, percent_text
from foreread.cli.text.answer import answer_text, cut
from foreread.cli.text.table import plus_minus, render
from foreread.documents.suite import SuiteBoardProof, SuiteConfirmationDocument
from foreread.tracer.formats.scenario import beside

_ADVICE_ROWS = 12
_CHANGE = 50  # columns
ADVICE_MORE = "every row, and the commands that measure them"
SUITE_MORE = "the published criterion, and the load that the windows are predicted for"
_HEAD = ("start", "weight", "captures", "now", "s now", "s then", "band", "own", "s own", "regret")


def suite_text(document: SuiteDocument, *, verbose: bool = False) -> str:
    """Return the answer for a suite: each disk of each board."""
    disks = [(board, disk) for board in document.boards for disk in board.disks]
    parts = [_disk(board, disk, verbose) for board, disk in disks]
    parts += [line for board in document.boards for line in _of_board(board)]
    measured = shlex.join(["--suite", document.path])
    loads = dict.fromkeys(holds_for(disk.verdict, measured) for _, disk in disks)
    end = [f"load: {printable(load)}" for load in loads if load] if verbose else []
    return "\n\n".join([*parts, "\n".join(end or [f"more: --verbose ({SUITE_MORE})"])])


def _of_board(board: SuiteBoardAnswer) -> Iterator[str]:
    """Yield what one window for all disks costs, and the disks without an answer."""
    if board.one_window is not None:
        common = board.one_window
        yield printable(
            f"{board.name}: one window for all disks, {common.read_ahead_kb:,} KiB: "
            f"{common.seconds:.3f} weighted seconds; a window for each disk: "
            f"{common.seconds_by_disk:.3f} s"
        )
    for idle in board.idle:
        yield printable(f"{idle.name}: {idle.why}")


def _disk(board: SuiteBoardAnswer, disk: SuiteDisk, verbose: bool) -> str:
    kernel = f"Linux {board.kernel}" if board.kernel else "unknown kernel"
    machine = f", {board.machine}" if board.machine else ""
    captures = plural(board.captures, "capture")
    table = render(_HEAD, [_start(start) for start in disk.starts], left=frozenset({0}))
    return answer_text(
        list(_verdict(board, disk)),
        [table] if disk.starts else [],
        doubts=[f"{start.name}: {doubt}" for start in disk.starts for doubt in start.doubts],
        basis=[
            *_figures(disk),
            f"{captures} of {board.name} ({kernel}{machine})",
            *(_published(disk) if verbose else ()),
        ],
        verbose=verbose,
    )


def _verdict(board: SuiteBoardAnswer, disk: SuiteDisk) -> Iterator[str]:
    verdict = disk.verdict
    kib = verdict.read_ahead_kb
    value = "" if kib is None else f" read_ahead_kb={kib}"
    yield f"verdict: {verdict.action}{value} ({disk.name} of {board.name})"
    yield f"  {verdict.why}"
    if verdict.remedy is not None:
        yield f"  run: {verdict.remedy}"
    for other in disk.unpredicted[1:]:
        yield f"  {other.name}: {other.why}"
        if other.remedy:
            yield f"  run: {other.remedy}"


def _figures(disk: SuiteDisk) -> Iterator[str]:
    """Yield lines on the saving, on the starts under it, and on other ways."""
    if disk.saved is not None and disk.saved_band is not None and disk.confidence is not None:
        yield (
            f"saves {disk.saved:.3f} weighted seconds ({plus_minus(disk.saved_band)}); "
            f"within 1 % of the fastest window in {percent_text(disk.confidence, 0)} of the draws"
        )
    worst = next((start for start in disk.starts if start.name == disk.worst_start), None)
    if worst is not None and disk.least_regret_kb is not None:
        yield (
            f"worst start: {worst.name}, {percent_text(worst.regret)} of its seconds now "
            f"lost against its own {worst.own_read_ahead_kb:,} KiB; the largest regret is smallest "
            f"at {disk.least_regret_kb:,} KiB"
        )
    if disk.seconds_each_its_own is not None and disk.seconds is not None:
        gain = disk.seconds - disk.seconds_each_its_own
        yield (
            f"a window for each start, set before it starts: {disk.seconds_each_its_own:.3f} s, "
            f"{gain:.3f} s less"
        )


def _published(disk: SuiteDisk) -> Iterator[str]:
    """Yield the window of the published criterion."""
    if disk.published is not None:
        paper = disk.published
        seconds = "" if paper.seconds is None else f": {paper.seconds:.3f} weighted seconds"
        yield (
            f"published criterion F² + G², summed over the starts: {paper.read_ahead_kb:,} KiB "
            f"(F = {paper.f:,}, G = {paper.g:,}){seconds}"
        )


def _start(start: SuiteStartAnswer) -> tuple[str, ...]:
    return (
        start.name,
        f"{start.weight:g}",
        str(start.captures),
        f"{start.read_ahead_kb_now:,} KiB",
        f"{start.seconds_now:.3f}",
        f"{start.seconds:.3f}",
        f"{start.seconds_low:.3f}-{start.seconds_high:.3f}",
        f"{start.own_read_ahead_kb:,} KiB",
        f"{start.own_seconds:.3f}",
        f"{percent_text(start.regret)}",
    )


def proof_text(document: SuiteConfirmationDocument) -> str:
    """Return what was measured for a suite."""
    parts = ["\n".join(_proof(each)) for each in document.boards]
    parts += [f"unchanged: {printable(each)}" for each in document.unchanged]
    return "\n\n".join(parts)


def _proof(proof: SuiteBoardProof) -> Iterator[str]:
    kib = f"{proof.read_ahead_kb:,} KiB on {proof.disk} of {proof.board}"
    if proof.gain is None or proof.low is None or proof.high is None:
        yield printable(f"{proof.outcome}: {kib}")
    else:
        saves = f"saves {percent(proof.gain)} % ({interval_text(proof.low, proof.high)})"
        seconds = f"{proof.seconds_now:.3f} -> {proof.seconds:.3f} weighted seconds"
        yield printable(f"{proof.outcome}: {kib} {saves}, {seconds}")
    if proof.predicted_gain is not None:
        yield f"  predicted: saves {percent(proof.predicted_gain)} %"
    for start in proof.starts:
        pairs = plural(len(start.result.pairs), "pair")
        when = "" if start.measured else f", measured on {start.result.date}"
        outcome = f"{start.result.outcome}{beside(start.result.scenario)}"
        text = f"{start.name}: {outcome}: {gain_text(start.result)}, {pairs}{when}"
        yield f"  {printable(text)}"


def advice_text(document: SuiteAdvice, *, verbose: bool = False) -> str:
    """Return the advice for a suite; ``verbose``: all rows, and how to measure them."""
    parts = ["\n".join(_advice(disk, verbose)) for disk in document.disks]
    return "\n\n".join([*parts, *([] if verbose else [f"more: --verbose ({ADVICE_MORE})"])])


def _advice(disk: SuiteAdviceDisk, verbose: bool) -> Iterator[str]:
    kib, now, then = disk.verdict.read_ahead_kb, disk.seconds_now, disk.seconds
    window = disk.verdict.action + ("" if kib is None else f" read_ahead_kb={kib}")
    seconds = "" if now is None or then is None else f", {now:.3f} -> {then:.3f} weighted seconds"
    yield printable(f"{disk.disk} of {disk.board}: {window}{seconds}")
    if disk.verdict.remedy is not None:
        yield f"  run: {printable(disk.verdict.remedy)}"
    yield from (printable(f"  {each.name}: {each.why}") for each in disk.unpredicted)
    shown = disk.rows if verbose else disk.rows[:_ADVICE_ROWS]
    if shown:
        head = ("weighted s", "seconds", "saves", "band", "start", "change")
        yield render(head, [_advice_row(each, verbose) for each in shown], left=frozenset({4}))
    elif disk.seconds is not None:
        yield "nothing else found that saves more than its band"
    if len(disk.rows) > len(shown):
        yield f"and {len(disk.rows) - len(shown)} more"
    for each in shown if verbose else ():
        if each.row.measure is not None:
            yield printable(f"  measure {each.start}, {each.row.kind}: {each.row.measure}")


def _advice_row(advised: SuiteAdviceRow, verbose: bool) -> tuple[str, ...]:
    row = advised.row
    what = row.what if verbose else cut(printable(row.what), _CHANGE)
    seconds = (
        f"{advised.saved:.3f}",
        f"{row.seconds:.3f}",
        f"{row.saved:.3f}",
        plus_minus(row.band),
    )
    return (*seconds, advised.start, what)
