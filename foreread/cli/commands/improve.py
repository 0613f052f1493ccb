"""``foreread improve``: everything from the check of the machine to the boot script."""

from __future__ import annotations

import argparse
from pathlib import Path

from foreread.boards.base.interrupts import Interrupted
from foreread.boards.base.outputs import check_folder
from foreread.boards.base.printable import printable
from foreread.boards.open import LOCAL
from foreread.cli.arguments import UsageError, refuse
from foreread.cli.arguments.budget import parse_budget
from foreread.cli.arguments.load import add_load, loads_of
from foreread.cli.arguments.output import add_output
from foreread.cli.arguments.run import add_run, given_run, run_options
from foreread.cli.arguments.scenario import add_scenario, scenarios_of
from foreread.cli.arguments.target import add_target
from foreread.cli.arguments.tune import add_genes
from foreread.cli.arguments.verbose import add_verbose
from foreread.cli.text.improve import StepLines, improved_text
from foreread.documents.improve import ImproveDocument
from foreread.improving.improve import command_lines, improve, read_improved
from foreread.improving.job import TuneWish
from foreread.tracer.runs.options import RunOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_output(
        parser,
        "-o",
        "--output",
        metavar="DIR",
        check=check_folder,
        required=True,
        help="folder of the results; after an interruption, type the same command line again",
    )
    add_target(parser)
    parser.add_argument(
        "--suite",
        metavar="SUITE",
        type=Path,
        help="improve the starts of this suite on its boards, instead of one command",
    )
    parser.add_argument(
        "--tune",
        metavar="N|TIME",
        type=parse_budget,
        help="also tune I/O scheduler and other settings, in N runs or a time such as 30m or 2h",
    )
    add_scenario(parser, ", of the tuning; repeatable")
    add_genes(parser)
    add_load(parser)
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print the command lines of the steps, and do nothing",
    )
    add_verbose(parser, "a line for each part of a step")
    add_run(parser, optional=True, printed="; its output goes to DIR/output.txt")


def run(args: argparse.Namespace) -> int:
    """Do the steps, and print the answer."""
    command = _command(args)
    if args.dry_run:
        for line in command_lines(
            command,
            args.output,
            suite=args.suite,
            target=args.target,
            identity=args.identity,
            tune=_tune(args),
            **loads_of(args),
        ):
            print(printable(line))
        return 0
    try:
        improved = improve(
            command,
            args.output,
            suite=args.suite,
            target=args.target,
            identity=args.identity,
            tune=_tune(args),
            **loads_of(args),
            wait_s=args.wait,
            watch=StepLines(args.verbose).watch(),
        )
    except (KeyboardInterrupt, Interrupted):
        if (reached := read_improved(args.output)) is not None:
            _print(args, reached)
        raise
    _print(args, improved.document)
    if improved.failed is not None:
        raise improved.failed
    return 0


def _print(args: argparse.Namespace, document: ImproveDocument) -> None:
    print(document.to_json() if args.json else improved_text(document))


def _command(args: argparse.Namespace) -> RunOptions | None:
    """Return the command with its options; None for a suite. Raises UsageError."""
    if args.suite is None:
        if not args.command_line:
            raise UsageError("no command: add -- COMMAND [ARGUMENT ...], or --suite SUITE")
        if args.tune is None and (args.scenario or args.genes):
            raise UsageError("--scenario and --genes are for a tuning: add --tune TIME")
        return run_options(args)
    own = {
        **given_run(args),
        "--target": args.target != LOCAL,
        "--identity": args.identity is not None,
        "--tune": args.tune is not None,
        "--scenario": args.scenario,
        "--genes": args.genes,
        "--load": args.loads,
        "--weigh": args.weigh,
    }
    refuse(own, "a suite names its starts and boards itself")
    return None


def _tune(args: argparse.Namespace) -> TuneWish | None:
    if args.tune is None:
        return None
    return TuneWish(args.tune, scenarios_of(args), args.genes)
