"""``foreread boards stop``: end boards that were started."""

from __future__ import annotations

import argparse

from foreread.boards.emulated import BoardError
from foreread.boards.emulated.live import LiveBoard, ended, running
from foreread.cli.arguments import UsageError
from foreread.cli.arguments.output import add_json
from foreread.documents.boards import StoppedDocument


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help="names that `foreread boards list` shows"
    )
    parser.add_argument("--all", action="store_true", help="stop all running boards")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Stop the boards, all of them or none if one is not there; forget those that ended."""
    if bool(args.names) == args.all:
        raise UsageError("name the boards to stop, or give --all")
    boards = [*running(), *ended()] if args.all else [_named(name) for name in args.names]
    for board in boards:
        board.stop()
    names = [board.name for board in boards]
    print(StoppedDocument(stopped=names).to_json() if args.json else _sentence(names))
    return 0


def _named(name: str) -> LiveBoard:
    board = next((board for board in [*running(), *ended()] if board.name == name), None)
    if board is None:
        there = ", ".join(board.name for board in running()) or "none"
        raise BoardError(f"no board called {name!r} is running", f"running boards: {there}")
    return board


def _sentence(names: list[str]) -> str:
    return f"stopped: {', '.join(names)}" if names else "no board was running"
