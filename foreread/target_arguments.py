"""The argument that names the machine to work on."""

from __future__ import annotations

import argparse

from boards.open import LOCAL


def add_target(parser: argparse.ArgumentParser) -> None:
    """Add ``--target T``."""
    parser.add_argument(
        "--target",
        metavar="T",
        default=LOCAL,
        help="machine to work on: ssh://USER@HOST, serial:///dev/ttyUSB0, adb://, or a board "
        "profile (default: this machine)",
    )
