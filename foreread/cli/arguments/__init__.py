"""Numbers of arguments that several sub-commands share, and the error of wrong usage."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Mapping

LARGEST = (1 << 31) - 1  # numbers that have no other limit


class UsageError(ValueError):
    """Wrong arguments that only the command can recognise; exit code 2."""


def refuse(given: Mapping[str, object], why: str) -> None:
    """Raise UsageError if an argument is given; ``given``: what each has, by its name."""
    for name, value in given.items():
        if value:
            raise UsageError(f"{why}: remove {name}")


def whole_number(text: str, least: int, most: int, what: str = "a number") -> int:
    """Return a whole number from ``least`` to ``most``."""
    if not re.fullmatch(r"[0-9]{1,10}", text) or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text!r}: write {what} from {least} to {most}")
    return int(text)


def row_number(text: str) -> int:
    """Return the number of a row, from 1."""
    return whole_number(text, 1, LARGEST, "the number of a row")


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
