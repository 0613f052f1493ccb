"""The steps of ``improve`` for a suite: its starts on its boards, and one window for each disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from msgspec import structs

from foreread.analyzer.advise.advise import write_advice
from foreread.analyzer.apply.make import script
from foreread.analyzer.ingest.load import load
from foreread.analyzer.suite.advised import advise_suite
from foreread.analyzer.suite.answer import SuiteDisk, SuiteDocument
from foreread.analyzer.suite.predicted import predict_suite
from foreread.analyzer.suite.read import BoardCases, Case, Suite, read_suite
from foreread.boards.base.counted import plural
from foreread.documents.improve import ImproveDisk, ImproveDocument, ImproveNext, Verdict
from foreread.documents.suite import SuiteBoardProof
from foreread.improving.job import ADVICE, BOOT, REPORT, Watch
from foreread.improving.steps import Step, check_machine, remedies_text
from foreread.measuring.confirm_suite import confirm_suite
from foreread.measuring.options import ConfirmOptions
from foreread.question import Question
from foreread.recording.suite import record_suite
from foreread.recording.words import command_line, target_words
from foreread.tracer.formats.boot_files import SCRIPT
from foreread.tracer.formats.capture import METADATA, read
from foreread.tracer.runs.options import Streams


@dataclass
class SuiteJob:
    """A suite to improve, and where the results are; the captures are where the suite says."""

    folder: Path
    path: Path
    wait_s: float = 0.0
    watch: Watch = field(default_factory=Watch)
    streams: Streams = field(default_factory=Streams)
    answer: SuiteDocument | None = None
    proofs: dict[tuple[str, str], SuiteBoardProof] = field(default_factory=dict)

    @cached_property
    def suite(self) -> Suite:
        """The suite, read once."""
        return read_suite(self.path)

    @property
    def is_predicted(self) -> bool:
        """Whether the answer was predicted in this call."""
        return self.answer is not None

    @property
    def cases(self) -> list[tuple[BoardCases, Case]]:
        """Every start on every board."""
        return [(board, case) for board in self.suite.boards for case in board.cases]

    @property
    def missing(self) -> bool:
        """Whether a start has no complete capture."""
        return any(case.missing for _, case in self.cases)

    def created(self) -> str:
        """Return what identifies the captures and the results in them."""
        paths = [path for _, case in self.cases for path in case.captures]
        read_now = [read(path)[0] for path in paths if (path / METADATA).is_file()]
        times = [
            (capture.created, *(proof.created for proof in capture.confirmations))
            for capture in read_now
        ]
        return "; ".join(", ".join(map(str, each)) for each in times)


@dataclass(frozen=True)
class _OfSuite(Step):
    """A step of a suite."""

    of: SuiteJob

    def wanted(self) -> bool:
        return not self.of.missing


@dataclass(frozen=True)
class _CheckBoard(_OfSuite):
    """Whether a board of the suite can be recorded."""

    board: BoardCases

    name = "check"
    needs_board = True

    def wanted(self) -> bool:
        return True

    def words(self) -> list[str]:
        return ["doctor", *target_words(self.board.board.target, self.board.identity)]

    def whole(self) -> str | None:
        return None if self.of.missing else "recorded before"

    def run(self) -> str:
        return check_machine(self.board.board.target, self.board.identity, self.of.watch)


class _RecordSuite(_OfSuite):
    """Every start that has no capture."""

    name = "record"
    needs_board = True

    def wanted(self) -> bool:
        return True

    def words(self) -> list[str]:
        return ["record", "--suite", str(self.of.path)]

    def whole(self) -> str | None:
        return None if self.of.missing else f"{plural(len(self.of.cases), 'start')} recorded"

    def run(self) -> str:
        of = self.of
        recorded = record_suite(of.path, streams=of.streams, wait_s=of.wait_s, tell=of.watch.tell)
        for _, capture in recorded.recorded:
            if capture.ended_by == "signal":
                raise KeyboardInterrupt
        new, old = len(recorded.recorded), len(recorded.present)
        return f"{plural(new, 'capture')} recorded, {old} were there"


class _PredictSuite(_OfSuite):
    """One window for each disk."""

    name = "predict"
    is_quick = True

    def words(self) -> list[str]:
        return ["predict", str(self.of.path)]

    def run(self) -> str:
        self.of.answer = predict_suite(self.of.suite, step=self.of.watch.tell)
        disks = [disk for board in self.of.answer.boards for disk in board.disks]
        windows = ", ".join(f"{disk.name}: {_window(disk)}" for disk in disks)
        return windows or "no start reads from a disk"


class _AdviseSuite(_OfSuite):
    """The remedies of each start other than the window."""

    name = "advise"

    def words(self) -> list[str]:
        return ["advise", str(self.of.path), "-o", str(self.of.folder / ADVICE)]

    def outputs(self) -> list[Path]:
        return [self.of.folder / ADVICE]

    def rests_on(self) -> str:
        return self.of.created()

    def run(self) -> str:
        of, folder = self.of, self.of.folder / ADVICE
        advised = advise_suite(of.suite, step=of.watch.tell, output=folder)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for (board, start), table in advised.tables.items():
            write_advice(folder / board / start, table, advised.lists[board, start])
        rows = sum(len(disk.rows) for disk in advised.document.disks)
        return f"{remedies_text(rows)} besides the windows"


class _ConfirmSuite(_OfSuite):
    """Every start, measured at both windows; decided results of the captures are used again."""

    name = "confirm"
    needs_board = True
    is_quick = True

    def wanted(self) -> bool:
        return bool(_set_disks(self.of))

    def words(self) -> list[str]:
        return ["confirm", "--suite", str(self.of.path)]

    def run(self) -> str:
        of = self.of
        document = confirm_suite(
            of.path,
            ConfirmOptions(wait_s=of.wait_s, streams=of.streams),
            tell=of.watch.tell,
            progress=of.watch.pair,
        )
        of.proofs = {(proof.board, proof.disk): proof for proof in document.boards}
        return "; ".join(
            f"{proof.board} {proof.disk}: {proof.outcome}" for proof in document.boards
        )


@dataclass(frozen=True)
class _SuiteReport(_OfSuite):
    """The report of one start."""

    board: BoardCases
    case: Case

    name = "report"

    def words(self) -> list[str]:
        return ["report", str(self.case.captures[0]), "-o", str(self._folder)]

    @property
    def _folder(self) -> Path:
        return self.of.folder / REPORT / self.board.board.name / self.case.start.name

    def outputs(self) -> list[Path]:
        return [self._folder / "index.html"]

    def rests_on(self) -> str:
        return self.of.created()

    def run(self) -> str:
        from foreread.analyzer.report.make import report  # noqa: PLC0415  (matplotlib)

        watch = self.of.watch
        recording = load(self.case.captures[0])
        return str(report(recording, self._folder, step=watch.tell, part=watch.part).html)


@dataclass(frozen=True)
class _SuiteScript(_OfSuite):
    """The boot script of one board: the window of its disk."""

    board: BoardCases

    name = "script"

    def wanted(self) -> bool:
        return self._disk() is not None

    def expected(self) -> bool:
        return True

    def words(self) -> list[str]:
        disk = self._disk()
        kib = disk.verdict.read_ahead_kb if disk else None
        window = [] if kib is None else ["--read-ahead-kb", str(kib)]
        return ["script", str(self._capture(disk)), *window, "-o", str(self._folder)]

    def target(self) -> tuple[str, ...]:
        """Return the options that name the board."""
        return target_words(self.board.board.target, self.board.identity)

    @property
    def _folder(self) -> Path:
        return self.of.folder / BOOT / self.board.board.name

    def outputs(self) -> list[Path]:
        return [self._folder / SCRIPT]

    def rests_on(self) -> str:
        return self.of.created()

    def _disk(self) -> SuiteDisk | None:
        """Return the disk that gets another window; of several, the one that saves most seconds."""
        name = self.board.board.name
        disks = [disk for board, disk in _set_disks(self.of) if board == name]
        disks = [disk for disk in disks if _holds(self.of.proofs.get((name, disk.name)))]
        return max(disks, key=lambda disk: disk.saved or 0.0, default=None)

    def _capture(self, disk: SuiteDisk | None) -> Path:
        """Return a capture of the start with the most weight on the disk."""
        weights = {start.name: start.weight for start in disk.starts} if disk else {}
        cases = [case for case in self.board.cases if case.start.name in weights]
        cases.sort(key=lambda case: -weights[case.start.name])
        return (cases or self.board.cases)[0].captures[0]

    def run(self) -> str:
        disk = self._disk()
        assert disk is not None
        recording = load(self._capture(disk))
        shutil.rmtree(self._folder, ignore_errors=True)
        written = script(
            Question().predicted(recording),
            self._folder,
            capture=recording.capture,
            read_ahead_kb=disk.verdict.read_ahead_kb,
            tell=self.of.watch.tell,
        )
        return str(written.files[0])


def suite_steps(of: SuiteJob) -> Iterator[Step]:
    """Yield the steps of a suite in their order; raises SuiteError."""
    yield from (_CheckBoard(of, board) for board in of.suite.boards)
    yield from (_RecordSuite(of), _PredictSuite(of), _AdviseSuite(of), _ConfirmSuite(of))
    yield from (_SuiteReport(of, board, case) for board, case in of.cases)
    yield from (_SuiteScript(of, board) for board in of.suite.boards if board.cases)


def suite_answered(of: SuiteJob, document: ImproveDocument) -> ImproveDocument:
    """Return the document with the answer for each disk."""
    if of.answer is None:
        return document
    disks = [
        _answer(board.name, disk, of.proofs.get((board.name, disk.name)))
        for board in of.answer.boards
        for disk in board.disks
    ]
    changed = [each for each in disks if each.read_ahead_kb is not None]
    good = [each for each in changed if each.outcome in (None, "confirmed")]
    verdict: Verdict = "keep"
    if good:
        verdict = "confirmed" if all(each.outcome for each in good) else "predicted"
    windows = ", ".join(f"{each.disk} of {each.board}: {each.read_ahead_kb} KiB" for each in good)
    return structs.replace(
        document,
        verdict=verdict,
        answer=windows or "keep the windows that the boards have",
        disks=disks,
        next=[*_next(of)],
    )


def _answer(board: str, disk: SuiteDisk, proof: SuiteBoardProof | None) -> ImproveDisk:
    is_set = disk.verdict.action == "set"
    return ImproveDisk(
        board=board,
        disk=disk.name,
        read_ahead_kb_now=disk.read_ahead_kb_now,
        read_ahead_kb=disk.verdict.read_ahead_kb if is_set else None,
        seconds_now=disk.seconds_now,
        seconds=disk.seconds if is_set else disk.seconds_now,
        why=disk.verdict.why,
        outcome=proof.outcome if proof else None,
        gain=proof.gain if proof else None,
        low=proof.low if proof else None,
        high=proof.high if proof else None,
    )


def _next(of: SuiteJob) -> Iterator[ImproveNext]:
    scripts = [step for step in suite_steps(of) if isinstance(step, _SuiteScript) and step.wanted()]
    for step in scripts:
        words = [*step.words(), "--install", *step.target()]
        name = step.board.board.name
        yield ImproveNext(what=f"install on {name}", command=command_line(words))
    for step in scripts[:1]:
        words = ["script", "--uninstall", *step.target()]
        yield ImproveNext(what="undo", command=command_line(words))


def _set_disks(of: SuiteJob) -> list[tuple[str, SuiteDisk]]:
    """Return the disks that get another window, each with its board."""
    boards = of.answer.boards if of.answer else []
    return [
        (board.name, disk)
        for board in boards
        for disk in board.disks
        if disk.verdict.action == "set" and disk.verdict.read_ahead_kb is not None
    ]


def _holds(proof: SuiteBoardProof | None) -> bool:
    """Return whether a window is to be set: runs confirm it, or none were made."""
    return proof is None or proof.outcome == "confirmed"


def _window(disk: SuiteDisk) -> str:
    kib = disk.verdict.read_ahead_kb
    return f"{disk.verdict.action}{'' if kib is None else f' {kib} KiB'}"
