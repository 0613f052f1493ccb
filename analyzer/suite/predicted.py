"""The answer for a suite: each disk's window with the fewest weighted seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.choice import predict_by
from foreread.analyzer.predict.counts import FIXED
from foreread.analyzer.predict.criterion import PUBLISHED, SECONDS, Criterion
from foreread.analyzer.predict.kib import Kibs, KibsOf, all_pages_of, emulated_pages
from foreread.analyzer.predict.linux import model_for
from foreread.analyzer.predict.prediction import Prediction
from foreread.analyzer.predict.seconds import LADDER, MOST_WINDOWS
from foreread.analyzer.predict.window import predict as predict_fixed
from foreread.analyzer.suite.answer import (
    SuiteBoardAnswer,
    SuiteDocument,
    SuiteOneWindow,
    SuiteUnpredicted,
)
from foreread.analyzer.suite.captures import load_board
from foreread.analyzer.suite.disk import PredictedCase, answer_for_disk
from foreread.analyzer.suite.joint import Joint, Weighted
from foreread.analyzer.suite.published import Summed, summed
from foreread.analyzer.suite.read import BoardCases, Suite
from foreread.boards.base.silent import silent

ByDisk = dict[str, list[PredictedCase]]


@dataclass(frozen=True)
class SuiteQuestion:
    """How each start of a suite is predicted.

    ``windows_kib``: the candidates in KiB, or a function from the page size (bytes) to candidates;
    None: the default windows.
    """

    model: str | None = None
    device_model: str | None = None
    criterion: Criterion = SECONDS
    windows_kib: Kibs | KibsOf | None = None

    def windows(self, page_size: int) -> list[int] | None:
        """Return the candidates in pages; raises WindowSizeError."""
        kibs = self.windows_kib
        if kibs is None:
            return None
        return all_pages_of(kibs(page_size) if callable(kibs) else kibs, page_size)


def predict_suite(
    suite: Suite, asked: SuiteQuestion | None = None, step: Callable[[str], None] = silent
) -> SuiteDocument:
    """Return the window that minimises weighted seconds, for each disk of each board.

    Reads the captures and replays the starts; runs nothing. ``step`` is called with each step, in
    words. Raises SuiteError and the errors of reading and predicting a capture.
    """
    suite.check_captures()
    question = asked or SuiteQuestion()
    boards = [
        answer_of(of, predicted_cases(of, question, step), question)
        for of in suite.boards
        if of.cases
    ]
    return SuiteDocument(suite=suite.name, path=str(suite.path), boards=boards)


def predicted_cases(
    of: BoardCases, question: SuiteQuestion, step: Callable[[str], None] = silent
) -> list[PredictedCase]:
    """Return the starts of a board, predicted at the same windows."""
    step(f"reading the captures of {of.board.name}")
    loaded = load_board(of)
    fixed = [predict_fixed(case.recordings[0]) for case in loaded]
    pages = question.windows(fixed[0].page_size)
    chosen, candidates = _windows(fixed, pages)
    cases = []
    for case, quasi in zip(loaded, fixed, strict=True):
        step(f"predicting {case.name} on {of.board.name}")
        prediction = _predicted(case.recordings, chosen, question, of.device_model)
        answer = replace(prediction, starts=())  # the prepared starts would fill the memory
        cases.append(PredictedCase(case, answer, quasi, candidates))
    return cases


def _predicted(
    recordings: Sequence[Recording],
    windows: list[int],
    question: SuiteQuestion,
    device_model: str | None,
) -> Prediction:
    first, *more = recordings
    model = question.model or model_for(first)
    if model == FIXED:  # without seconds, neither the disk nor further captures count
        return predict_by(first, model, windows)
    return predict_by(first, model, windows, question.device_model or device_model, more)


def _windows(
    fixed: Sequence[Prediction], pages: Sequence[int] | None
) -> tuple[list[int], list[int]]:
    """Return the windows to replay, and the windows that may be the answer (pages, rising)."""
    now = {emulated_pages(prediction.reference.kb, prediction.page_size) for prediction in fixed}
    quasi = {prediction.total.quasi_optimal for prediction in fixed}
    disks = {curve.name for prediction in fixed for curve in prediction.devices}
    quasi |= {minimum.window for disk in disks if (minimum := summed(fixed, disk))}
    candidates = set(LADDER) | quasi | now if pages is None else set(pages)
    if len(candidates | now) >= MOST_WINDOWS:
        candidates = {window for window in candidates if window in LADDER} or set(
            sorted(candidates)[:32]
        )
    return sorted(candidates | now | {0}), sorted(candidates)


def answer_of(
    of: BoardCases, cases: Sequence[PredictedCase], question: SuiteQuestion
) -> SuiteBoardAnswer:
    """Return the answer for a board from its predicted starts, at least one."""
    by_disk: ByDisk = {}
    for case in cases:
        if case.disk is not None:
            by_disk.setdefault(case.disk, []).append(case)
    sums = {disk: summed([case.fixed for case in cases], disk) for disk in by_disk}
    published = question.criterion == PUBLISHED
    host = cases[0].loaded.recordings[0].capture.host
    return SuiteBoardAnswer(
        name=of.board.name,
        kernel=cases[0].prediction.kernel,
        machine=host.machine if host else None,
        captures=sum(len(case.loaded.recordings) for case in cases),
        disks=[answer_for_disk(disk, on, sums[disk], published) for disk, on in by_disk.items()],
        one_window=_one_window(by_disk, sums),
        idle=[
            SuiteUnpredicted(name=case.loaded.name, why=case.prediction.verdict.why, remedy=None)
            for case in cases
            if case.disk is None
        ],
    )


def _one_window(by_disk: ByDisk, sums: dict[str, Summed | None]) -> SuiteOneWindow | None:
    """Return the cost of one window for all disks; None for one disk or without seconds."""
    starts: list[list[Weighted]] = [
        [weighted for case in cases if (weighted := case.weighted)] for cases in by_disk.values()
    ]
    joints = [Joint(some) for some in starts if some]
    if len(joints) < 2:
        return None
    together = Joint([start for some in starts for start in some])
    case = next(iter(by_disk.values()))[0]
    return SuiteOneWindow(
        read_ahead_kb=case.kib(together.best),
        seconds=together.at(together.best),
        seconds_by_disk=sum(joint.at(joint.best) for joint in joints),
    )
