"""Restarts a disk's scheduler, which sets nr_requests to a value that cannot be written."""

from __future__ import annotations

from importlib import resources


def shell_functions() -> str:
    """Return ``choose_anew`` for a POSIX shell."""
    return (resources.files("foreread.boards") / "scheduler.sh").read_text()
