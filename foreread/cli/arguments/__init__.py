"""Numbers and errors of arguments that several sub-commands share."""

from __future__ import annotations

import argparse
import math
import re

_LARGEST_KIB = (1 << 31) - 1


class UsageError(ValueError):
    """Arguments whose error shows only when the input is known; exit code 2."""


def boot_attempts(text: str) -> int:
    """Return a number of boots."""
    return whole_number(text, 0, 99, "a number of boots")


def buffer_kib(text: str) -> int:
    """Return the size of a trace buffer."""
    return whole_number(text, 1, _LARGEST_KIB, "a number of KiB")


def whole_number(text: str, least: int, most: int, what: str = "a number") -> int:
    """Return a whole number from ``least`` to ``most``."""
    if not re.fullmatch(r"[0-9]{1,10}", text) or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text!r}: write {what} from {least} to {most}")
    return int(text)


def row_number(text: str) -> int:
    """Read the number of a row, from 1."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:10]) < 1 << 31:
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a row: rows begin at 1")
    return int(text)


def percent(text: str) -> float:
    """Return a part in percent, from 0 to 100; the sign ``%`` may follow."""
    number = _time(text.removesuffix("%"), zero=True)
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
