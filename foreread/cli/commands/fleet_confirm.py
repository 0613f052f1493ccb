"""``foreread fleet confirm``: pairs of cold runs, spread over several like boards."""

from __future__ import annotations

import argparse

from foreread.cli.arguments import add_capture
from foreread.cli.arguments.scenario import scenario_of
from foreread.cli.arguments.target import add_targets, tell
from foreread.cli.confirming import add_comparison, comparison_of, print_results
from foreread.cli.text.confirming import show_progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser, foreign=False)
    add_targets(parser)
    add_comparison(parser, "such boards")
    parser.set_defaults(act=run)


def run(args: argparse.Namespace) -> int:
    """Make the runs on all boards, store and print the result."""
    from foreread.fleet_confirming import fleet_confirm  # noqa: PLC0415

    found = fleet_confirm(
        args.capture,
        args.targets,
        scenario=scenario_of(args, "fleet confirm"),
        **comparison_of(args),
        tell=tell,
        progress=show_progress,
    )
    named = [word for target in args.targets for word in ("--target", target)]
    print_results([found], args, ["foreread", "fleet", "confirm", str(args.capture), *named])
    return 0
