"""How much slower each board of a fleet is than the others, estimated from shared runs.

The log of a run's cost is the log cost of its chromosome in its scenario, plus an effect of its
board, plus noise: a two-way layout without interaction (Searle, Casella and McCulloch, *Variance
Components*, 1992, 4.9), fitted by least squares. Only chromosomes that several boards have run
contribute; the default is one of them. The effects sum to 0.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from foreread.analyzer.tuner.evaluation import key_of
from foreread.analyzer.tuner.findings.compare import student_t
from foreread.analyzer.tuner.store.records import Evaluation, Objective


@dataclass(frozen=True)
class BoardEffect:
    """The log cost of a board relative to the mean of all; ``low``, ``high``: its 95 % interval.

    The interval is None, and the effect 0, where the runs do not determine it.
    """

    effect: float = 0.0
    low: float | None = None
    high: float | None = None


def board_effects(
    runs: Sequence[Evaluation], boards: int, objective: Objective = "seconds"
) -> list[BoardEffect]:
    """Return the effect of each board."""
    sign = 1.0 if objective == "seconds" else -1.0
    cells: Mapping[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    for run in runs:
        if run.attempt.status == "ok" and run.attempt.value is not None:
            cells[key_of(run.chromosome), run.scenario].append(
                (run.board, sign * math.log(run.attempt.value))
            )
    columns, logs, freedom = [], [], 0
    for cell in cells.values():
        of_board = np.zeros((len(cell), boards))
        of_board[np.arange(len(cell)), [board for board, _ in cell]] = 1.0
        values = np.array([log for _, log in cell])
        columns.append(of_board - of_board.mean(axis=0))
        logs.append(values - values.mean())
        freedom += len(cell) - 1
    if boards < 2 or not columns:
        return [BoardEffect()] * boards
    design, rest = np.concatenate(columns), np.concatenate(logs)
    effects, _, rank, _ = np.linalg.lstsq(design, rest, rcond=1e-9)  # of least norm: they sum to 0
    freedom -= int(rank)
    if rank < boards - 1 or freedom < 1:
        return [BoardEffect()] * boards
    variance = float(((rest - design @ effects) ** 2).sum()) / freedom
    errors = np.sqrt(variance * np.diagonal(np.linalg.pinv(design.T @ design)))
    width = student_t(freedom)
    return [
        BoardEffect(float(effect), float(effect - width * error), float(effect + width * error))
        for effect, error in zip(effects, errors, strict=True)
    ]
