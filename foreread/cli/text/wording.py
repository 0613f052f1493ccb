"""Sentences that several sub-commands print."""

from __future__ import annotations

from foreread.tracer.formats.capture import Metadata


def ended_text(capture: Metadata) -> str:
    """Return how the command's first process ended, or that it was a boot or a load."""
    if capture.boot is not None:
        return "a whole boot"
    if capture.is_load:
        return "a load"
    if capture.signal:
        return f"killed by signal {capture.signal}"
    if capture.exit_status is None:
        return "the command was still running"
    return f"exit status {capture.exit_status}"


def duration_text(seconds: float) -> str:
    """Return seconds as minutes and seconds, or hours and minutes."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
