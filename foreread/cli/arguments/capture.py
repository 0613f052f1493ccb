"""The argument CAPTURE, the filter of processes, and options of traces of other tools."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from foreread.boards.base.units import KIB

_LARGEST_PID = (1 << 31) - 1
_NUMBER = r"(\d{1,9})(k?)"


def add_capture(
    parser: argparse.ArgumentParser,
    nargs: str | None = None,
    metavar: str = "CAPTURE",
    suite: bool = False,
    foreign: bool = True,
) -> None:
    """Add the CAPTURE argument and the filter of processes.

    ``suite``: or a suite; ``foreign``: traces of other tools are of use, which may lack the page
    size and have a list of the board's files.
    """
    other = "; or a suite, SUITE.toml, alone" if suite else ""
    parser.add_argument(
        "capture",
        nargs=nargs,
        metavar=metavar,
        type=Path,
        help="a capture, perf.data, trace.dat, tracefs or perf script text, a Perfetto trace, "
        f"blktrace files or blkparse text, or a directory of raw tracefs pages{other}",
    )
    add_pids(parser)
    if foreign:
        parser.add_argument(
            "--page-size",
            type=page_size,
            metavar="BYTES",
            help="page size of the traced kernel, for a text trace that does not show it",
        )
        _add_inodes(parser)


def _add_inodes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--inodes",
        metavar="FILE",
        type=Path,
        help="list of the board's files, for a trace of another tool that has inodes only: lines "
        "of find / -xdev -printf '%%D %%i %%s %%p\\n', or a capture's files.json",
    )


def add_pids(parser: argparse.ArgumentParser) -> None:
    """Add the filter of processes."""
    parser.add_argument(
        "--pid",
        dest="pids",
        metavar="tree|all|PID,…",
        type=pid_filter,
        default="tree",
        help="count the accesses of the command's process tree (default), of all processes, or of "
        "these threads",
    )


def pid_filter(text: str) -> str | frozenset[int]:
    """Return ``tree``, ``all``, or the set of the thread ids listed."""
    if text in ("tree", "all"):
        return text
    words = text.split(",")
    if not all(re.fullmatch(r"\d{1,10}", word) and int(word) <= _LARGEST_PID for word in words):
        raise argparse.ArgumentTypeError(f"{text!r}: write tree, all, or thread ids")
    return frozenset(map(int, words))


def page_size(text: str) -> int:
    """Return a page size in bytes, from a number like 16384 or 16k."""
    from foreread.analyzer.ingest.page_size import is_page_size  # noqa: PLC0415  (not for the help)

    match = re.fullmatch(_NUMBER, text)
    size = int(match[1]) * (KIB if match[2] else 1) if match else 0
    if not is_page_size(size):
        raise argparse.ArgumentTypeError(f"{text!r}: write 4096, 8192, 16384, 32768 or 65536")
    return size
