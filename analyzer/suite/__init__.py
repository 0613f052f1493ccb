"""Suites: many starts on many boards, and one answer for each disk."""

from __future__ import annotations

from pathlib import Path

SUFFIX = ".toml"


def is_suite(path: Path) -> bool:
    """Return whether a path names a suite: a TOML file."""
    return path.suffix == SUFFIX and not path.is_dir()
