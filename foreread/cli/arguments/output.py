"""Options that name what a command writes or changes: main checks their paths before the command.

A command declares each of these options here, and checks nothing itself. ``--json`` is here, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

_OUTPUTS = "outputs"  # in the namespace: the check of each destination


def add_output(
    parser: argparse._ActionsContainer,
    *names: str,
    check: Callable[[Path, str], None],
    **keywords: Any,
) -> None:
    """Add an option for a path; ``check`` gets the path and the option, and raises."""
    dest = parser.add_argument(*names, type=Path, **keywords).dest
    add_check(parser, dest, lambda args: check(getattr(args, dest), names[0]))


def add_json(parser: argparse.ArgumentParser, default: object = argparse.SUPPRESS) -> None:
    """Add ``--json`` to an action; with a default, it would undo a --json before its name."""
    parser.add_argument(
        "--json", action="store_true", default=default, help="print the result as JSON on stdout"
    )


def add_check(
    parser: argparse._ActionsContainer, dest: str, check: Callable[[argparse.Namespace], None]
) -> None:
    """Add the check of an argument that names an output, for a command that has it."""
    earlier = parser.get_default(_OUTPUTS) or {}
    parser.set_defaults(**{_OUTPUTS: earlier | {dest: check}})


def check_outputs(args: argparse.Namespace) -> None:
    """Check every output that was given; raises the error of the first that cannot be written."""
    for dest, check in getattr(args, _OUTPUTS, {}).items():
        if getattr(args, dest) is not None:
            check(args)
