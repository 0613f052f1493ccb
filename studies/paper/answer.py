"""The result of an experiment on a device, and its presentation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foreread.cli.text.table import render
from studies.paper.experiments import PAGE_KIB, Experiment, PaperTable
from studies.paper.missed import Pick, best_window, judge

NONE = "–"


@dataclass(frozen=True)
class Row:
    """Cold runs at one window of so many pages: medians, and the seconds of each run."""

    window: int
    seconds: float
    requests: float
    pages: float
    runs_seconds: list[float]
    predicted_seconds: float | None = None


@dataclass(frozen=True)
class Answer:
    """The measured rows and the windows picked; ``predicted_best``: None without seconds."""

    device: str
    rows: list[Row]
    default: Pick
    best: Pick
    quasi_optimal: Pick
    predicted_best: Pick | None


@dataclass(frozen=True)
class Outcome:
    """An experiment: what was predicted from its capture, and the answer, for each device."""

    name: str
    experiment: Experiment
    predictions: dict[str, dict[str, Any]]
    answers: list[Answer]
    host_seconds: float


def answer(device: str, rows: list[Row], predicted: dict[str, Any], default: int) -> Answer:
    """Return the gain and loss of the picked windows; KeyError if one was not measured.

    ``predicted`` is the total of ``foreread predict --json`` for the device.
    """
    seconds = {row.window: row.seconds for row in rows}
    quasi, best = predicted["quasi_optimal"], predicted["predicted_best"]
    by_window = dict(zip(predicted["windows"], predicted["seconds"] or [], strict=False))
    return Answer(
        device=device,
        rows=[replace(row, predicted_seconds=by_window.get(row.window)) for row in rows],
        default=judge(seconds, default, default),
        best=judge(seconds, best_window(seconds), default),
        quasi_optimal=judge(seconds, quasi, default),
        predicted_best=None if best is None else judge(seconds, best, default),
    )


def measured_text(answer: Answer, paper: PaperTable | None) -> str:
    """Return the measured table and the paper's side by side, with the picked windows marked."""
    head = ("window", "KiB", "seconds", "predicted", "requests", "pages", "paper's seconds", "")
    rows = [
        (
            str(row.window),
            str(row.window * PAGE_KIB),
            f"{row.seconds:.4f}",
            NONE if row.predicted_seconds is None else f"{row.predicted_seconds:.4f}",
            f"{row.requests:g}",
            f"{row.pages:g}",
            f"{paper.seconds[row.window]:g}" if paper and row.window in paper.seconds else NONE,
            ", ".join(_marks(answer, row.window)),
        )
        for row in answer.rows
    ]
    return render(head, rows)


def _marks(answer: Answer, window: int) -> Iterator[str]:
    picks = {
        "default": answer.default,
        "best": answer.best,
        "quasi-optimal": answer.quasi_optimal,
        "predicted best": answer.predicted_best,
    }
    return (name for name, pick in picks.items() if pick and pick.window == window)


def summary_text(outcomes: Sequence[Outcome]) -> str:
    """Return a line for each experiment and device: windows in pages, what they miss in points."""
    head = ("", "device", "default", "best", "gains %", "F²+G²", "misses", "predicted", "misses")
    paper_head = ("paper: best", "gains %", "F²+G²", "misses")
    rows = [
        (
            outcome.name,
            answer.device,
            str(answer.default.window),
            str(answer.best.window),
            f"{answer.best.optimisation_percent:.1f}",
            *_pick(answer.quasi_optimal),
            *_pick(answer.predicted_best),
            *_paper(outcome.experiment.paper),
        )
        for outcome in outcomes
        for answer in outcome.answers
    ]
    return render((*head, *paper_head), rows)


def _pick(pick: Pick | None) -> tuple[str, str]:
    return (str(pick.window), f"{pick.missed_points:.2f}") if pick else (NONE, NONE)


def _paper(paper: PaperTable | None) -> tuple[str, ...]:
    """Return the paper's windows and its own figure of the missed points, as printed."""
    if paper is None:
        return (NONE,) * 4
    best = judge(paper.seconds, best_window(paper.seconds), paper.default)
    gain = f"{best.optimisation_percent:.1f}"
    return (str(best.window), gain, str(paper.quasi_optimal), f"{paper.missed:g}")
