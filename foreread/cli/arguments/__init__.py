"""Arguments that several sub-commands share."""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path

from analyzer.ingest.page_size import is_page_size
from boards.knobs import knob_of

LARGEST_WINDOW_PAGES = 16383  # limit of the emulator (emulator/core/fixed/fixed_window.h)
_LARGEST_PID = (1 << 31) - 1
_LARGEST_KIB = (1 << 31) - 1
_NUMBER = r"(\d{1,9})(k?)"
_ITEM = re.compile(r"(\d{1,9})k?(?:-(\d{1,9})k?)?")


class UsageError(ValueError):
    """Arguments whose error shows only when the input is known; exit code 2."""


def parse_windows(text: str, page_size: int) -> list[int]:
    """Return windows in pages, rising, from a list of KiB like ``0,4,16-64,128``.

    Each number is a whole number of pages; ``128k`` is 128. Raises UsageError.
    """
    windows: set[int] = set()
    for item in text.split(","):
        match = _ITEM.fullmatch(item.strip())
        if match is None:
            raise UsageError(f"--windows: {item!r} is not a window in KiB: write 32 or 16-64")
        low = _pages(match[1], page_size)
        high = low if match[2] is None else _pages(match[2], page_size)
        if high < low or high > LARGEST_WINDOW_PAGES:
            largest = LARGEST_WINDOW_PAGES * page_size // 1024
            raise UsageError(
                f"--windows: {item!r}: windows are 0 to {largest} KiB; write the smaller first"
            )
        windows.update(range(low, high + 1))
    return sorted(windows)


def parse_windows_kib(text: str, page_size: int) -> list[int]:
    """Return the windows of such a list in KiB. Raises UsageError."""
    return [window * page_size // 1024 for window in parse_windows(text, page_size)]


def _pages(kib: str, page_size: int) -> int:
    size = int(kib) * 1024
    if size % page_size:
        raise UsageError(f"--windows: {kib} KiB is not a whole number of {page_size}-byte pages")
    return size // page_size


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
    match = re.fullmatch(_NUMBER, text)
    size = int(match[1]) * (1024 if match[2] else 1) if match else 0
    if not is_page_size(size):
        raise argparse.ArgumentTypeError(f"{text!r}: write 4096, 8192, 16384, 32768 or 65536")
    return size


def add_windows(parser: argparse.ArgumentParser, default: str) -> None:
    """Add ``--windows LIST``."""
    parser.add_argument(
        "--windows",
        metavar="LIST",
        help=f"windows (read_ahead_kb) in KiB, such as 0,4,16-64,128 (default: {default})",
    )


def window_kb(text: str) -> int:
    """Return a read_ahead_kb that foreread sets."""
    return _whole(text, *knob_of("/sys/block/disk/queue/read_ahead_kb").range(put_back=False))


def boot_attempts(text: str) -> int:
    """Return a number of boots."""
    return _whole(text, 0, 99, "a number of boots")


def buffer_kib(text: str) -> int:
    """Return the size of a trace buffer."""
    return _whole(text, 1, _LARGEST_KIB)


def _whole(text: str, least: int, most: int, what: str = "a number of KiB") -> int:
    if not re.fullmatch(r"[0-9]{1,10}", text) or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text!r}: write {what} from {least} to {most}")
    return int(text)


def row_number(text: str) -> int:
    """Read the number of a row, from 1."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:10]) < 1 << 31:
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a row: rows begin at 1")
    return int(text)


def percent(text: str) -> float:
    """Return a part in percent, from 0 to 100."""
    number = _time(text, zero=True)
    if number > 100:
        raise argparse.ArgumentTypeError(f"{text!r}: write a number from 0 to 100")
    return number


def seconds(text: str) -> float:
    """Return a time to wait, in seconds; 0 is none."""
    return _time(text, zero=True)


def duration(text: str) -> float:
    """Return how long something may take, in the unit of the option."""
    return _time(text, zero=False)


def _time(text: str, zero: bool) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (0 <= number < math.inf and (number or zero)):
        raise argparse.ArgumentTypeError(
            f"{text!r}: write a number such as {'0 or 10' if zero else '10'}"
        )
    return number
