"""``--allow``: what a command does only when it is asked for."""

from __future__ import annotations

import argparse

from foreread.tuning.options import ALLOWED

_WHAT = {
    "durability": "settings with which a power cut loses more data than before",
    "wear": "settings with which more is written to the disk",
    "memory": "settings with which other processes wait longer for memory",
}


def add_allow(parser: argparse._ActionsContainer, *choices: str) -> None:
    """Declare ``--allow``; ``choices`` are some of those of ``tune``."""
    offered = choices or ALLOWED
    parser.add_argument(
        "--allow",
        action="append",
        choices=offered,
        default=[],
        help="; ".join(f"{name}: {_WHAT[name]}" for name in offered) + "; repeatable",
    )
