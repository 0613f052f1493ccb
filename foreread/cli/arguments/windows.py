"""Arguments in KiB that name one window, or a list of windows."""

from __future__ import annotations

import argparse
import re

from foreread.boards.base.units import pages_to_kib
from foreread.cli.arguments import UsageError, whole_number

_ITEM = re.compile(r"(\d{1,9})k?(?:-(\d{1,9})k?)?")


def parse_windows(text: str, page_size: int) -> list[int]:
    """Return windows in pages, rising, from a list of KiB like ``0,4,16-64,128``.

    Each number is a whole number of pages; ``128k`` is 128. Raises UsageError.
    """
    from foreread.analyzer.predict.kib import WindowSizeError, pages_of  # noqa: PLC0415  (not for the help)

    windows: set[int] = set()
    for item in text.split(","):
        match = _ITEM.fullmatch(item.strip())
        if match is None:
            raise UsageError(f"--windows: {item!r} is not a window in KiB: write 32 or 16-64")
        try:
            low, high = (pages_of(int(kib), page_size) for kib in (match[1], match[2] or match[1]))
        except WindowSizeError as error:
            raise UsageError(f"--windows: {item!r}: {error}; {error.remedy}") from error
        if high < low:
            raise UsageError(f"--windows: {item!r}: write the smaller window first")
        windows.update(range(low, high + 1))
    return sorted(windows)


def parse_windows_kib(text: str, page_size: int) -> list[int]:
    """Return the windows of a list in KiB, as ``parse_windows``. Raises UsageError."""
    return [pages_to_kib(window, page_size) for window in parse_windows(text, page_size)]


def add_windows(parser: argparse.ArgumentParser, default: str) -> None:
    """Add ``--windows LIST``."""
    parser.add_argument(
        "--windows",
        metavar="LIST",
        help=f"windows (read_ahead_kb) in KiB, such as 0,4,16-64,128 (default: {default})",
    )


def window_kb(text: str) -> int:
    """Return a read_ahead_kb that foreread sets."""
    from foreread.boards.knobs import knob_of  # noqa: PLC0415  (reads the catalogue: for this option only)

    least, most = knob_of("/sys/block/disk/queue/read_ahead_kb").range(put_back=False)
    return whole_number(text, least, most, "a number of KiB")
