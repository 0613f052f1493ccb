"""``--verbose``: all that a command knows, after the answer."""

from __future__ import annotations

import argparse


def add_verbose(parser: argparse.ArgumentParser, more: str) -> None:
    """Declare the option; ``more``: what it adds to the answer."""
    parser.add_argument("-v", "--verbose", action="store_true", help=f"print also {more}")
