"""Units: kibibytes, pages and bytes converted into each other; sizes and shares as texts."""

from __future__ import annotations

import re

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
_SIZE = re.compile(r"([0-9]{1,9})([KMG])(?:i?B)?", re.IGNORECASE)
_UNITS = ("bytes", "KiB", "MiB", "GiB")


def kib_to_pages(kib: int, page_bytes: int) -> int:
    """Return KiB as whole pages, rounded down, as the kernel rounds a window."""
    return kib * KIB // page_bytes


def pages_to_kib(pages: int, page_bytes: int) -> int:
    """Return pages in KiB, rounded down."""
    return pages * page_bytes // KIB


def parse_kib(text: str) -> int:
    """Return a size such as ``32M``, ``24576K`` or ``1G`` in KiB; raises ValueError."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a size: write for example 32M")
    return int(match[1]) << (0, 10, 20)["KMG".index(match[2].upper())]


def size_word(kib: int) -> str:
    """Return a size as ``parse_kib`` reads it, in one word: ``24M``."""
    return f"{kib // KIB}M" if kib % KIB == 0 else f"{kib}K"


def kib_text(kib: float | None, absent: str = "unknown") -> str:
    """Return a window or a size in KiB: ``1,024 KiB``; ``absent`` for None."""
    return absent if kib is None else f"{kib:,.0f} KiB"


def size_text(size: float, digits: int = 3) -> str:
    """Return bytes in a binary unit, with ``digits`` significant digits: ``87.2 MiB``.

    A negative size means unknown.
    """
    if size < 0:
        return "unknown"
    for unit in _UNITS:
        if size < KIB:
            whole = size >= 10 ** (digits - 1)
            return f"{size:.0f} {unit}" if whole else f"{size:.{digits}g} {unit}"
        size /= KIB
    return f"{size:,.1f} TiB"


def percent(share: float, decimals: int | None = None, signed: bool = False) -> str:
    """Return a share as a number in per cent: ``5.8``; never ``-0.0``.

    ``decimals``: None: one below 100 %, none from 100 % on. ``signed``: ``+5.8``.
    """
    if decimals is None:
        decimals = 1 if abs(share) < 1 else 0
    return f"{100 * share:{'+' if signed else ''}z.{decimals}f}"


def percent_text(
    share: float | None, decimals: int | None = None, signed: bool = False, absent: str = "-"
) -> str:
    """Return a share as :func:`percent` with its unit: ``5.8 %``; ``absent`` for None."""
    return absent if share is None else f"{percent(share, decimals, signed)} %"
