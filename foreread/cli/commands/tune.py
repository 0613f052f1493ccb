"""``foreread tune``: genetic tuning of settings that cannot be predicted, measured on boards."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.criterion import SECONDS
from foreread.analyzer.predict.proposal import Proposal
from foreread.analyzer.tuner.findings.results import Results
from foreread.boards.base.counted import plural
from foreread.boards.open import LOCAL
from foreread.cli.arguments import UsageError
from foreread.cli.arguments.model import question_of
from foreread.cli.arguments.output import add_check
from foreread.cli.arguments.run import add_run, run_options
from foreread.cli.arguments.scenario import add_scenario, scenarios_of
from foreread.cli.arguments.target import add_targets, tell
from foreread.cli.arguments.tune import add_search
from foreread.cli.arguments.verbose import add_verbose
from foreread.cli.text.tuning import MORE, TuningLine, outcome_text
from foreread.tracer.formats.capture import NO_METADATA, Metadata
from foreread.tuning.campaign import check_output, tune
from foreread.tuning.earlier import changed_files
from foreread.tuning.options import TuneOptions
from foreread.tuning.prior import beside_scenarios, proposed_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_targets(parser)
    parser.add_argument(
        "-o", "--output", metavar="TUNING", type=Path, required=True, help="file to create"
    )
    add_check(parser, "output", lambda args: check_output(args.output, args.resume))
    add_scenario(parser, "; repeatable")
    add_search(parser)
    parser.add_argument(
        "--device",
        action="append",
        default=[],
        metavar="NAME",
        help="disk to tune; repeatable (default: the disk that holds the command)",
    )
    add_verbose(parser, MORE)
    add_run(parser, own_stdout=True)


def run(args: argparse.Namespace) -> int:
    """Search, confirm the result, and print it."""
    target, *others = args.targets or [LOCAL]
    line = TuningLine(sys.stderr)

    def report_step(step: str) -> None:
        line.end()
        tell(step)

    results = _search(others)(
        _options(args, target, others),
        args.output,
        resume=args.resume,
        tell=report_step,
        searching=line.searching,
        confirming=line.confirming,
    )
    line.end()
    print(results.to_json() if args.json else outcome_text(results, verbose=args.verbose))
    return 0


def _search(others: Sequence[str]) -> Callable[..., Results]:
    """Return the function that searches on one board, or on several."""
    if not others:
        return tune
    from foreread.tuning.fleet import fleet_tune  # noqa: PLC0415

    return fleet_tune


def _options(args: argparse.Namespace, target: str, others: Sequence[str]) -> TuneOptions:
    """Return what the arguments ask for."""
    nothing = (None, NO_METADATA)
    proposal, capture = nothing if args.resume else _proposal(args, here=target == LOCAL)
    return TuneOptions(
        run=run_options(args),
        scenarios=scenarios_of(args),
        devices=tuple(args.device),
        target=target,
        others=tuple(others),
        identity=args.identity,
        recipe=args.sampler or args.recipe,
        genes=args.genes,
        proposal=proposal,
        capture=capture,
        earlier=args.earlier,
        repeats=args.repeats,
        budget=args.budget,
        seed=args.seed,
        limit_s=args.limit,
        wait_s=args.wait,
        reset=tuple(args.reset),
        allow=tuple(dict.fromkeys(args.allow)),
        most_written=args.most_written,
        most_stalled=args.most_stalled,
        weights=dict(args.weigh),
    )


def _proposal(args: argparse.Namespace, here: bool) -> tuple[Proposal | None, Metadata]:
    """Return what the capture predicts, if there is something to set, and the capture.

    ``here``: this machine is tuned, so that the recorded files can be compared with its own.
    """
    if args.capture is None:
        if (args.model, args.device_model, args.criterion) != (None, None, SECONDS):
            raise UsageError("--model, --device-model and --criterion need --capture CAPTURE")
        return None, NO_METADATA
    recording = load(args.capture)
    command = recording.capture.command
    if command is not None and command != args.command_line:
        of = shlex.join(command)
        tell(
            f"{args.capture} was recorded with another command, which may need another window: {of}"
        )
    prediction = question_of(args).predicted(recording)
    prediction = beside_scenarios(prediction, scenarios_of(args), dict(args.weigh))
    if here and (changed := changed_files(filter(None, recording.entries))):
        more = f" and {plural(len(changed) - 1, 'other file')}" if len(changed) > 1 else ""
        tell(
            f"the capture is of another build of the start: {changed[0]}{more} changed or are "
            "gone; record again: foreread record -o CAPTURE -- COMMAND"
        )
    genes = list(args.genes)
    proposal = proposed_settings(recording, prediction, question_of(args), genes, tell)
    return proposal, recording.capture
