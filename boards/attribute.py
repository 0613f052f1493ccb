"""Attributes of sysfs and files of procfs, as text."""

from __future__ import annotations

from pathlib import Path


def attribute(path: Path) -> str:
    """Return the text of a file without white space at its ends; "" if it cannot be read."""
    try:
        return path.read_text(errors="surrogateescape").strip()
    except OSError:
        return ""
