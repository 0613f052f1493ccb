"""Pairs of several boards as one sequence: rates of wrong answers, and boards that differ.

By simulation with fixed random seeds; each bound is the promised 5 % and never widened.
"""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import dataclass

import numpy as np
import pytest

from foreread.analyzer.confirm.boards import board_gains, differing
from foreread.analyzer.confirm.sequential import (
    CONFIDENCE,
    FEWEST,
    PRESENT,
    assess,
    balanced,
    orders,
)
from foreread.tracer.formats.confirmation import BoardRuns, Confirmation

WRONG = 1 - CONFIDENCE
PAIRS = 30
STARTS = 400


@dataclass(frozen=True)
class Board:
    """A board: seconds of a run; as logarithms their spread, and what the proposed window saves.

    Each run takes ``drift`` more than the one before, as a logarithm. The first runs of a slow
    board come long after those of a fast one.
    """

    seconds: float = 1.0
    spread: float = 0.02
    gain: float = 0.0
    drift: float = 0.0


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

# Boards that become slower or faster while they run, by far more than their runs differ.
DRIFTING = {
    "one": [Board(spread=0.001, drift=0.02), Board(1.1)],
    "two": [Board(spread=0.001, drift=0.02)] * 2,
    "two in opposite ways": [Board(spread=0.001, drift=0.02), Board(spread=0.001, drift=-0.02)],
    "two of unlike speed": [Board(spread=0.002, drift=0.01), Board(3, 0.002, drift=0.03)],
    "three": [Board(1 + n / 10, 0.001, drift=0.01) for n in range(3)],
    "four": [Board(spread=0.001, drift=0.02)] * 4,
    "four in opposite ways": [Board(spread=0.001, drift=n) for n in (0.02, -0.02, 0.03, -0.03)],
    "eight": [Board(1 + n / 20, 0.002, drift=0.02) for n in range(8)],
}


def course(rng, boards, pairs=PAIRS):
    """Return the pairs of a fleet, and the board of each, in the order of handing out.

    A pair goes to the board that is free next; its runs take as long as they say. The order is
    that of ``orders`` for each board.
    """
    free = [(0.0, place) for place in range(len(boards))]
    order = [orders(random.Random(int(rng.integers(1 << 32)))) for _ in boards]
    runs, made, made_on = [0] * len(boards), [], []
    for _ in range(pairs):
        since, place = heapq.heappop(free)
        board = boards[place]
        logs = rng.normal(0, board.spread / math.sqrt(2), 2)
        logs[PRESENT] += board.gain
        for which in next(order[place]):
            logs[which] += board.drift * runs[place]
            runs[place] += 1
        seconds = board.seconds * np.exp(logs)
        made.append(tuple(seconds.tolist()))
        made_on.append(place)
        heapq.heappush(free, (since + seconds.sum(), place))
    return made, made_on


def misses(rng, boards):
    """Return whether the interval misses the mean gain of the pairs' boards at any look."""
    pairs, made_on = course(rng, boards)
    for n in looks(made_on):
        found = assess(pairs[:n], made_on[:n])
        truth = -math.expm1(-np.mean([boards[place].gain for place in made_on[:n]]))
        if found.low is not None and not found.low <= truth <= found.high:
            return True
    return False


def looks(made_on):
    """Return the numbers of pairs after which an answer may be given."""
    return [n for n in range(FEWEST, len(made_on) + 1) if balanced(n, made_on[:n])]


@pytest.mark.thorough
@pytest.mark.parametrize("fleet", FLEETS)
def test_unequal_boards_make_no_more_false_confirmations(fleet):
    rng = np.random.default_rng(7)
    assert sum(misses(rng, FLEETS[fleet]) for _ in range(STARTS)) <= WRONG * STARTS


@pytest.mark.thorough
@pytest.mark.parametrize("fleet", DRIFTING)
def test_boards_that_become_slower_make_no_more_false_confirmations(fleet):
    rng = np.random.default_rng(11)
    assert sum(misses(rng, DRIFTING[fleet]) for _ in range(STARTS)) <= WRONG * STARTS


def test_the_interval_covers_the_mean_of_boards_that_gain_differently():
    rng = np.random.default_rng(8)
    boards = [Board(gain=0.1), Board(1.5, gain=0.04), Board(2, gain=-0.02)]
    assert sum(misses(rng, boards) for _ in range(STARTS)) <= WRONG * STARTS


def of_boards(pairs, made_on, number):
    found = assess(pairs, made_on)
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


def test_a_look_needs_two_thirds_of_the_pairs_in_whole_blocks_of_their_board():
    assert looks([0, 1, 0, 1, 0, 1, 0, 1]) == [4, 5, 6, 7, 8]
    assert looks([0, 1, 2, 3, 0, 1, 2, 3]) == [6, 7, 8]
    assert looks([0, 1, 2, 0, 0, 0]) == [6]
    pairs = [(1.0, 0.9)] * 4
    assert assess(pairs, [0, 1, 0, 1]).outcome == "confirmed"
    assert assess(pairs, [0, 1, 2, 3]).outcome == "undecided"


def test_a_board_without_pairs_has_no_gain():
    (first, second) = board_gains(of_boards([(1.0, 0.9)] * 4, [0] * 4, 2))
    assert (first.pairs, second.pairs, second.gain, second.present_seconds) == (4, 0, None, None)
    assert differing([first, second]) is None


@pytest.mark.parametrize("made_on", [[0], [0, 2], [0, 0, 0]])
def test_boards_that_are_not_those_of_the_pairs_are_refused(made_on):
    with pytest.raises(ValueError, match="made_on"):
        of_boards([(1.0, 0.9)] * 2, made_on, 2)
