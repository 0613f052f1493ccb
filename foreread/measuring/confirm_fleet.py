"""Confirms a proposed window on several like boards at once: pairs of runs spread over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from analyzer.tuner.campaign.crew import NoBoardError
from boards.base.silent import silent
from foreread.benches.boards import check_targets
from foreread.checks import StrPath, checked_number, checked_path, key_of
from foreread.error import ArgumentError
from foreread.measuring.advice_row import Advised
from foreread.measuring.comparison import PairProgress, RunLimits
from foreread.measuring.confirm import (
    MOST_RUNS,
    Confirmed,
    Storing,
    notes_on,
    proposed_start,
    trials_of,
    undecided,
)
from foreread.measuring.confirm_board import ConfirmTask, Subject, open_bench
from foreread.measuring.pairs import ComparedBoard
from foreread.measuring.spread_pairs import Boards, SpreadPairs
from foreread.question import Question
from tracer.error import RecordError
from tracer.formats.confirmation import Confirmation
from tracer.formats.scenario import IDLE
from tracer.interrupts import orderly_exit
from tracer.local.trial import Scenario


def fleet_confirm(
    capture: StrPath,
    targets: Sequence[str],
    *,
    read_ahead_kb: int | None = None,
    row: Advised | None = None,
    scenario: str = IDLE,
    identity: StrPath | None = None,
    question: Question | None = None,
    runs: int = MOST_RUNS,
    seconds: float | None = None,
    resume: bool = False,
    seed: int | None = None,
    force: bool = False,
    limit_s: float = 600.0,
    wait_s: float = 0.0,
    tell: Callable[[str], None] = silent,
    progress: Callable[[PairProgress], None] = silent,
) -> Confirmed:
    """Measure the recorded start on several like boards at the same time until the answer is known.

    As :func:`foreread.confirm`, with the pairs of all boards as one sequence. Both runs of a pair
    are made on the same board, and pairs are counted in the order in which they were handed out. A
    board that is lost is set aside, and its open pair is made anew on another. The result is stored
    in the capture, with what each board made.

    Arguments that are not listed are those of :func:`foreread.confirm`.

    Args:
        targets: the boards, two or more, as in :func:`foreread.record`.
        runs: stop undecided after so many runs, of all boards together.
        resume: continue the latest undecided result of such boards, this scenario and these
            windows; boards that are gone are left out.
        force: measure although the boards are not the one of the capture.

    Raises:
        ArgumentError: arguments that make no sense, or boards that are not alike.
        tracer.error.RecordError: nothing is proposed, or the runs cannot be made.
    """
    check_targets(targets, "foreread confirm")
    path = checked_path(capture, "capture")
    limits = RunLimits(checked_number(runs, "runs", least=1), seconds)
    of = proposed_start(path, question, row, read_ahead_kb)
    trials = trials_of(of, row, wait_s, limit_s)
    load, key = Scenario.parse(scenario), key_of(identity)
    subject = Subject(of.capture, of.proposal, trials, row, load, force, key)
    tasks = [ConfirmTask(one, subject, open_bench, _seed(seed, one)) for one in targets]
    with orderly_exit(), Boards(tasks, tell) as boards:
        boards.leave_out_failed(resume)
        _check_alike(boards)
        notes = [
            f"{boards.names[place]}: {note}"
            for place, board in boards.opened.items()
            for note in board.notes
        ]
        spread = SpreadPairs(boards, limits, [*notes, *notes_on(row)], progress, tell)
        store = Storing(path)
        if resume:
            store.stored = undecided(of.capture, spread.result())
            spread.resume(store.stored)
        result = _made(spread, store)
    return Confirmed(result, of.capture, of.proposal, row)


def _seed(seed: int | None, target: str) -> str | None:
    """Return the random seed of a board's orders: boards do not run in step."""
    return None if seed is None else f"{seed} {target}"


def _made(spread: SpreadPairs, store: Storing) -> Confirmation:
    """Make the runs; what was measured is stored however they end."""
    try:
        return spread.run(store.after_a_pair)
    except KeyboardInterrupt:
        if not spread.pairs:
            raise
        return spread.result()
    except NoBoardError as error:
        again = "repeat the command line"
        if spread.pairs:
            store.after_a_pair(spread.result())  # which says why the last board is out
            again += " and add --resume"
        raise RecordError(str(error), f"repair or restart the boards, then {again}") from error
    finally:
        store.finish()


def _check_alike(boards: Boards) -> None:
    """Raise ArgumentError for boards whose runs are not of the same comparison."""
    first, *others = sorted(boards.opened)
    for other in others:
        if what := _difference(boards.opened[first], boards.opened[other]):
            raise ArgumentError(
                f"{boards.names[other]} is not like {boards.names[first]}: {what}",
                "measure it by itself: foreread confirm CAPTURE --target T",
            )


def _difference(one: ComparedBoard, other: ComparedBoard) -> str:
    """Return in what two boards differ."""
    pairs = {
        "kernel": (one.kernel, other.kernel),
        "machine": (one.machine, other.machine),
        "CPU": (one.model, other.model),
        "page size": (one.page_bytes, other.page_bytes),
        "disks": (", ".join(one.disks), ", ".join(other.disks)),
        "present window": (one.windows.present_kb, other.windows.present_kb),
        "windows": (one.windows.present, other.windows.present),
    }
    for what, (was, now) in pairs.items():
        if was != now:
            return f"its {what} is {now!r}, not {was!r}"
    return ""
