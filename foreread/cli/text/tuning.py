"""The output of ``foreread tune``: a progress line, and at the end the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import TextIO

from foreread.analyzer.tuner.campaign.progress import CampaignProgress
from foreread.analyzer.tuner.findings.compare import Change
from foreread.analyzer.tuner.findings.confirm import ProvenGenes
from foreread.analyzer.tuner.findings.confirming import Confirming
from foreread.analyzer.tuner.findings.constraints import checked, sentences
from foreread.analyzer.tuner.findings.document import boards_of
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.space.catalogue import LESS_DURABLE
from foreread.boards.base.counted import plural
from foreread.boards.base.note import Note, NoteKind
from foreread.boards.base.units import percent, percent_text
from foreread.cli.text.answer import answer_text
from foreread.cli.text.progress import PREFIX, ProgressLine
from foreread.cli.text.table import render
from foreread.cli.text.trades import trades_text
from foreread.cli.text.wording import duration_text

MORE = "what each aim costs the others, boards, limits, and genes that were not tuned"


class TuningLine(ProgressLine):
    """The progress of a tuning."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._returned_in: int | None = None

    def searching(self, progress: CampaignProgress) -> None:
        """Print the progress of the search; once a generation, the genes that came back."""
        if progress.returned is not None and progress.generation != self._returned_in:
            self._returned_in = progress.generation
            self.end()
            print(f"{PREFIX}{_returned_text(progress)}", file=self._stream, flush=True)
        best = f"{percent_text(progress.improvement)}"
        if progress.interval is not None:
            low, high = progress.interval
            best += f" ({percent(low)} to {percent(high)})"
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
    text = f"{percent_text(change.effect, signed=True)}"
    if change.low is None or change.high is None:
        return text
    return f"{text} ({percent(change.low, signed=True)} to {percent(change.high, signed=True)})"


def _returned_text(progress: CampaignProgress) -> str:
    """Return the genes that came back, and when."""
    genes = ", ".join(f"{name} {allele}" for name, allele in (progress.returned or {}).items())
    return f"generation {progress.generation}: the workload changed; restored {genes}"


def outcome_text(results: Results, *, verbose: bool = False) -> str:
    """Return what to set, the medians, and what they rest on; ``verbose``: trade-offs, boards."""
    contests = list(results.contests)
    more = ["".join(_boards(results))] + [
        text for contest in contests for text in trades_text(contest)
    ]
    return answer_text(
        [line for contest in contests for line in _answered(contest, several=len(contests) > 1)],
        [*map(_scenarios, contests), *(filter(None, more) if verbose else ())],
        doubts=[doubt for contest in contests for doubt in _lost(contest)],
        notes=[*_limits(contests), *_idle(results), *_untried(results)],
        basis=[_runs(results)],
        more=f"--verbose ({MORE})",
        verbose=verbose,
    )


def _runs(results: Results) -> str:
    statuses = Counter(run.attempt.status for run in [*results.search, *results.confirmation])
    good = statuses.pop("ok", 0)
    bad = "".join(f", {number} {status}" for status, number in sorted(statuses.items()))
    return f"{plural(good, 'good run')}{bad}; the search ended: {results.ended}"


def _limits(contests: Sequence[Results]) -> list[str]:
    """Return what the limits of wear and memory refused, or why they were not checked."""
    return [line for contest in contests for limit in checked(contest) for line in sentences(limit)]


def _lost(results: Results) -> list[str]:
    """Return what a power cut may lose with the settings of the answer."""
    if not results.confirmed.gains:
        return []
    return [f"durability: {loss}" for loss in results.losses]


def _boards(results: Results) -> list[str]:
    """Return how the boards of a fleet differ, as a table; nothing for one board."""
    rows = []
    for board in boards_of(results):
        change = Change(board.effect or 0.0, board.low, board.high)
        rows.append((board.board, str(board.runs), str(board.lost), change_text(change)))
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
    text = f"not tried, since a power cut would lose more: {names}; to try: --allow durability"
    return [Note(text, NoteKind.ANSWER)]


def _answered(results: Results, several: bool) -> Iterator[str]:
    """Yield what to set; of ``several`` answers, with the scenarios of this one."""
    of = f"{', '.join(results.spec.scenarios)}: " if several else ""
    first, *rest = _answer(results)
    yield f"{of}{first}"
    yield from rest


def _answer(results: Results) -> Iterator[str]:
    """Yield what to set: a line, and a line for each gene."""
    confirmed = results.confirmed
    change = f"time {change_text(confirmed.over_default)} against the default"
    if confirmed.to_run:
        yield "the result is not confirmed: repeat the command line with --resume"
    elif confirmed.answer == "default":
        best = results.confirming.change(results.winner, results.space.default())
        yield "keep the machine's settings: no other ones are shown to be faster"
        yield f"best of the search, measured again: {change_text(best)}"
    elif confirmed.answer == "predicted":
        yield f"set the predicted window alone, no gene is shown to add to it: {change}"
    else:
        if results.predicted is not None:
            over = change_text(confirmed.over_predicted)
            change += f", {over} against the predicted window alone"
        yield f"set {plural(len(confirmed.gains), 'gene')}: {change}"
    yield from _genes(confirmed)


def _genes(confirmed: ProvenGenes) -> Iterator[str]:
    """Yield the genes to set: those proven alone, with their effect, and the others."""
    for gain in sorted(confirmed.gains, key=lambda each: not each.alone):
        proof = f"proven alone: {change_text(gain.change)}"
        if not gain.alone:
            proof = f"proven only together: {change_text(confirmed.together)}"
        yield f"  {gain.gene} = {gain.allele} (default {gain.default}), {proof}"


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
