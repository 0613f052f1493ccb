"""``foreread confirm``: cold runs that prove or disprove what a capture proposes."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from functools import partial
from pathlib import Path

import msgspec

from analyzer.confirm.sequential import BLOCK, CONFIDENCE
from analyzer.confirm.text import board_text, gain_text, interval_text, percent
from analyzer.predict.prediction import Verdict
from analyzer.tuner.engines.stopping import Budget
from boards.counted import plural
from boards.open import LOCAL, open_target
from boards.target import LocalTarget
from foreread.cli.arguments import add_capture, duration, window_kb
from foreread.cli.arguments.budget import parse_budget
from foreread.cli.arguments.run import add_wait
from foreread.cli.arguments.target import add_target, tell
from foreread.cli.commands.predict import add_criterion, add_model
from foreread.cli.main import printable
from foreread.cli.proposal import Proposal
from foreread.cli.recorded import Recorded, check_board, recorded_start, repeating
from foreread.cli.text.progress import ProgressLine
from foreread.cli.text.wording import duration_text
from foreread.confirming import Confirming, Limits, Progress, Windows
from tracer.error import RecordError
from tracer.formats.capture import Capture
from tracer.formats.confirmation import Confirmation, same_question
from tracer.formats.confirmation_store import change_stored, check_storable
from tracer.interrupts import orderly_exit
from tracer.local.trial import TrialBench, TrialOptions
from tracer.local.trials import local_trials
from tracer.remote.trials import trials_on

MOST_RUNS = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser)
    add_model(parser)
    add_criterion(parser)
    add_target(parser, default=None, named="the one that was recorded")
    parser.add_argument(
        "--read-ahead-kb",
        type=window_kb,
        metavar="K",
        help="test this window instead of the proposed one",
    )
    parser.add_argument(
        "--budget",
        metavar="N|TIME",
        type=parse_budget,
        default=Budget(),
        help=f"stop without an answer after N runs ({MOST_RUNS}) or a time such as 90s, 30m or 2h",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="continue the latest undecided result of this board and these windows",
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="random seed of the order of runs (default: random)"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="run even if machine, kernel, CPU or disks are not those of the capture",
    )
    parser.add_argument(
        "--limit",
        type=duration,
        default=600.0,
        metavar="S",
        help="maximum duration of one run in seconds (default: 600)",
    )
    add_wait(parser)


def run(args: argparse.Namespace) -> int:
    """Make the runs, store and print the result."""
    of, verdict = recorded_start(args.capture, args, args.read_ahead_kb)
    if of.proposal is None:
        raise _no_proposal(verdict)
    check_storable(args.capture)
    with orderly_exit():
        found = _confirm(args, of, of.proposal)
    print(file=sys.stderr)
    if args.json:
        print(json.dumps({"schema": 1, **_document(found, of.capture, of.proposal)}))
    else:
        print(_text(found, of.capture, of.proposal, args))
    return 0


def _no_proposal(verdict: Verdict) -> RecordError:
    """Return the error of a verdict that proposes no window."""
    test = "test a window of your choice with --read-ahead-kb K"
    if verdict.remedy is None:
        return RecordError(f"the verdict is to change nothing: {verdict.why}", test)
    return RecordError(f"no window is proposed: {verdict.why}", f"run {verdict.remedy}; or {test}")


def _confirm(args: argparse.Namespace, of: Recorded, proposal: Proposal) -> Confirmation:
    name = of.target if args.target is None else args.target
    options = TrialOptions(
        of.run,
        devices=tuple(proposal.by_disk),
        wait_s=args.wait,
        limit_s=args.limit,
        vmstat=False,
    )
    with open_target(name, identity=args.identity, tell=tell) as target:
        here = isinstance(target, LocalTarget)
        opened = local_trials(options) if here else trials_on(target, options)
        with repeating(of, here), opened as bench:
            if not args.force:
                check_board(bench, of.capture)
            return _compare(args, bench, of.capture, proposal, "" if name == LOCAL else name)


def _compare(
    args: argparse.Namespace,
    bench: TrialBench,
    capture: Capture,
    proposal: Proposal,
    target: str,
) -> Confirmation:
    windows = choose_windows(bench, capture, proposal)
    limits = Limits(args.budget.evaluations or MOST_RUNS, args.budget.seconds)
    comparison = Confirming(bench, windows, limits, target, args.seed)
    comparison.notes += bench.notes
    store = _Storing(args.capture)
    if args.resume:
        _resume(comparison, store, capture)
    shown = partial(_show_progress, proposal.read_ahead_kb)
    try:
        return comparison.run(store.after_a_pair, shown)
    except KeyboardInterrupt:
        if not comparison.pairs:
            raise
        return comparison.result()
    finally:
        store.finish()


def choose_windows(bench: TrialBench, capture: Capture, proposal: Proposal) -> Windows:
    """Return the settings to compare.

    The present windows are those that the board has, or where it has the proposed ones already,
    those that it had before the recording.
    """
    found = bench.probe(bench.windows)
    wanted = {knob: str(_for_knob(knob, proposal)) for knob in bench.windows}
    if found == wanted:
        before = {device.name: device.read_ahead_kb_before for device in capture.devices}
        found = {
            knob: str(next((kb for disk, kb in before.items() if f"/{disk}/" in knob), value))
            for knob, value in found.items()
        }
    if found == wanted:
        raise RecordError(
            f"the board already uses the proposed window, {proposal.read_ahead_kb} KiB, as in "
            "the capture",
            "test another window with --read-ahead-kb K",
        )
    main = bench.windows[0]
    if not all(value.isdecimal() for value in found.values()):
        raise RecordError("cannot read the windows of the board", "run foreread doctor")
    return Windows(
        tuple(found.items()), tuple(wanted.items()), int(found[main]), proposal.read_ahead_kb
    )


def _for_knob(knob: str, proposal: Proposal) -> int:
    named = (kb for disk, kb in proposal.by_disk.items() if f"/{disk}/" in knob)
    return next(named, proposal.read_ahead_kb)


class _Storing:
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


def _resume(comparison: Confirming, store: _Storing, capture: Capture) -> None:
    asked = comparison.result()
    same = [one for one in capture.confirmations if same_question(one, asked)]
    if not same or same[-1].outcome != "undecided":
        raise RecordError(
            "the capture holds no undecided result of this board and these windows",
            "start a new one without --resume",
        )
    last = same[-1]
    comparison.pairs += last.pairs[: len(last.pairs) // BLOCK * BLOCK]  # whole blocks
    comparison.disturbed, comparison.runs = last.disturbed, last.runs
    comparison.wall_seconds, store.stored = last.wall_seconds, last
    comparison.notes += [note for note in last.notes if note not in comparison.notes]


def _show_progress(proposed_kb: int, progress: Progress) -> None:
    known = progress.assessment
    so_far = ""
    if known.gain is not None and known.low is not None and known.high is not None:
        interval = interval_text(known.low, known.high)
        so_far = f"; {proposed_kb} KiB saves {percent(known.gain)} % so far ({interval})"
    line = (
        f"run {progress.runs}: {progress.read_ahead_kb} KiB, {progress.seconds:.3f} s{so_far}; "
        f"at most {duration_text(progress.left_s)} left"
    )
    ProgressLine(sys.stderr).say(line)


def _document(of: Confirmation, capture: Capture, proposal: Proposal) -> dict[str, object]:
    document: dict[str, object] = msgspec.to_builtins(of)
    return {
        "command": capture.command,
        "confidence": CONFIDENCE,
        "predicted_gain": proposal.predicted_gain(of.present_kb),
        **document,
    }


def _text(of: Confirmation, capture: Capture, proposal: Proposal, args: argparse.Namespace) -> str:
    words = {"too small": "too small to matter"}
    head = words.get(of.outcome, of.outcome)
    if of.outcome == "undecided":
        head = f"undecided after {plural(of.runs, 'run')}"
    windows = f"{of.present_kb} -> {of.proposed_kb} KiB"
    gain = proposal.predicted_gain(of.present_kb)
    lines = [
        f"{head}: {windows} {gain_text(of)}",
        f"measured: {plural(len(of.pairs), 'pair')} of cold runs of {shlex.join(capture.command)} "
        f"in {duration_text(of.wall_seconds)}, "
        f"on {of.target or 'this machine'} ({board_text(of)})",
    ]
    if gain is not None:
        lines.append(f"predicted: saves {percent(gain)} %")
    if of.disturbed:
        lines.append(
            f"{plural(of.disturbed, 'pair', 'was')} disturbed by other processes and made again"
        )
    lines += [f"note: {note}" for note in of.notes]
    if of.outcome == "undecided":
        lines.append(f"to continue: {_again(args)}")
    return "\n".join(map(printable, lines))


def _again(args: argparse.Namespace) -> str:
    words = ["foreread", "confirm", str(args.capture)]
    for name in ("target", "identity", "read_ahead_kb", "model", "device_model"):
        value = getattr(args, name)
        words += [f"--{name.replace('_', '-')}", str(value)] if value is not None else []
    words += ["--force"] if args.force else []
    return shlex.join([*words, "--resume"])
