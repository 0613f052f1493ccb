"""``foreread fleet tune``: one campaign, whose runs are spread over several like boards."""

from __future__ import annotations

import argparse

from foreread.cli.arguments.target import add_targets
from foreread.cli.tuning import add_tuning, options_of, tuned_by


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_targets(parser)
    add_tuning(parser)
    parser.set_defaults(act=run)


def run(args: argparse.Namespace) -> int:
    """Search on all boards, confirm the result, and print it."""
    from foreread.fleet_tuning import fleet_tune  # noqa: PLC0415

    first, *others = args.targets
    return tuned_by(fleet_tune, options_of(args, first, others), args)
