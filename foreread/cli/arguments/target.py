"""The argument that names the machine to work on."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

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
    parser.add_argument(
        "--identity",
        metavar="FILE",
        type=Path,
        help="private key that logs in to an ssh target (default: as your ssh is configured)",
    )


def target_words(args: argparse.Namespace) -> list[str]:
    """Return the options of ``add_target`` as given; none on this machine."""
    if args.target == LOCAL:
        return []
    identity = [] if args.identity is None else ["--identity", str(args.identity.absolute())]
    return ["--target", args.target, *identity]


def tell(step: str) -> None:
    """Say what is being done, on stderr."""
    print(f"foreread: {step}", file=sys.stderr, flush=True)
