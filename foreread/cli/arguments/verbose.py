"""``--verbose``: everything that a command can print, after the answer."""

from __future__ import annotations

import argparse


def add_verbose(parser: argparse.ArgumentParser, more: str) -> None:
    """Add the option; ``more``: the parts that it adds to the answer."""
    parser.add_argument("-v", "--verbose", action="store_true", help=f"print also {more}")
