"""Confirms a proposed window on several like boards at once: pairs of runs spread over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.tuner.campaign.crew import NoBoardError
from foreread.benches.boards import check_targets, first_difference
from foreread.benches.opened import open_bench
from foreread.boards.base.interrupts import orderly_exit
from foreread.boards.base.silent import silent
from foreread.checks import checked_path, key_of
from foreread.error import ArgumentError
from foreread.measuring.comparison import Comparison, PairProgress, Tally
from foreread.measuring.confirm import (
    Confirmed,
    Storing,
    notes_on,
    proposed_start,
    trials_of,
    undecided,
)
from foreread.measuring.confirm_board import ComparedStart, ConfirmTask
from foreread.measuring.options import ConfirmOptions
from foreread.measuring.pairs import ComparedBoard
from foreread.measuring.spread_pairs import Boards, SpreadPairs
from foreread.tracer.error import RecordError
from foreread.tracer.formats.confirmation import Confirmation
from foreread.tracer.trials.trial import Scenario


def fleet_confirm(
    capture: StrPath,
    targets: Sequence[str],
    options: ConfirmOptions | None = None,
    *,
    identity: StrPath | None = None,
    tell: Callable[[str], None] = silent,
    progress: Callable[[PairProgress], None] = silent,
) -> Confirmed:
    """Measure the recorded start on several like boards at the same time until the answer is known.

    As :func:`foreread.confirm`, with the pairs of all boards as one sequence. Both runs of a pair
    are made on the same board, and pairs are counted in the order in which they were handed out. A
    board that is lost is set aside, and its open pair is made anew on another. The result is stored
    in the capture, with what each board made.

    Args:
        capture: path of a capture made by :func:`foreread.record`.
        targets: the boards, two or more, as in :func:`foreread.record`.
        options: the settings that are compared, and the limits of the runs.
        identity: private key that logs in to ssh targets.
        tell: is called with each step, in words.
        progress: is called after each run.

    Raises:
        ArgumentError: arguments that make no sense, or boards that are not alike.
        tracer.error.RecordError: nothing is proposed, or the runs cannot be made.
    """
    check_targets(targets, "foreread confirm")
    path = checked_path(capture, "capture")
    options = options or ConfirmOptions()
    limits = options.limits
    start = proposed_start(path, options)
    trials, here = trials_of(start, options), replace(options, question=None, streams=None)
    subject = ComparedStart(start.capture, start.proposal, trials, here, key_of(identity))
    Scenario.parse(options.scenario)
    tasks = [ConfirmTask(target, subject, open_bench) for target in targets]
    with orderly_exit(), Boards(tasks, tell) as boards:
        boards.leave_out_failed(options.resume)
        _check_alike(boards)
        notes = [
            f"{boards.names[place]}: {note}"
            for place, board in boards.opened.items()
            for note in board.notes
        ]
        comparison = Comparison(
            boards.opened[min(boards.opened)],
            [Tally(name) for name in boards.names],
            limits,
            [*notes, *notes_on(options.row)],
            progress,
            boards.failed,
        )
        store = Storing(path)
        if options.resume:
            store.stored = undecided(start.capture, comparison.result())
            comparison.resume(store.stored)
        result = _run(SpreadPairs(boards, comparison, tell), store)
    return Confirmed(result, start.capture, start.proposal, options.row)


def _run(spread: SpreadPairs, store: Storing) -> Confirmation:
    """Make the runs; the results are stored however the runs end."""
    comparison = spread.comparison
    try:
        return spread.run(store.after_a_pair)
    except KeyboardInterrupt:
        if not comparison.pairs:
            raise
        return comparison.result()
    except NoBoardError as error:
        again = "repeat the command line"
        if comparison.pairs:
            store.after_a_pair(comparison.result())  # which says why the last board is out
            again += " and add --resume"
        raise RecordError(str(error), f"repair or restart the boards, then {again}") from error
    finally:
        store.finish()


def _check_alike(boards: Boards) -> None:
    """Raise ArgumentError for boards that cannot share one comparison."""
    first, *others = sorted(boards.opened)
    for other in others:
        if what := _difference(boards.opened[first], boards.opened[other]):
            raise ArgumentError(
                f"{boards.names[other]} is not like {boards.names[first]}: {what}",
                "measure it by itself: foreread confirm CAPTURE --target T",
            )


def _difference(first: ComparedBoard, other: ComparedBoard) -> str:
    """Return in what two boards differ; empty if their runs are of one comparison."""
    properties = {
        "kernel": (first.kernel, other.kernel),
        "machine": (first.machine, other.machine),
        "CPU": (first.model, other.model),
        "page size": (first.page_bytes, other.page_bytes),
        "disks": (", ".join(first.disks), ", ".join(other.disks)),
        "present window": (first.windows.present_kb, other.windows.present_kb),
        "windows": (first.windows.present, other.windows.present),
    }
    return first_difference(properties)
