"""``--allow``: settings that a command tries or sets only on request."""

from __future__ import annotations

import argparse

from foreread.tuning.options import ALLOWED

_WHAT = {
    "durability": "settings with which a power cut loses more data than before",
    "wear": "settings with which more is written to the disk",
    "memory": "settings with which other processes wait longer for memory",
}


def add_allow(parser: argparse._ActionsContainer, *choices: str) -> None:
    """Add ``--allow``; ``choices`` are some of ALLOWED, all by default."""
    offered = choices or ALLOWED
    parser.add_argument(
        "--allow",
        action="append",
        choices=offered,
        default=[],
        help="; ".join(f"{name}: {_WHAT[name]}" for name in offered) + "; repeatable",
    )
