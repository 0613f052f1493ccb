"""The sums over a period's bios, computed by a target's shell (bios.sh)."""

from __future__ import annotations

SUMS = ("reads", "writes", "sectors", "followers", "distances", "jumps")


def parse_sums(text: str) -> dict[str, int]:
    """Return the sums by name; ValueError if they are invalid."""
    sums = dict(zip(SUMS, map(int, text.split()), strict=True))
    if min(sums.values()) < 0:
        raise ValueError(text)
    return sums
