"""Proves the answer for a suite: each start is measured at the window now and at the chosen one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from foreread.analyzer.confirm.document import confirmation_document
from foreread.analyzer.confirm.sequential import mean_seconds, outcome_of
from foreread.analyzer.confirm.text import stored
from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.ingest.load import load
from foreread.analyzer.suite.answer import SuiteDisk
from foreread.analyzer.suite.predicted import SuiteQuestion, predict_suite
from foreread.analyzer.suite.read import BoardCases, Case, SuiteError, read_suite
from foreread.boards.base.silent import silent
from foreread.checks import checked_number, checked_path
from foreread.documents.suite import SuiteBoardProof, SuiteConfirmationDocument, SuiteStartProof
from foreread.error import ArgumentError
from foreread.measuring.comparison import PairProgress
from foreread.measuring.confirm import confirm
from foreread.measuring.options import ConfirmOptions
from foreread.question import Question
from foreread.tracer.formats.confirmation import Confirmation
from foreread.tracer.trials.trial import Scenario


@dataclass(frozen=True)
class _Proof:
    """How every start is measured."""

    question: SuiteQuestion
    options: ConfirmOptions
    tell: Callable[[str], None]
    progress: Callable[[PairProgress], None]


def confirm_suite(
    suite: StrPath,
    options: ConfirmOptions | None = None,
    *,
    question: SuiteQuestion | None = None,
    tell: Callable[[str], None] = silent,
    progress: Callable[[PairProgress], None] = silent,
) -> SuiteConfirmationDocument:
    """Measure every start of a suite at the present window and at the window of the answer.

    Each start is measured as by :func:`foreread.confirm`, and the result is stored in its first
    capture. A start with a decided result about this window and scenario in its capture is not
    measured again: a repeated call continues an interrupted proof.

    Args:
        suite: path of the suite.
        options: the window to prove on all disks (None: the answer's), and for how long each
            start is measured; without ``row``, ``question`` and ``resume``.
        question: how the answer is predicted.
        tell: is called with each step, in words.
        progress: is called after each run.

    Raises:
        ArgumentError: options that a suite has not.
        SuiteError: the suite cannot be read, or no disk gets another window.
        tracer.error.RecordError: the runs cannot be made.
    """
    starts = read_suite(checked_path(suite, "suite"))
    options = options or ConfirmOptions()
    if options.row or options.question or options.resume:
        raise ArgumentError(
            "a suite has no row of advice, no question of one start, and nothing to resume",
            "leave out row, question and resume",
        )
    how, read_ahead_kb = question or SuiteQuestion(), options.read_ahead_kb
    checked_number(options.runs, "runs", least=1)
    options = replace(options, scenario=Scenario.parse(options.scenario).text)
    proof = _Proof(how, options, tell, progress)
    answer = predict_suite(starts, how, tell)
    proofs, unchanged = [], []
    boards = {board.board.name: board for board in starts.boards}
    for board in answer.boards:
        for disk in board.disks:
            kib = disk.verdict.read_ahead_kb if disk.verdict.action == "set" else None
            kib = kib if read_ahead_kb is None else read_ahead_kb
            if kib is None:
                unchanged.append(f"{disk.name} of {board.name}: {disk.verdict.why}")
            else:
                proofs.append(_disk(boards[board.name], disk, kib, proof))
    if not proofs:
        raise SuiteError(
            f"{starts.path}: no disk gets another window: {'; '.join(unchanged)}",
            f"test a window: foreread confirm --suite {starts.path} --read-ahead-kb K",
        )
    return SuiteConfirmationDocument(suite=starts.name, boards=proofs, unchanged=unchanged)


def _disk(board: BoardCases, disk: SuiteDisk, kib: int, proof: _Proof) -> SuiteBoardProof:
    names = {start.name for start in disk.starts} | {start.name for start in disk.unpredicted}
    cases = [case for case in board.cases if case.start.name in names]
    starts = [_start(board, case, kib, proof) for case in cases]
    predicted = dict(zip(disk.windows_kb, disk.seconds_by_window, strict=True)).get(kib)
    now = None if proof.options.conditions else disk.seconds_now
    return proof_of(
        board.board.name,
        disk.name,
        kib,
        starts,
        None if not now or predicted is None else 1 - predicted / now,
    )


def _start(board: BoardCases, case: Case, kib: int, proof: _Proof) -> SuiteStartProof:
    path, name = case.captures[0], case.start.name
    capture = load(path).capture
    decided = [
        result
        for result in stored(capture)
        if (result.proposed_kb, result.conditions) == (kib, proof.options.conditions)
        and result.outcome != "undecided"
    ]
    if capture.command is not None and decided:
        when = f"{decided[-1].date}{proof.options.conditions}"
        proof.tell(f"{name} on {board.board.name}: proven on {when}")
        return _proof(case, path, decided[-1], capture.command, None, measured=False)
    proof.tell(f"measuring {name} on {board.board.name}")
    question = proof.question
    options = replace(
        proof.options,
        read_ahead_kb=kib,
        question=Question(
            model=question.model, device_model=question.device_model or board.device_model
        ),
    )
    confirmed = confirm(
        path,
        options,
        target=board.board.target,
        identity=board.identity,
        tell=proof.tell,
        progress=proof.progress,
    )
    command, gain = confirmed.capture.command or [], confirmed.predicted_gain
    return _proof(case, path, confirmed.result, command, gain, measured=True)


def _proof(
    case: Case,
    path: Path,
    of: Confirmation,
    command: list[str],
    predicted_gain: float | None,
    measured: bool,
) -> SuiteStartProof:
    now, then = mean_seconds(of.pairs)
    return SuiteStartProof(
        name=case.start.name,
        weight=case.start.weight,
        capture=str(path),
        measured=measured,
        seconds_now=now,
        seconds=then,
        result=confirmation_document(of, command, predicted_gain),
    )


def proof_of(
    board: str,
    disk: str,
    kib: int,
    starts: Sequence[SuiteStartProof],
    predicted_gain: float | None = None,
) -> SuiteBoardProof:
    """Return the result of a disk from the results of all its starts.

    The ends of the interval are weighted sums of the ends of the starts' intervals, as if all
    errors had one direction.
    """
    nows = [each.weight * each.seconds_now for each in starts if each.seconds_now is not None]
    thens = [each.weight * each.seconds for each in starts if each.seconds is not None]
    whole = len(nows) == len(thens) == len(starts) > 0
    now, then = (sum(nows), sum(thens)) if whole else (None, None)
    low = _end([each.result.low for each in starts], nows)
    high = _end([each.result.high for each in starts], nows)
    return SuiteBoardProof(
        board=board,
        disk=disk,
        read_ahead_kb=kib,
        outcome=outcome_of(low, high),
        seconds_now=now,
        seconds=then,
        gain=None if not now or then is None else 1 - then / now,
        low=low,
        high=high,
        predicted_gain=predicted_gain,
        starts=list(starts),
    )


def _end(ends: Sequence[float | None], nows: Sequence[float]) -> float | None:
    """Return the weighted mean of one end of the starts' intervals; None if any is unknown."""
    finite = [end for end in ends if end is not None]
    if not finite or len(finite) < len(ends) or len(nows) < len(ends):
        return None
    return sum(end * now for end, now in zip(finite, nows, strict=True)) / sum(nows)
