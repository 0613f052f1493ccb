"""The argument that names the machine to work on."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from foreread.boards.base.printable import printable
from foreread.boards.open import LOCAL
from foreread.recording import words as run_words

_HELP = (
    "machine to work on: ssh://USER@HOST, serial:///dev/ttyUSB0, adb://, labgrid://PLACE, "
    "or a board profile (default: {})"
)


def add_target(
    parser: argparse.ArgumentParser, default: str | None = LOCAL, named: str = "this machine"
) -> None:
    """Add ``--target T``; ``named`` says in the help what the default is."""
    parser.add_argument(
        "--target",
        metavar="T",
        default=default,
        help=_HELP.format(named),
    )
    _add_identity(parser)


def add_targets(parser: argparse.ArgumentParser, named: str = "this machine") -> None:
    """Add ``--target T``, repeatable; ``named`` says in the help what the default is."""
    parser.add_argument(
        "--target",
        dest="targets",
        metavar="T",
        action="append",
        default=[],
        help=f"{_HELP.format(named)}; several like boards share the runs: give --target for each",
    )
    _add_identity(parser)


def _add_identity(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--identity",
        metavar="FILE",
        type=Path,
        help="private key that logs in to an ssh target (default: as your ssh is configured)",
    )


def target_words(args: argparse.Namespace) -> list[str]:
    """Return the options of ``add_target`` as given; none on this machine."""
    return list(run_words.target_words(args.target, args.identity))


def tell(step: str) -> None:
    """Print the current step on stderr."""
    print(f"foreread: {printable(step)}", file=sys.stderr, flush=True)
