"""``foreread confirm``: cold runs that confirm or contradict the proposal of a capture."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from foreread.analyzer.suite.predicted import SuiteQuestion
from foreread.cli.arguments import UsageError, refuse
from foreread.cli.arguments.capture import add_capture
from foreread.cli.arguments.scenario import scenario_of, scenarios_of
from foreread.cli.arguments.target import add_targets, tell
from foreread.cli.confirming import add_comparison, options_of, print_results
from foreread.cli.text.confirming import show_progress
from foreread.cli.text.suite import proof_text
from foreread.measuring.confirm import Confirmed, confirm
from foreread.measuring.confirm_suite import confirm_suite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser, nargs="?", foreign=False)
    parser.add_argument(
        "--suite",
        metavar="SUITE",
        type=Path,
        help="measure every start of this suite, on its board, at its present window and at "
        "the one that foreread predict SUITE proposes; repeat the command to continue after an "
        "interruption",
    )
    add_targets(parser, named="the recorded one")
    add_comparison(parser)


def run(args: argparse.Namespace) -> int:
    """Make the runs, store and print the result."""
    if args.suite is not None:
        return _suite(args)
    if args.capture is None:
        raise UsageError("give a capture, or --suite SUITE")
    targets = [word for target in args.targets for word in ("--target", target)]
    command = ["foreread", "confirm", str(args.capture), *targets]
    if len(args.targets) > 1:
        print_results([_spread(args)], args, command)
        return 0
    scenarios = scenarios_of(args)
    if args.resume and len(scenarios) > 1:
        raise UsageError("--resume continues one result: give --scenario once")
    results: list[Confirmed] = []
    try:
        for scenario in scenarios:
            if len(scenarios) > 1:
                tell(f"measuring in the scenario {scenario}")
            results.append(_measured(args, scenario))
            if results[-1].interrupted:
                break
    finally:
        if results:  # also before the error of a later scenario
            print_results(results, args, command)
    return 0


def _spread(args: argparse.Namespace) -> Confirmed:
    """Measure the start of a capture on several boards at the same time."""
    from foreread.measuring.confirm_fleet import fleet_confirm  # noqa: PLC0415

    return fleet_confirm(
        args.capture,
        args.targets,
        options_of(args, scenario_of(args, "confirm on several boards")),
        identity=args.identity,
        tell=tell,
        progress=show_progress,
    )


def _measured(args: argparse.Namespace, scenario: str) -> Confirmed:
    """Measure the start of a capture in one scenario."""
    return confirm(
        args.capture,
        options_of(args, scenario),
        target=next(iter(args.targets), None),
        identity=args.identity,
        tell=tell,
        progress=show_progress,
    )


def _suite(args: argparse.Namespace) -> int:
    """Measure the starts of a suite."""
    own = {
        "CAPTURE": args.capture is not None,
        "--target": bool(args.targets),
        "--identity": args.identity is not None,
        "--advice": args.advice is not None,
        "--row": args.row is not None,
        "--replayer": args.replayer is not None,
        "--shim": args.shim is not None,
        "--resume": args.resume,
        "--pid": args.pids != "tree",
    }
    refuse(own, "--suite measures the starts of the suite")
    proof = confirm_suite(
        args.suite,
        replace(options_of(args, scenario_of(args, "--suite")), question=None),
        question=SuiteQuestion(args.model, args.device_model, args.criterion),
        tell=tell,
        progress=show_progress,
    )
    print(file=sys.stderr)
    print(proof.to_json() if args.json else proof_text(proof))
    return 0
