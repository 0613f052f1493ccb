"""What a fleet's command and the process of a board (board_process.py) say to each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from analyzer.tuner.space.genes import Space
from analyzer.tuner.store.records import Board, Evaluation
from foreread.tune_options import TuneOptions
from tracer.local.trial import Scenario, TrialBench, TrialOptions

OpenBench = Callable[
    [TuneOptions, TrialOptions, Callable[[str], None]], AbstractContextManager[TrialBench]
]


@dataclass(frozen=True)
class Task:
    """What a board is for: the options with its own target, and how its bench is opened."""

    asked: TuneOptions
    trials: TrialOptions
    scenarios: Mapping[str, Scenario]
    open_bench: OpenBench


@dataclass(frozen=True)
class Opened:
    """The bench is open: what board it is, and which genes it has."""

    board: Board
    space: Space
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Made:
    """A run; ``lost``: the board was lost in it, and is waited for."""

    evaluation: Evaluation
    lost: bool


@dataclass(frozen=True)
class Back:
    """A board that was lost is there again."""


@dataclass(frozen=True)
class Told:
    """A step, in words."""

    text: str


@dataclass(frozen=True)
class Out:
    """The board makes no more runs."""

    why: str
    remedy: str


Message = Opened | Made | Back | Told | Out
