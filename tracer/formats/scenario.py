"""Names of scenarios, the load of a machine while a command starts, as files have them."""

from __future__ import annotations

IDLE = "idle"
MEMORY = "memory:"  # before a size with its unit: so much memory; before a number: a load
LEAST_WEIGHT, MOST_WEIGHT = 0.001, 1000.0  # of a scenario among several


def beside(scenario: str) -> str:
    """Return how a sentence says that something was measured beside this load."""
    return "" if scenario == IDLE else f" beside the load {scenario}"
