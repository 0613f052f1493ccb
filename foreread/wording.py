"""Sentences that several sub-commands say."""

from __future__ import annotations

from tracer.capture import Capture


def ended_text(capture: Capture) -> str:
    """Return how the command's first process ended."""
    if capture.signal:
        return f"killed by signal {capture.signal}"
    if capture.exit_status is None:
        return "the command still ran"
    return f"exit status {capture.exit_status}"
