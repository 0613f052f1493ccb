"""Names of scenarios, the load of a machine while a command starts, as files have them."""

from __future__ import annotations

IDLE = "idle"


def beside(scenario: str) -> str:
    """Return how a sentence says that something was measured beside this load."""
    return "" if scenario == IDLE else f" beside the load {scenario}"
