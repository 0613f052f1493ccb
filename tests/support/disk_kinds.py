"""The kinds of the emulated boards' disk, as the emulator's model of them."""

from __future__ import annotations

from foreread.emulator.devices.stateful import Stateful

_MEMBERS = {"rest_ms": ("rest_ns", 1e6)}


def model_of(costs: dict[str, int]) -> Stateful:
    """Return the model of a disk whose driver has these parameters (slowdisk/cost.h)."""
    figures = {}
    for name, value in costs.items():
        member, factor = _MEMBERS.get(name, (name, 1))
        figures[member] = value * factor
    return Stateful(**figures)
