"""Advice for a suite: the window of each disk, and further changes that make each start faster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from msgspec import structs

from foreread.analyzer.advise.advise import DOCUMENT, OUTPUT, advise
from foreread.analyzer.advise.document import AdviceDocument, AdviceRow
from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.predict.linux import PREFIX
from foreread.analyzer.predict.prediction import Prediction
from foreread.analyzer.suite.answer import SuiteAdvice, SuiteAdviceDisk, SuiteAdviceRow, SuiteDisk
from foreread.analyzer.suite.disk import PredictedCase
from foreread.analyzer.suite.predicted import SuiteQuestion, answer_of, predicted_cases
from foreread.analyzer.suite.read import BoardCases, Suite
from foreread.boards.base.silent import silent

Key = tuple[str, str]  # board, start


@dataclass(frozen=True, eq=False)
class SuiteAdvised:
    """The advice; ``tables`` and ``lists`` are by board and start."""

    document: SuiteAdvice
    tables: Mapping[Key, AdviceDocument] = field(default_factory=dict)
    lists: Mapping[Key, Mapping[str, bytes]] = field(default_factory=dict)


def advise_suite(
    suite: Suite,
    asked: SuiteQuestion | None = None,
    root: StrPath | None = None,
    step: Callable[[str], None] = silent,
    output: StrPath = OUTPUT,
) -> SuiteAdvised:
    """Rank what makes the starts of a suite faster under the window of their disk.

    Each start is replayed with that window and one change more. Changes of the window for the whole
    start are left out, because it is shared; windows in phases are not.

    Args:
        suite: what :func:`foreread.read_suite` returns.
        asked: how each start is predicted.
        root: a folder with the boards' files, whose symbols then are known.
        step: is called with each step, in words.
        output: the folder that tables will be written to, for the commands that read them.

    Raises:
        SuiteError, AdviceError: as for :func:`foreread.predict_suite` and :func:`foreread.advise`.
    """
    suite.check_captures()
    question = asked or SuiteQuestion()
    disks: list[SuiteAdviceDisk] = []
    tables: dict[Key, AdviceDocument] = {}
    lists: dict[Key, Mapping[str, bytes]] = {}
    for board in suite.boards:
        cases = predicted_cases(board, question, step) if board.cases else []
        answer = answer_of(board, cases, question) if cases else None
        for disk in answer.disks if answer else []:
            rows: list[SuiteAdviceRow] = []
            for case in (case for case in cases if case.disk == disk.name and disk.starts):
                key = (board.board.name, case.loaded.name)
                step(f"advice for {key[1]} on {key[0]}")
                folder = Path(output) / key[0] / key[1]
                advice = advise(
                    case.loaded.recordings[0],
                    case.loaded.recordings[1:],
                    question.device_model or board.device_model,
                    question.model or PREFIX,
                    root,
                    prediction=_under(case, disk),
                    output=folder,
                )
                tables[key], lists[key] = advice.document, advice.lists
                rows += _rows(case, advice.document)
            disks.append(_disk(board, disk, rows))
    return SuiteAdvised(SuiteAdvice(suite=suite.name, table=DOCUMENT, disks=disks), tables, lists)


def _under(case: PredictedCase, disk: SuiteDisk) -> Prediction:
    """Return the prediction of a start with the answer's window as the present window."""
    kib = disk.starts[0].read_ahead_kb
    total = structs.replace(case.prediction.total, current_read_ahead_kb=kib)
    return replace(case.prediction, total=total)


def _rows(case: PredictedCase, advice: AdviceDocument) -> Iterator[SuiteAdviceRow]:
    for rank, row in enumerate(advice.rows, 1):
        if not _changes_shared_window(row):
            weight = case.loaded.weight
            yield SuiteAdviceRow(
                start=case.loaded.name, rank=rank, saved=weight * row.saved, row=row
            )


def _changes_shared_window(row: AdviceRow) -> bool:
    """Return whether a row has another window for the whole start."""
    if row.kind == "window":
        return True
    return row.trial is not None and row.trial.read_ahead_kb is not None and not row.trial.later


def _disk(board: BoardCases, disk: SuiteDisk, rows: list[SuiteAdviceRow]) -> SuiteAdviceDisk:
    return SuiteAdviceDisk(
        board=board.board.name,
        disk=disk.name,
        verdict=disk.verdict,
        seconds_now=disk.seconds_now,
        seconds=disk.seconds,
        rows=sorted(rows, key=lambda row: -row.saved),
        unpredicted=disk.unpredicted,
    )
