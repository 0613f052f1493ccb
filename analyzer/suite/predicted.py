"""The answer for a suite: for each disk of each board the window of the fewest weighted seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from analyzer.ingest.recording import Recording
from analyzer.predict.choice import PUBLISHED, SECONDS, Criterion, predict_by
from analyzer.predict.kib import Kibs, KibsOf, all_pages_of, emulated_pages
from analyzer.predict.linux import FIXED, model_for
from analyzer.predict.prediction import Prediction
from analyzer.predict.seconds import LADDER, MOST_WINDOWS
from analyzer.predict.window import predict as predict_fixed
from analyzer.suite.answer import SuiteBoardAnswer, SuiteDocument, SuiteOneWindow, SuiteUnpredicted
from analyzer.suite.captures import load_board
from analyzer.suite.disk import PredictedCase, answer_for_disk
from analyzer.suite.joint import Joint, Weighted
from analyzer.suite.published import Summed, summed
from analyzer.suite.read import BoardCases, Suite
from boards.base.silent import silent

ByDisk = dict[str, list[PredictedCase]]


@dataclass(frozen=True)
class SuiteQuestion:
    """How each start of a suite is predicted.

    ``windows_kib``: the candidates in KiB, or a function of the page size (bytes) that returns
    them; None: the usual windows.
    """

    model: str | None = None
    device_model: str | None = None
    criterion: Criterion = SECONDS
    windows_kib: Kibs | KibsOf | None = None

    def windows(self, page_size: int) -> list[int] | None:
        """Return the candidates in pages; raises WindowSizeError."""
        given = self.windows_kib
        if given is None:
            return None
        return all_pages_of(given(page_size) if callable(given) else given, page_size)


def predict_suite(
    suite: Suite, asked: SuiteQuestion | None = None, step: Callable[[str], None] = silent
) -> SuiteDocument:
    """Return the window that minimises weighted seconds, for each disk of each board.

    The captures are read and the starts replayed; nothing is run. ``step`` is called with each
    step, in words. Raises SuiteError, and what reading and predicting a capture raise.
    """
    suite.check_captures()
    question = asked or SuiteQuestion()
    boards = [_board(of, question, step) for of in suite.boards if of.cases]
    return SuiteDocument(suite=suite.name, path=str(suite.path), boards=boards)


def predicted_cases(
    of: BoardCases, asked: SuiteQuestion, step: Callable[[str], None] = silent
) -> list[PredictedCase]:
    """Return the starts of a board, predicted at the same windows."""
    step(f"reading the captures of {of.board.name}")
    loaded = load_board(of)
    fixed = [predict_fixed(one.recordings[0]) for one in loaded]
    wanted = asked.windows(fixed[0].page_size)
    chosen, candidates = _windows(fixed, wanted)
    found = []
    for one, quasi in zip(loaded, fixed, strict=True):
        step(f"predicting {one.name} on {of.board.name}")
        prediction = _predicted(one.recordings, chosen, asked, of.device_model)
        answer = replace(prediction, starts=())  # many starts would not fit into memory
        found.append(PredictedCase(one, answer, quasi, candidates))
    return found


def _predicted(
    recordings: Sequence[Recording],
    windows: list[int],
    asked: SuiteQuestion,
    device_model: str | None,
) -> Prediction:
    first, *more = recordings
    model = asked.model or model_for(first)
    if model == FIXED:  # has no seconds: neither a disk nor repeated captures change it
        return predict_by(first, model, windows)
    return predict_by(first, model, windows, asked.device_model or device_model, more)


def _windows(
    fixed: Sequence[Prediction], asked: Sequence[int] | None
) -> tuple[list[int], list[int]]:
    """Return the windows to replay, and those of which one can be the answer (pages, rising)."""
    now = {_now(one) for one in fixed}
    quasi = {one.total.quasi_optimal for one in fixed}
    disks = {curve.name for one in fixed for curve in one.devices}
    quasi |= {found.window for disk in disks if (found := summed(fixed, disk))}
    given = set(LADDER) | quasi | now if asked is None else set(asked)
    if len(given | now) >= MOST_WINDOWS:
        given = {window for window in given if window in LADDER} or set(sorted(given)[:32])
    return sorted(given | now | {0}), sorted(given)


def _now(prediction: Prediction) -> int:
    return emulated_pages(prediction.reference.kb, prediction.page_size)


def _board(of: BoardCases, asked: SuiteQuestion, step: Callable[[str], None]) -> SuiteBoardAnswer:
    return answer_of(of, predicted_cases(of, asked, step), asked)


def answer_of(
    of: BoardCases, cases: Sequence[PredictedCase], asked: SuiteQuestion
) -> SuiteBoardAnswer:
    """Return the answer for a board from its predicted starts, of which there is at least one."""
    by_disk: ByDisk = {}
    for case in cases:
        if case.disk is not None:
            by_disk.setdefault(case.disk, []).append(case)
    sums = {disk: summed([one.fixed for one in cases], disk) for disk in by_disk}
    published = asked.criterion == PUBLISHED
    capture = cases[0].loaded.recordings[0].capture
    return SuiteBoardAnswer(
        name=of.board.name,
        kernel=cases[0].prediction.kernel,
        machine=capture.host.machine if capture else None,
        captures=sum(len(one.loaded.recordings) for one in cases),
        disks=[answer_for_disk(disk, on, sums[disk], published) for disk, on in by_disk.items()],
        one_window=_one_window(by_disk, sums),
        idle=[
            SuiteUnpredicted(name=one.loaded.name, why=one.prediction.verdict.why, remedy=None)
            for one in cases
            if one.disk is None
        ],
    )


def _one_window(by_disk: ByDisk, sums: dict[str, Summed | None]) -> SuiteOneWindow | None:
    """Return what one window for all disks costs; None for one disk, or without seconds."""
    starts: list[list[Weighted]] = [
        [found for one in cases if (found := one.weighted)] for cases in by_disk.values()
    ]
    joints = [Joint(some) for some in starts if some]
    if len(joints) < 2:
        return None
    together = Joint([one for some in starts for one in some])
    case = next(iter(by_disk.values()))[0]
    return SuiteOneWindow(
        read_ahead_kb=case.kib(together.best),
        seconds=together.at(together.best),
        seconds_by_disk=sum(one.at(one.best) for one in joints),
    )
