"""``--scenario``: the load of the machine during the runs."""

from __future__ import annotations

import argparse

from foreread.cli.arguments import UsageError
from foreread.tracer.formats.scenario import IDLE


def add_scenario(parser: argparse.ArgumentParser, several: str = "") -> None:
    """Add the option; ``several``: what its help says about several scenarios."""
    parser.add_argument(
        "--scenario",
        action="append",
        default=[],
        metavar="S",
        help="load during the runs: idle (default), reader[:FILE], writer[:FOLDER] or "
        f"memory[:MIB]{several}",
    )


def scenarios_of(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the scenarios, each once."""
    return tuple(dict.fromkeys(args.scenario)) or (IDLE,)


def scenario_of(args: argparse.Namespace, what: str) -> str:
    """Return the scenario of a command that takes one; ``what`` has a single one."""
    scenario, *others = scenarios_of(args)
    if others:
        raise UsageError(f"{what} has one scenario: give --scenario once, and repeat the command")
    return scenario
