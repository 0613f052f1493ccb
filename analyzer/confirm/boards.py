"""The gain of each board of ``foreread confirm``, and whether the boards differ in it.

The intervals of all boards are valid at once, at every look, with probability CONFIDENCE: each
interval has its share of the error probability (Bonferroni). Two boards differ if their intervals
have no point in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Annotated

import msgspec

from foreread.analyzer.confirm.sequential import CONFIDENCE, interval, mean_seconds
from foreread.boards.base.document import says
from foreread.tracer.formats.confirmation import Confirmation


class BoardGain(msgspec.Struct, frozen=True, kw_only=True):
    """The pairs of one board; the interval of its gain is valid for all boards at once."""

    board: Annotated[str, says("its target")]
    pairs: int
    runs: Annotated[int, says("all that it made, the discarded first one included")]
    disturbed: int
    present_seconds: Annotated[float | None, says("mean at the present window")]
    proposed_seconds: Annotated[float | None, says("mean at the proposed window")]
    gain: Annotated[float | None, says("share of the present time that is saved")]
    low: float | None
    high: float | None
    set_aside: Annotated[str, says("why it makes no more runs; empty: it is at work")]


def board_gains(of: Confirmation) -> list[BoardGain]:
    """Return the gain of each board; an empty list if all runs were made on one board."""
    return [_gain(of, place) for place in range(len(of.boards))]


def differing(gains: Sequence[BoardGain]) -> tuple[BoardGain, BoardGain] | None:
    """Return the two boards that differ most in gain, the greater gain first; or None."""
    apart = [
        (more.low - less.high, more, less)
        for more, less in permutations(gains, 2)
        if more.low is not None and less.high is not None and more.low > less.high
    ]
    return max(apart, key=lambda difference: difference[0])[1:] if apart else None


def _gain(of: Confirmation, place: int) -> BoardGain:
    board = of.boards[place]
    pairs = [pair for pair, made_on in zip(of.pairs, of.made_on, strict=True) if made_on == place]
    gain, low, high = interval(pairs, 1 - (1 - CONFIDENCE) / len(of.boards))
    present_seconds, proposed_seconds = mean_seconds(pairs)
    return BoardGain(
        board=board.target,
        pairs=len(pairs),
        runs=board.runs,
        disturbed=board.disturbed,
        present_seconds=present_seconds,
        proposed_seconds=proposed_seconds,
        gain=gain,
        low=low,
        high=high,
        set_aside=board.set_aside,
    )
