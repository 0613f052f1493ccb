"""What ``foreread tune`` says: a progress line while it works, and at its end what came out."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TextIO

from analyzer.tuner.compare import Change
from analyzer.tuner.confirming import Confirming
from analyzer.tuner.progress import Progress
from analyzer.tuner.results import Results
from foreread.table import render
from foreread.wording import duration_text

_WIDTH = 100


class ProgressLine:
    """A line on stderr: on a terminal written over, in a log each stands."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._end = "\r" if stream.isatty() else "\n"

    def searching(self, progress: Progress) -> None:
        """Say where the search is."""
        interval = ""
        if progress.interval is not None:
            low, high = progress.interval
            interval = f" ({100 * low:.1f} to {100 * high:.1f} %)"
        left = progress.seconds_left
        self._say(
            f"generation {progress.generation}: best {100 * progress.improvement:.1f} %{interval} "
            f"better than the default; run {progress.evaluations}"
            + ("" if left is None else f", {duration_text(left)} left")
        )

    def confirming(self, where: Confirming) -> None:
        """Say where the confirmation is."""
        self._say(f"confirming the best: run {where.made}, at least {where.wanted} left")

    def end(self) -> None:
        """Leave the line."""
        if self._end == "\r":
            print(file=self._stream)

    def _say(self, text: str) -> None:
        print(f"foreread: {text:<{_WIDTH}}", end=self._end, file=self._stream, flush=True)


def change_text(change: Change | None) -> str:
    """Return a change in per cent with its interval."""
    if change is None:
        return "-"
    text = f"{100 * change.effect:+.1f} %"
    if change.low is None or change.high is None:
        return text
    return f"{text} ({100 * change.low:+.1f} to {100 * change.high:+.1f})"


def outcome_text(results: Results) -> str:
    """Return the outcome as tables."""
    confirmed = results.confirmed
    parts = [_scenarios(results)]
    if confirmed.gains:
        rows = [
            (gain.gene, str(gain.allele), str(gain.default), change_text(gain.change))
            for gain in confirmed.gains
        ]
        parts.append("set, since it matters:\n" + render(("gene", "value", "default", ""), rows))
    else:
        change = results.confirming.change(results.winner, results.space.default())
        parts.append(
            "no gene is better than its default: leave the machine as it is\n"
            f"the best of the search, by runs of its own: {change_text(change)}"
        )
    statuses = Counter(one.attempt.status for one in [*results.search, *results.confirmation])
    good = statuses.pop("ok", 0)
    bad = "".join(f", {number} {status}" for status, number in sorted(statuses.items()))
    parts.append(f"runs: {good} good{bad}; the search ended: {results.ended}")
    return "\n\n".join(parts)


def _scenarios(results: Results) -> str:
    default, confirmed = results.space.default(), results.confirmed
    rows = []
    for scenario in results.spec.scenarios:
        cells = [scenario]
        for chromosome in (default, confirmed.chromosome):
            costs = results.confirming.costs(chromosome, scenario)
            cells.append(f"{median(costs):.3f}" if costs else "-")
        rows.append(
            (
                *cells,
                change_text(results.confirming.change(confirmed.chromosome, default, scenario)),
            )
        )
    if len(rows) > 1:
        rows.append(("all", "", "", change_text(confirmed.over_default)))
    return render(("scenario", "default", "tuned", "change of the time (95 % interval)"), rows)
