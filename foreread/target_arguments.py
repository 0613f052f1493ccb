"""The argument that names the target of a command."""

from __future__ import annotations

import argparse

from boards.open import LOCAL


def add_target(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--target``; ``what`` is done there."""
    parser.add_argument(
        "--target",
        metavar="T",
        default=LOCAL,
        help=f"{what} on this board: ssh://USER@HOST, serial:///dev/ttyUSB0, adb://, "
        "or a profile (default: this machine)",
    )
