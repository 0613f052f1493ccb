"""``foreread boards run``: a command's cold runs on an emulated board."""

from __future__ import annotations

import argparse
import base64
import sys

from foreread.boards.base.units import pages_to_kib
from foreread.boards.emulated import Board, BoardError, BoardRun, RunPlan
from foreread.boards.emulated.board import DEFAULT_PACKAGES
from foreread.boards.emulated.machines import machine
from foreread.cli.arguments.board import add_board, positive
from foreread.cli.arguments.output import add_json
from foreread.cli.arguments.target import tell
from foreread.cli.arguments.windows import add_windows, parse_windows
from foreread.cli.text.table import render
from foreread.documents.boards import BoardRunDocument

_DEFAULT_WINDOWS = "128"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.usage = f"{parser.prog} BOARD [options] -- COMMAND [ARGUMENT ...]"
    add_board(parser, least_memory="default: 256")
    add_windows(parser, _DEFAULT_WINDOWS)
    parser.add_argument("--repeat", type=positive, default=1, metavar="N", help="runs per window")
    parser.add_argument(
        "--time-out", type=positive, default=300, metavar="S", help="real-time limit (default: 300)"
    )
    add_json(parser)
    parser.add_argument(
        "command_line", metavar="COMMAND", nargs="+", help="the command and its arguments"
    )


def run(args: argparse.Namespace) -> int:
    """Run the command on the board, pass on its output, and print the table."""
    board = Board(args.board, args.kernel, args.packages or DEFAULT_PACKAGES, tell=tell)
    result = board.run(_plan(args))
    if args.json:
        print(_document(args, board.kernel, result).to_json())
    else:
        _pass_on(result)
        print(_table(result))
    _check_status(result)
    return 0


def _plan(args: argparse.Namespace) -> RunPlan:
    page_bytes = machine(args.board, args.kernel).page_bytes
    windows = parse_windows(args.windows or _DEFAULT_WINDOWS, page_bytes)
    return RunPlan(
        command=tuple(args.command_line),
        windows_kb=tuple(pages_to_kib(window, page_bytes) for window in windows),
        repeat=args.repeat,
        disk=args.disk,
        latency_ns=args.latency_us * 1000,
        ns_per_kib=args.ns_per_kib,
        fs=args.fs,
        memory_mib=args.memory_mib or 256,
        time_out_s=args.time_out,
    )


def _check_status(result: BoardRun) -> None:
    failed = [run.status for run in result.runs if run.status]
    if failed:
        raise BoardError(
            f"the command exited with status {failed[0]} on the board", "read its stderr above"
        )


def _document(args: argparse.Namespace, kernel: str, result: BoardRun) -> BoardRunDocument:
    return BoardRunDocument(
        board=args.board,
        kernel=kernel,
        fs=args.fs,
        disk=args.disk,
        latency_us=args.latency_us,
        ns_per_kib=args.ns_per_kib,
        runs=result.runs,
        stdout_base64=base64.b64encode(result.stdout).decode(),
        stderr_base64=base64.b64encode(result.stderr).decode(),
    )


def _pass_on(result: BoardRun) -> None:
    for stream, data in ((sys.stdout, result.stdout), (sys.stderr, result.stderr)):
        stream.buffer.write(data)
        stream.flush()


def _table(result: BoardRun) -> str:
    rows = [
        (
            str(run.read_ahead_kb),
            f"{run.guest_ns / 1e9:.4f}",
            str(run.requests),
            str(run.read_kib),
            str(run.status),
        )
        for run in result.runs
    ]
    return render(("KiB", "guest seconds", "requests", "KiB read", "exit"), rows)
