"""The argument that names the machine to work on."""

from __future__ import annotations

import argparse
import sys

from boards.open import LOCAL


def add_target(
    parser: argparse.ArgumentParser, default: str | None = LOCAL, named: str = "this machine"
) -> None:
    """Add ``--target T``; ``named`` says in the help what the default is."""
    parser.add_argument(
        "--target",
        metavar="T",
        default=default,
        help="machine to work on: ssh://USER@HOST, serial:///dev/ttyUSB0, adb://, or a board "
        f"profile (default: {named})",
    )


def tell(step: str) -> None:
    """Say what is being done, on stderr."""
    print(f"foreread: {step}", file=sys.stderr, flush=True)
