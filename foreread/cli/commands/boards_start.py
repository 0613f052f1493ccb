"""``foreread boards start``: an emulated board that stays, as a target."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from foreread.boards.emulated.live import LiveBoard, LiveOptions, start
from foreread.boards.emulated.parts import DEFAULT_PACKAGES
from foreread.cli.arguments.board import add_board, positive
from foreread.cli.arguments.output import add_json
from foreread.cli.arguments.target import tell
from foreread.documents.boards import StartedBoard


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_board(parser, least_memory="default: the disk and 128 MiB")
    parser.add_argument("--name", metavar="NAME", help="name of the board (default: BOARD)")
    parser.add_argument(
        "--image",
        metavar="FILE",
        default="",
        help="boot this root image, of type --fs, for example one built in another order (default: "
        "build it from the packages)",
    )
    parser.add_argument(
        "--systemd", action="store_true", help="use systemd as init (default: busybox)"
    )
    parser.add_argument(
        "--read-only",
        action="store_true",
        help="mount the root read-only (default: ext4 is writable)",
    )
    parser.add_argument(
        "--module",
        dest="modules",
        metavar="NAME",
        action="append",
        default=[],
        help="load this kernel module, such as loop; repeatable",
    )
    parser.add_argument(
        "--append", default="", metavar="WORDS", help="append WORDS to the kernel command line"
    )
    parser.add_argument(
        "--data-mib",
        type=positive,
        default=0,
        metavar="N",
        help="add a disk of N MiB that keeps its data over a restart, also the files that a root "
        "of type overlay changes (default: none; changed files are in memory)",
    )
    parser.add_argument(
        "--time-out", type=positive, default=180, metavar="S", help="real-time limit (default: 180)"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Boot the board and print how to reach it."""
    board = start(_options(args), args.name, tell)
    if args.json:
        print(document(board).to_json())
    else:
        print(f"{board.name} is running: use --target {board.name} to reach it.")
        print(f"  log in:  {shlex.join(board.ssh_words())}")
        print(f"  console: {board.console}")
        print(f"  stop it: foreread boards stop {board.name}")
    return 0


def document(board: LiveBoard) -> StartedBoard:
    """Return how a started board is reached, for JSON."""
    return StartedBoard(
        name=board.name,
        url=str(board.address),
        known_hosts=str(board.known_hosts),
        identity=str(board.identity),
        console=board.console,
        log=str(board.log),
        options=board.options,
    )


def _options(args: argparse.Namespace) -> LiveOptions:
    return LiveOptions(
        board=args.board,
        kernel=args.kernel,
        packages=tuple(args.packages or DEFAULT_PACKAGES),
        init="systemd" if args.systemd else "busybox",
        fs=args.fs,
        image=str(Path(args.image).absolute()) if args.image else "",
        disk=args.disk,
        latency_ns=args.latency_us * 1000,
        ns_per_kib=args.ns_per_kib,
        memory_mib=args.memory_mib,
        read_only=args.read_only,
        append=args.append,
        data_mib=args.data_mib,
        modules=tuple(args.modules),
        time_out_s=args.time_out,
    )
