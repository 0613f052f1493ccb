"""The bios of some time, as a target's shell adds them up (bios.sh)."""

from __future__ import annotations

SUMS = ("reads", "writes", "sectors", "followers", "distances", "jumps")


def parse_sums(text: str) -> dict[str, int]:
    """Return the sums by name; ValueError for what are none."""
    sums = dict(zip(SUMS, map(int, text.split()), strict=True))
    if min(sums.values()) < 0:
        raise ValueError(text)
    return sums
