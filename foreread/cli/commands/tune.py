"""``foreread tune``: genetic tuning of settings that cannot be predicted, measured on the board."""

from __future__ import annotations

import argparse

from foreread.cli.arguments.target import add_target
from foreread.cli.tuning import add_tuning, options_of, tuned_by
from foreread.tuning import tune


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_target(parser)
    add_tuning(parser)


def run(args: argparse.Namespace) -> int:
    """Search, confirm the result, and print it."""
    return tuned_by(tune, options_of(args, args.target), args)
