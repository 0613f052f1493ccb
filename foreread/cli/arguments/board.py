"""Arguments of the commands that boot an emulated board."""

from __future__ import annotations

import argparse
from functools import partial

from foreread.boards.disks import FIXED, kinds
from foreread.boards.emulated import MACHINES
from foreread.boards.emulated.image import FILE_SYSTEMS
from foreread.boards.emulated.parts import DEFAULT_PACKAGES
from foreread.cli.arguments import whole_number

_MOST = 4_000_000  # fits the slow disk's 32-bit parameters
positive = partial(whole_number, least=1, most=_MOST)


def add_board(parser: argparse.ArgumentParser, least_memory: str) -> None:
    """Add the board, its packages, its memory and the cost of its disk."""
    parser.add_argument("board", metavar="BOARD", help=", ".join(MACHINES))
    parser.add_argument(
        "--kernel",
        default="",
        metavar="X.Y",
        help="Debian kernel (6.1, or the newest if there is none); X.Y-generic has all of Debian's "
        "modules, such as f2fs",
    )
    parser.add_argument(
        "--package",
        dest="packages",
        action="append",
        metavar="NAME",
        help="Debian package to unpack on the board, with its dependencies, without running its "
        f"installation scripts; repeatable (default: {', '.join(DEFAULT_PACKAGES)})",
    )
    parser.add_argument(
        "--fs", choices=FILE_SYSTEMS, default="ext4", help="file system (default: ext4)"
    )
    device = parser.add_argument_group("memory of the board and cost of its disk")
    device.add_argument(
        "--memory-mib",
        type=positive,
        metavar="N",
        help=f"memory, the disk included ({least_memory})",
    )
    device.add_argument(
        "--disk",
        choices=tuple(kinds()),
        default=FIXED,
        help="kind of disk (default: fixed, the same cost for each request); "
        "docs/howto/emulated-board.md describes them",
    )
    for option, default, what in (
        ("--latency-us", 1000, "request"),
        ("--ns-per-kib", 50_000, "KiB"),
    ):
        device.add_argument(
            option,
            type=partial(whole_number, least=0, most=_MOST),
            default=default,
            metavar="N",
            help=f"cost of a {what} on a fixed disk (default: {default})",
        )
