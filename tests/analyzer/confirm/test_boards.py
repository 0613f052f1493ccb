"""Pairs of several boards as one sequence: rates of wrong answers, and boards that differ.

By simulation with fixed random seeds; each bound is the promised 5 % and never widened.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
import pytest

from analyzer.confirm.boards import board_gains, differing
from analyzer.confirm.sequential import BLOCK, CONFIDENCE, FEWEST, assess
from tracer.formats.confirmation import BoardRuns, Confirmation

WRONG = 1 - CONFIDENCE
BLOCKS = 15
STARTS = 400


@dataclass(frozen=True)
class Board:
    """A board: seconds of a run, their spread, and what the proposed window saves, as logarithms.

    The first runs of a slow board come long after those of a fast one.
    """

    seconds: float = 1.0
    spread: float = 0.02
    gain: float = 0.0


# How boards of a fleet may be unequal: in all these, the mean gain of the pairs is 0.
FLEETS = {
    "two alike": [Board(), Board()],
    "one twice as slow": [Board(), Board(2)],
    "one five times as slow": [Board(), Board(5)],
    "one ten times as noisy": [Board(spread=0.01), Board(spread=0.1)],
    "the slow one is noisy": [Board(spread=0.01), Board(3, 0.1)],
    "the fast one is noisy": [Board(spread=0.1), Board(3, 0.01)],
    "four alike": [Board()] * 4,
    "four of all kinds": [Board(), Board(1.5, 0.05), Board(2, 0.01), Board(4, 0.1)],
}


def course(rng, boards, blocks=BLOCKS):
    """Return the pairs of a fleet, and the board of each, in the order of handing out.

    A block goes to the board that is free next; its runs take as long as they say.
    """
    free = [(0.0, place) for place in range(len(boards))]
    pairs, made_on = [], []
    for _ in range(blocks):
        since, place = heapq.heappop(free)
        board = boards[place]
        logs = rng.normal(0, board.spread / math.sqrt(2), (BLOCK, 2))
        logs[:, 0] += board.gain
        block = board.seconds * np.exp(logs)
        pairs += map(tuple, block.tolist())
        made_on += [place] * BLOCK
        heapq.heappush(free, (since + block.sum(), place))
    return pairs, made_on


def misses(rng, boards):
    """Return whether the interval misses the mean gain of the pairs' boards at any look."""
    pairs, made_on = course(rng, boards)
    for n in range(FEWEST, len(pairs) + 1, BLOCK):
        found = assess(pairs[:n])
        truth = -math.expm1(-np.mean([boards[place].gain for place in made_on[:n]]))
        if found.low is not None and not found.low <= truth <= found.high:
            return True
    return False


@pytest.mark.parametrize("fleet", FLEETS)
def test_unequal_boards_make_no_more_false_confirmations(fleet):
    rng = np.random.default_rng(7)
    assert sum(misses(rng, FLEETS[fleet]) for _ in range(STARTS)) <= WRONG * STARTS


def test_the_interval_covers_the_mean_of_boards_that_gain_differently():
    rng = np.random.default_rng(8)
    boards = [Board(gain=0.1), Board(1.5, gain=0.04), Board(2, gain=-0.02)]
    assert sum(misses(rng, boards) for _ in range(STARTS)) <= WRONG * STARTS


def of_boards(pairs, made_on, number):
    found = assess(pairs)
    return Confirmation(
        created="2026-11-25T00:00:00+00:00",
        kernel="6.12",
        machine="armv7l",
        disks=["sda"],
        present_kb=128,
        proposed_kb=32,
        outcome=found.outcome,
        pairs=pairs,
        boards=[BoardRuns(target=f"board{place}") for place in range(number)],
        made_on=made_on,
    )


def test_boards_that_gain_the_same_are_rarely_said_to_differ():
    rng = np.random.default_rng(9)
    said = 0
    for _ in range(STARTS):
        pairs, made_on = course(rng, [Board(), Board(2, 0.05), Board(3, 0.01)])
        said += differing(board_gains(of_boards(pairs, made_on, 3))) is not None
    assert said <= WRONG * STARTS


def test_boards_that_gain_differently_are_found():
    rng = np.random.default_rng(10)
    pairs, made_on = course(rng, [Board(gain=0.02), Board(gain=0.15)])
    gains = board_gains(of_boards(pairs, made_on, 2))
    more, less = differing(gains)
    assert (more.board, less.board) == ("board1", "board0")
    assert less.low <= -math.expm1(-0.02) <= less.high < more.low
    assert sum(one.pairs for one in gains) == len(pairs)


def test_a_board_without_pairs_has_no_gain():
    (first, second) = board_gains(of_boards([(1.0, 0.9)] * 4, [0] * 4, 2))
    assert (first.pairs, second.pairs, second.gain, second.present_seconds) == (4, 0, None, None)
    assert differing([first, second]) is None


@pytest.mark.parametrize("made_on", [[0], [0, 2], [0, 0, 0]])
def test_boards_that_are_not_those_of_the_pairs_are_refused(made_on):
    with pytest.raises(ValueError, match="made_on"):
        of_boards([(1.0, 0.9)] * 2, made_on, 2)
