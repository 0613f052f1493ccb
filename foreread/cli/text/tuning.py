"""The output of ``foreread tune``: a progress line, and at the end the result."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TextIO

from analyzer.tuner.campaign.progress import Progress
from analyzer.tuner.findings.compare import Change
from analyzer.tuner.findings.confirm import Confirmed, Gain
from analyzer.tuner.findings.confirming import Confirming
from analyzer.tuner.findings.constraints import checked, sentences
from analyzer.tuner.findings.document import boards_of
from analyzer.tuner.findings.results import Results
from analyzer.tuner.space.catalogue import LESS_DURABLE
from boards.counted import plural
from foreread.cli.text.progress import PREFIX, ProgressLine
from foreread.cli.text.table import render
from foreread.cli.text.trades import trades_text
from foreread.cli.text.wording import duration_text


class TuningLine(ProgressLine):
    """The progress of a tuning."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._returned_in: int | None = None

    def searching(self, progress: Progress) -> None:
        """Print the progress of the search; once a generation, the genes that came back."""
        if progress.returned is not None and progress.generation != self._returned_in:
            self._returned_in = progress.generation
            self.end()
            print(f"{PREFIX}{_returned_text(progress)}", file=self._stream, flush=True)
        best = f"{100 * progress.improvement:.1f} %"
        if progress.interval is not None:
            low, high = progress.interval
            best += f" ({100 * low:.1f} to {100 * high:.1f})"
        runs = f"run {progress.evaluations}"
        runs += "" if progress.most is None else f" of {progress.most}"
        left, spent = progress.seconds_left, duration_text(progress.seconds)
        time = f"{spent} so far" if left is None else f"{duration_text(left)} left"
        generation = f"generation {progress.generation}"
        generation += f", {progress.scenario}" if progress.scenario else ""
        self.say(
            f"{generation}: best {best} better than the default; {runs}, {time}",
            f"{generation}: {best} better; {runs}, {time}",
        )

    def confirming(self, where: Confirming) -> None:
        """Say where the confirmation is."""
        most = "" if where.most is None else f" of at most {where.most}"
        self.say(f"confirming the best: run {where.made}{most}")


def change_text(change: Change | None) -> str:
    """Return a change in per cent with its interval."""
    if change is None:
        return "-"
    text = f"{100 * change.effect:+.1f} %"
    if change.low is None or change.high is None:
        return text
    return f"{text} ({100 * change.low:+.1f} to {100 * change.high:+.1f})"


def _returned_text(progress: Progress) -> str:
    """Return the genes that came back, and when."""
    genes = ", ".join(f"{name} {allele}" for name, allele in (progress.returned or {}).items())
    return f"generation {progress.generation}: the workload changed; restored {genes}"


def outcome_text(results: Results, *, verbose: bool = False) -> str:
    """Return the outcome as tables, with the statistics of the runs."""
    statuses = Counter(one.attempt.status for one in [*results.search, *results.confirmation])
    good = statuses.pop("ok", 0)
    bad = "".join(f", {number} {status}" for status, number in sorted(statuses.items()))
    runs = f"runs: {good} good{bad}; the search ended: {results.ended}"
    parts = [*map(_outcome, results.contests), *_boards(results)]
    parts += [*_idle(results), *_untried(results), runs]
    return "\n\n".join(parts)


def _boards(results: Results) -> list[str]:
    """Return how the boards of a fleet differ, as a table; nothing for one board."""
    rows = []
    for one in boards_of(results):
        change = Change(one.effect or 0.0, one.low, one.high)
        rows.append((one.board, str(one.runs), str(one.lost), change_text(change)))
    heads = ("board", "good runs", "lost", "time relative to all boards (95 % interval)")
    return [render(heads, rows)] if rows else []


def _idle(results: Results) -> list[str]:
    """Return the genes that no run has shown to act, in a line for each reason."""
    by_reason: dict[str, list[str]] = {}
    for gene, why in results.left_out.items():
        if gene not in results.space.left_out:
            by_reason.setdefault(why, []).append(gene)
    return [f"not tuned, {why}: {', '.join(genes)}" for why, genes in by_reason.items()]


def _untried(results: Results) -> list[str]:
    """Return the values that were not tried since they are less durable, in one line."""
    space = results.space
    limited = [f"{name} above {space.gene(name).alleles[-1]}" for name in space.limited]
    dropped = [name for name, why in space.left_out.items() if why == LESS_DURABLE]
    if not (limited or dropped):
        return []
    names = ", ".join([*dropped, *limited])
    return [f"not tried, since a power cut would lose more: {names}; to try: --allow durability"]


def _outcome(results: Results) -> str:
    limits = [line for constraint in checked(results) for line in sentences(constraint)]
    parts = [_answer(results), _scenarios(results), *_genes(results.confirmed)]
    if results.confirmed.gains:
        parts += [f"durability: {loss}" for loss in results.losses]
    parts += ["\n".join(limits), *trades_text(results)]
    return "\n\n".join(filter(None, parts))


def _answer(results: Results) -> str:
    """Return what to set, in one line."""
    confirmed = results.confirmed
    change = f"time {change_text(confirmed.over_default)} against the default"
    if confirmed.to_run:
        return "the result is not confirmed: repeat the command line with --resume"
    if confirmed.answer == "default":
        found = results.confirming.change(results.winner, results.space.default())
        return (
            "keep the machine's settings: no other ones are shown to be faster\n"
            f"best of the search, measured again: {change_text(found)}"
        )
    if confirmed.answer == "predicted":
        return f"set the predicted window alone, no gene is shown to add to it: {change}"
    if results.predicted is not None:
        change += f", {change_text(confirmed.over_predicted)} against the predicted window alone"
    return f"set {plural(len(confirmed.gains), 'gene')}: {change}"


def _genes(confirmed: Confirmed) -> list[str]:
    """Return the genes to set as tables: those proven alone, and those proven only together."""
    parts = []
    alone = [gain for gain in confirmed.gains if gain.alone]
    if alone:
        rows = [(*_cells(gain), change_text(gain.change)) for gain in alone]
        heads = ("gene", "value", "default", "time, compared with its default")
        parts.append("proven alone:\n" + render(heads, rows, left=frozenset({0})))
    others = [gain for gain in confirmed.gains if not gain.alone]
    if others:
        title = f"proven only together, time {change_text(confirmed.together)}:\n"
        cells = [_cells(one) for one in others]
        parts.append(title + render(("gene", "value", "default"), cells, left=frozenset({0})))
    return parts


def _cells(gain: Gain) -> tuple[str, str, str]:
    return gain.gene, str(gain.allele), str(gain.default)


def _scenarios(results: Results) -> str:
    """Return the medians of the default, the predicted window and the answer, by scenario."""
    default, runs = results.space.default(), results.confirming
    several = len(results.spec.scenarios) > 1
    rows = []
    for scenario in results.spec.scenarios:
        for name, chromosome in results.rows:
            costs = runs.costs(chromosome, scenario)
            change = None if name == "default" else runs.change(chromosome, default, scenario)
            middle = f"{median(results.values(costs)):.3f}" if costs else "-"
            rows.append((scenario, name, middle, str(len(costs)), change_text(change)))
    for name, chromosome in results.rows[1:] if several else ():
        rows.append(("all", name, "", "", change_text(runs.change(chromosome, default))))
    heads = ("scenario", "settings", "median s", "runs", "change of time (95 % interval)")
    return render(heads, rows, left=frozenset({0, 1}))
