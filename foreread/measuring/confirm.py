"""Confirms or contradicts the window that a capture proposes, and stores the result in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from foreread.analyzer.confirm.document import ConfirmationDocument, confirmation_document
from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.predict.prediction import Verdict
from foreread.analyzer.predict.proposal import Proposal
from foreread.boards.base.brief import brief
from foreread.boards.base.interrupts import orderly_exit
from foreread.boards.base.silent import silent
from foreread.boards.open import LOCAL, open_target
from foreread.checks import checked_path, key_of
from foreread.error import ArgumentError
from foreread.measuring.advice_row import Advised
from foreread.measuring.comparison import Comparison, PairProgress, Tally
from foreread.measuring.options import ConfirmOptions
from foreread.measuring.pairs import ComparedBoard, PairedRuns
from foreread.measuring.settings import choose_windows
from foreread.recording.recorded_start import RecordedStart, check_board, recorded_start
from foreread.tracer.error import RecordError
from foreread.tracer.formats.capture import Metadata
from foreread.tracer.formats.confirmation import Confirmation, same_question
from foreread.tracer.formats.confirmation_store import change_stored, check_storable
from foreread.tracer.machines import bench_on
from foreread.tracer.runs.memory import check_holds_program
from foreread.tracer.trials.trial import Scenario, TrialOptions, check_loads

BY_SCRIPT = (
    "the list was replayed by the shell script, which starts dd for each range; the prediction is "
    "for the program: build foreread-prefetch.c, which foreread script --prefetch writes, for the "
    "target (cc -O2 -static -o foreread-prefetch foreread-prefetch.c), and add --replayer "
    "foreread-prefetch"
)


@dataclass(frozen=True, repr=False)
class Confirmed:
    """The result of paired runs, with the capture and the window that they are about."""

    __repr__ = brief

    result: Confirmation
    capture: Metadata
    proposal: Proposal
    row: Advised | None = None
    interrupted: bool = False  # by Ctrl-C

    @property
    def predicted_gain(self) -> float | None:
        """The predicted share of the present window's time that the proposal saves.

        None with a load or limited memory: seconds are predicted for a machine without.
        """
        if self.result.conditions:
            return None
        if self.row is not None and self.row.change:
            return self.row.gain
        return self.proposal.predicted_gain(self.result.present_kb)

    @property
    def document(self) -> ConfirmationDocument:
        """The ``confirm --json`` document."""
        return confirmation_document(self.result, self.capture.command or [], self.predicted_gain)

    def to_json(self) -> str:
        """Return the document as JSON."""
        return self.document.to_json()


def confirm(
    capture: StrPath,
    options: ConfirmOptions | None = None,
    *,
    target: str | None = None,
    identity: StrPath | None = None,
    tell: Callable[[str], None] = silent,
    progress: Callable[[PairProgress], None] = silent,
) -> Confirmed:
    """Measure the recorded start at the present and the proposed window until one answer is known.

    Runs are cold, in pairs of random order; the test is sequential, so the 95 % interval holds at
    every look. The result is stored in the capture after every pair, and Ctrl-C returns it. Needs
    root on the measured machine; its settings are restored afterwards.

    Args:
        capture: path of a capture made by :func:`foreread.record`.
        options: the setting that is compared with the present window, and the limits of the runs.
        target: the machine, as in :func:`foreread.record`; None: the one that was recorded.
        identity: private key that logs in to an ssh target.
        tell: is called with each step, in words.
        progress: is called after each run.

    Raises:
        ArgumentError: arguments that make no sense.
        tracer.error.RecordError: nothing is proposed, or the runs cannot be made.
    """
    path = checked_path(capture, "capture")
    options = options or ConfirmOptions()
    limits = options.limits
    start = proposed_start(path, options)
    trials, scenario = trials_of(start, options), Scenario.parse(options.scenario)
    name = start.target if target is None else target
    with (
        orderly_exit(),
        open_target(name, identity=key_of(identity), tell=tell) as machine,
        bench_on(machine, trials, start.capture) as bench,
    ):
        if not options.force:
            check_board(bench, start.capture)
        of = (start.capture, start.proposal, options.row, scenario, options.memory_kib)
        windows = choose_windows(bench, *of)
        check_loads(bench, [scenario])
        notes = [*bench.notes, *notes_on(options.row)]
        paired = PairedRuns(bench, windows, options.seed, notes=notes, killed_s=options.limit_s)
        tally = Tally("" if name == LOCAL else name)
        board = ComparedBoard.of(bench, windows)
        comparison = Comparison(board, [tally], limits, paired.notes, progress)
        store = Storing(path)
        if options.resume:
            store.stored = undecided(start.capture, comparison.result())
            comparison.resume(store.stored)
            paired.resume(len(comparison.pairs), store.stored.disturbed)
        result, interrupted = _compare(paired, comparison, store)
    return Confirmed(result, start.capture, start.proposal, options.row, interrupted)


@dataclass(frozen=True)
class Proposed(RecordedStart):
    """A recorded start for which another window is proposed."""

    proposal: Proposal


def proposed_start(path: Path, options: ConfirmOptions) -> Proposed:
    """Return the start of a capture in which a result can be stored.

    Raises ArgumentError if a row and a window both say what to test, and RecordError if nothing is
    proposed, or the memory of the runs is less than the program itself takes.
    """
    row, window_kb = options.row, _window(options.row, options.read_ahead_kb)
    start, verdict = recorded_start(path, options.question, window_kb, options.streams)
    if start.proposal is None:
        raise _no_proposal(verdict)
    if row is not None:
        row.check(start.capture)
    if not options.force:
        check_holds_program(options.memory_kib, start.capture.memory)
    check_storable(path)
    return Proposed(start.capture, start.run, start.target, start.proposal)


def trials_of(start: Proposed, options: ConfirmOptions) -> TrialOptions:
    """Return the options of every run."""
    row = options.row
    return TrialOptions(
        start.run,
        devices=tuple(start.proposal.by_disk),
        wait_s=options.wait_s,
        limit_s=options.limit_s,
        vmstat=False,
        replayer=row.replayer if row else None,
        memory_kib=options.memory_kib,
        most_s=None if options.memory_kib is None else options.limit_s,
        preload=row.preload if row else None,
    )


def notes_on(row: Advised | None) -> list[str]:
    """Return the notes about the runs of a row of advice."""
    return [BY_SCRIPT] if row and row.replayer and row.replayer.kind == "script" else []


def _window(row: Advised | None, read_ahead_kb: int | None) -> int | None:
    """Return the window to test, None for the predicted one. Raises ArgumentError."""
    if row is None:
        return read_ahead_kb
    if read_ahead_kb is not None:
        raise ArgumentError("a row and a window both say what to test", "give one of them")
    return row.present_kb if row.read_ahead_kb is None else row.read_ahead_kb


def _no_proposal(verdict: Verdict) -> RecordError:
    """Return the error of a verdict that proposes no window."""
    test = "test a window of your choice with --read-ahead-kb K"
    if verdict.remedy is None:
        return RecordError(f"the verdict is to change nothing: {verdict.why}", test)
    return RecordError(f"no window is proposed: {verdict.why}", f"run {verdict.remedy}; or {test}")


def _compare(
    paired: PairedRuns, comparison: Comparison, store: Storing
) -> tuple[Confirmation, bool]:
    """Return the result of the runs, and whether Ctrl-C ended them."""
    (tally,) = comparison.tallies
    earlier = paired.disturbed

    def ran(which: int, seconds: float) -> None:
        comparison.ran(0, which, seconds, paired.runs)

    try:
        comparison.begin()
        paired.discard_first()
        tally.end(paired.runs, 0)
        while not comparison.assessment.decided and comparison.may_begin():
            pair = paired.pair(ran)
            tally.end(paired.runs, paired.disturbed - earlier)
            if pair is not None:
                comparison.add(0, pair)
            comparison.note_time()
            store.after_a_pair(comparison.result())
        return comparison.result(), False
    except KeyboardInterrupt:
        if not comparison.pairs:
            raise
        return comparison.result(), True
    finally:
        store.finish()


class Storing:
    """Stores the result after every pair in the place of the one before."""

    def __init__(self, capture: Path) -> None:
        self._capture = capture
        self.stored: Confirmation | None = None
        self._latest: Confirmation | None = None

    def after_a_pair(self, result: Confirmation) -> None:
        """Store it, if that is quick: an archive is written anew at the end only."""
        self._latest = result
        if self._capture.is_dir():
            self.finish()

    def finish(self) -> None:
        """Store the latest result."""
        latest, self._latest = self._latest, None
        if latest is not None:
            old = self.stored
            change_stored(self._capture, lambda all_: [*(x for x in all_ if x != old), latest])
            self.stored = latest


def undecided(capture: Metadata, wanted: Confirmation) -> Confirmation:
    """Return the latest result of the same question, which is undecided; raises RecordError."""
    same = [result for result in capture.confirmations if same_question(result, wanted)]
    if not same or same[-1].outcome != "undecided":
        board = "these boards" if wanted.boards else "this board"
        raise RecordError(
            f"the capture holds no undecided result of {board} and these windows"
            f"{wanted.conditions}",
            "start a new one without --resume",
        )
    return same[-1]
