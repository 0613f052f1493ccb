"""Text from a trace, a board or a file system, without invisible characters."""

from __future__ import annotations


def printable(text: str, keep: str = "") -> str:
    r"""Return text with invisible characters as escapes, except for the characters of ``keep``.

    Invisible are controls (C0 and C1), format characters (bidi overrides), spaces other than the
    plain one, unassigned and private characters. A byte that is not UTF-8 (surrogate escape)
    becomes ``\xNN``. A second call changes nothing more.
    """
    return "".join(c if c.isprintable() or c in keep else _escape(c) for c in text)


def _escape(character: str) -> str:
    code = ord(character)
    octet = chr(code - 0xDC00) if 0xDC80 <= code <= 0xDCFF else character
    return octet.encode("unicode_escape").decode()
