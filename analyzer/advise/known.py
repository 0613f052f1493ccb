"""Files of known kinds, with content that a build can choose: fonts, caches, tables.

Not locale archives: with one locale alone, what a start uses of it lies no closer together
(studies/advice/README.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class KnownFile:
    """A kind of file: its name, and how to keep only what the application needs."""

    name: str
    how: str


_KINDS: tuple[tuple[str, KnownFile], ...] = (
    (
        r"\.(ttf|otf|ttc|pcf|pcf\.gz|pfb)$",
        KnownFile(
            "font",
            "keep the characters in use: pyftsubset FONT --unicodes=… --layout-features='*'",
        ),
    ),
    (
        r"/(libicudata\.so[.\d]*|icudt\w*\.dat)$",
        KnownFile("ICU data", "build ICU with a data filter: ICU_DATA_FILTER_FILE=filters.json"),
    ),
    (r"/icon-theme\.cache$", KnownFile("icon cache", "keep the icons in use, and rebuild it")),
    (r"/mime\.cache$", KnownFile("MIME cache", "keep the types in use: update-mime-database")),
    (
        r"\.(mo|gmo)$",
        KnownFile("message catalogue", "keep the messages in use: msgattrib, msgfmt"),
    ),
    (r"/gconv/\S+\.so$", KnownFile("character set converter", "use UTF-8 throughout")),
    (
        r"/(ca-certificates\.crt|ca-bundle\.\w+)$",
        KnownFile("certificate bundle", "keep the authorities in use: update-ca-certificates"),
    ),
)
_COMPILED = tuple((re.compile(pattern), kind) for pattern, kind in _KINDS)


def kind_of(path: str) -> KnownFile | None:
    """Return the kind of a file by its path; None if it is not a known one."""
    return next((kind for pattern, kind in _COMPILED if pattern.search(path)), None)
