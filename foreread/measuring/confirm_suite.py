"""Proves the answer for a suite: each start is measured at the window now and at the chosen one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from analyzer.confirm.document import confirmation_document
from analyzer.confirm.sequential import TOO_SMALL
from analyzer.confirm.text import stored
from analyzer.ingest.load import load
from analyzer.suite.answer import SuiteDisk
from analyzer.suite.predicted import SuiteQuestion, predict_suite
from analyzer.suite.read import BoardCases, Case, SuiteError, read_suite
from boards.base.silent import silent
from foreread.checks import StrPath, checked_number, checked_path
from foreread.documents.suite import SuiteBoardProof, SuiteConfirmationDocument, SuiteStartProof
from foreread.measuring.comparison import PairProgress
from foreread.measuring.confirm import MOST_RUNS, confirm
from foreread.question import Question
from tracer.formats.confirmation import Confirmation, Outcome
from tracer.formats.scenario import IDLE, beside
from tracer.local.command import Streams
from tracer.local.trial import Scenario


@dataclass(frozen=True)
class _Asked:
    """What ``confirm_suite`` was asked for, besides the suite."""

    question: SuiteQuestion
    runs: int
    seconds: float | None
    seed: int | None
    force: bool
    limit_s: float
    wait_s: float
    streams: Streams | None
    tell: Callable[[str], None]
    progress: Callable[[PairProgress], None]
    scenario: str


def confirm_suite(
    suite: StrPath,
    *,
    read_ahead_kb: int | None = None,
    question: SuiteQuestion | None = None,
    scenario: str = IDLE,
    runs: int = MOST_RUNS,
    seconds: float | None = None,
    seed: int | None = None,
    force: bool = False,
    limit_s: float = 600.0,
    wait_s: float = 0.0,
    streams: Streams | None = None,
    tell: Callable[[str], None] = silent,
    progress: Callable[[PairProgress], None] = silent,
) -> SuiteConfirmationDocument:
    """Measure every start of a suite at the window now and at that of the answer.

    Each start is measured as by :func:`foreread.confirm`, and the result is stored in its first
    capture. A start whose capture has a decided result about this window and scenario is not
    measured again, so that an interrupted proof goes on.

    Arguments that are not listed are those of :func:`foreread.confirm`.

    Args:
        suite: path of the suite.
        read_ahead_kb: the window to prove on all disks, in KiB; None: that of the answer.
        question: how the answer is predicted.
        runs: of each start: stop undecided after so many runs.
        seconds: of each start: stop undecided after this time.

    Raises:
        SuiteError: the suite cannot be read, or no disk gets another window.
        tracer.error.RecordError: the runs cannot be made.
    """
    of = read_suite(checked_path(suite, "suite"))
    how = question or SuiteQuestion()
    runs = checked_number(runs, "runs", least=1)
    load = Scenario.parse(scenario).text
    asked = _Asked(how, runs, seconds, seed, force, limit_s, wait_s, streams, tell, progress, load)
    answer = predict_suite(of, how, tell)
    proofs, unchanged = [], []
    boards = {board.board.name: board for board in of.boards}
    for found in answer.boards:
        for disk in found.disks:
            kib = disk.verdict.read_ahead_kb if disk.verdict.action == "set" else None
            kib = kib if read_ahead_kb is None else read_ahead_kb
            if kib is None:
                unchanged.append(f"{disk.name} of {found.name}: {disk.verdict.why}")
            else:
                proofs.append(_disk(boards[found.name], disk, kib, asked))
    if not proofs:
        raise SuiteError(
            f"{of.path}: no disk gets another window: {'; '.join(unchanged)}",
            f"test a window: foreread confirm --suite {of.path} --read-ahead-kb K",
        )
    return SuiteConfirmationDocument(suite=of.name, boards=proofs, unchanged=unchanged)


def _disk(board: BoardCases, disk: SuiteDisk, kib: int, asked: _Asked) -> SuiteBoardProof:
    names = {one.name for one in disk.starts} | {one.name for one in disk.unpredicted}
    cases = [case for case in board.cases if case.start.name in names]
    starts = [_start(board, case, kib, asked) for case in cases]
    predicted = dict(zip(disk.windows_kb, disk.seconds_by_window, strict=True)).get(kib)
    now = disk.seconds_now if asked.scenario == IDLE else None
    return proof_of(
        board.board.name,
        disk.name,
        kib,
        starts,
        None if not now or predicted is None else 1 - predicted / now,
    )


def _start(board: BoardCases, case: Case, kib: int, asked: _Asked) -> SuiteStartProof:
    path, name = case.captures[0], case.start.name
    capture = load(path).capture
    of_window = [one for one in stored(capture) if one.proposed_kb == kib]
    earlier = [one for one in of_window if one.scenario == asked.scenario]
    decided = [one for one in earlier if one.outcome != "undecided"]
    if capture.command is not None and decided:
        when = f"{decided[-1].date}{beside(asked.scenario)}"
        asked.tell(f"{name} on {board.board.name}: proven on {when}")
        return _proof(case, path, decided[-1], capture.command, None, measured=False)
    asked.tell(f"measuring {name} on {board.board.name}")
    found = confirm(
        path,
        read_ahead_kb=kib,
        scenario=asked.scenario,
        target=board.board.target,
        identity=board.identity,
        question=Question(
            model=asked.question.model,
            device_model=asked.question.device_model or board.device_model,
        ),
        runs=asked.runs,
        seconds=asked.seconds,
        seed=asked.seed,
        force=asked.force,
        limit_s=asked.limit_s,
        wait_s=asked.wait_s,
        streams=asked.streams,
        tell=asked.tell,
        progress=asked.progress,
    )
    gain = found.predicted_gain
    return _proof(case, path, found.result, found.capture.command or [], gain, measured=True)


def _proof(
    case: Case,
    path: Path,
    of: Confirmation,
    command: list[str],
    predicted_gain: float | None,
    measured: bool,
) -> SuiteStartProof:
    now, then = (fmean(each) for each in zip(*of.pairs, strict=True)) if of.pairs else (None, None)
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
    """Return what the results of all starts of a disk say together.

    The ends of the interval are weighted sums of those of the starts, as if all errors had one
    direction.
    """
    nows = [one.weight * one.seconds_now for one in starts if one.seconds_now is not None]
    thens = [one.weight * one.seconds for one in starts if one.seconds is not None]
    whole = len(nows) == len(thens) == len(starts) > 0
    now, then = (sum(nows), sum(thens)) if whole else (None, None)
    low = _end([one.result.low for one in starts], nows)
    high = _end([one.result.high for one in starts], nows)
    return SuiteBoardProof(
        board=board,
        disk=disk,
        read_ahead_kb=kib,
        outcome=_outcome(low, high),
        seconds_now=now,
        seconds=then,
        gain=None if not now or then is None else 1 - then / now,
        low=low,
        high=high,
        predicted_gain=predicted_gain,
        starts=list(starts),
    )


def _end(ends: Sequence[float | None], nows: Sequence[float]) -> float | None:
    known = [end for end in ends if end is not None]
    if not known or len(known) < len(ends) or len(nows) < len(ends):
        return None
    return sum(end * now for end, now in zip(known, nows, strict=True)) / sum(nows)


def _outcome(low: float | None, high: float | None) -> Outcome:
    if low is None or high is None:
        return "undecided"
    if low >= -TOO_SMALL and high <= TOO_SMALL:
        return "too small"
    if low > 0:
        return "confirmed"
    return "contradicted" if high < 0 else "undecided"
