"""Numbers and hostile text as a reader should see them."""

from __future__ import annotations

import shlex

from foreread.boards.base import units
from foreread.boards.base.printable import printable

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def shortened(text: str, length: int) -> str:
    """Return ``text`` in at most ``length`` characters, its middle left out."""
    if len(text) <= length:
        return text
    tail = max(1, (length - 1) * 2 // 3)
    return f"{text[: length - 1 - tail]}…{text[-tail:]}"


def shell_words(command: list[str]) -> str:
    """Return ``command`` as one line for a shell; unseen characters as ``$'…'`` quotes."""
    return " ".join(_shell_word(word) for word in command)


def _shell_word(word: str) -> str:
    if printable(word) == word:
        return shlex.quote(word)
    return "$'" + "".join(_shell_octet(octet) for octet in _octets(word)) + "'"


def _octets(word: str) -> bytes:
    try:
        return word.encode(errors="surrogateescape")
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        return word.encode(errors="replace")


def _shell_octet(octet: int) -> str:
    plain_ascii = 0x20 <= octet < 0x7F and octet not in b"\\'"
    return chr(octet) if plain_ascii else f"\\{octet:03o}"


def count(number: float) -> str:
    """Return a whole number with thousands separated: ``21,311``."""
    return f"{number:,.0f}"


def power(number: float) -> str:
    """Return a large number with three digits: ``4.37×10⁹``; below 100,000 in full."""
    if abs(number) < 1e5:
        return count(number)
    digits, exponent = f"{number:.2e}".split("e")
    return f"{digits}×10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def tick(number: float) -> str:
    """Return a logarithmic axis' number: ``20,000``, ``10⁵``, ``2×10⁵``."""
    return power(number).replace(".00×", "×").removeprefix("1×")


_LEAST_S = 0.0005  # smaller ones would be written as 0.000 s


def seconds(number: float | None) -> str:
    """Return seconds with three significant digits: ``14.6 s``."""
    if number is None:
        return "–"
    digits = 0 if number >= 100 else 1 if number >= 10 else 2 if number >= 1 else 3
    return f"{number:.{digits}f} s"


def band(half_width_s: float) -> str:
    """Return the half width of a band: ``±0.12 s``; one that rounds to nothing is under 1 ms."""
    return f"±{seconds(half_width_s)}" if half_width_s >= _LEAST_S else "under 1 ms"


def percent(share: float | None, signed: bool = False) -> str:
    """Return a share in per cent, two significant digits: ``1.8 %``; ``–`` for None."""
    if share is None:
        return "–"
    decimals = 0 if abs(100 * share) >= 9.95 else 1
    zero = float(units.percent(share, decimals)) == 0
    return units.percent_text(share, decimals, signed and not zero).replace("-", "−")
