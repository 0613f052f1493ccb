"""``--memory``: how much memory the runs have."""

from __future__ import annotations

import argparse

from foreread.boards.base.units import KIB, MIB, parse_kib

_LEAST_KIB, _MOST_KIB = MIB // KIB, 1 << 30


def add_memory(parser: argparse._ActionsContainer, of: str) -> None:
    """Add the option; ``of`` names the runs that have the memory."""
    parser.add_argument(
        "--memory",
        type=memory_kib,
        metavar="SIZE",
        help=f"{of} in a control group with this much memory, without swap, such as 32M",
    )


def memory_kib(text: str) -> int:
    """Return a size of memory in KiB."""
    try:
        kib = parse_kib(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if not _LEAST_KIB <= kib <= _MOST_KIB:
        raise argparse.ArgumentTypeError(f"{text!r}: write a size from 1M to 1024G")
    return kib
