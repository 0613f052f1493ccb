"""Arguments in KiB that name one window, or a list of windows."""

from __future__ import annotations

import argparse
import re

from boards.knobs import knob_of
from foreread.cli.arguments import UsageError, whole_number

LARGEST_WINDOW_PAGES = 16383  # limit of the emulator (emulator/core/fixed/fixed_window.h)
_ITEM = re.compile(r"(\d{1,9})k?(?:-(\d{1,9})k?)?")


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


def add_windows(parser: argparse.ArgumentParser, default: str) -> None:
    """Add ``--windows LIST``."""
    parser.add_argument(
        "--windows",
        metavar="LIST",
        help=f"windows (read_ahead_kb) in KiB, such as 0,4,16-64,128 (default: {default})",
    )


def window_kb(text: str) -> int:
    """Return a read_ahead_kb that foreread sets."""
    return whole_number(text, *knob_of("/sys/block/disk/queue/read_ahead_kb").range(put_back=False))
