"""What ``improve`` answers: which remedy the boot script applies, and what to type next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from msgspec import structs

from foreread.analyzer.advise.document import AdviceDocument, AdviceRow
from foreread.analyzer.confirm.text import gain_text
from foreread.analyzer.predict.prediction import Curve
from foreread.analyzer.tuner.findings.compare import Change
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.space.genes import Chromosome
from foreread.boards.base.units import percent, percent_text
from foreread.documents.improve import (
    NO_ANSWER,
    ImproveDocument,
    ImproveNext,
    ImproveNow,
    ImproveParts,
    ImproveRemedy,
    ImproveTuned,
    Verdict,
)
from foreread.improving.job import Job, by_script, measured_of
from foreread.recording.words import command_line, target_words
from foreread.tracer.formats.confirmation import Confirmation
from foreread.tracer.formats.scenario import IDLE

MOST_REMEDIES = 3


@dataclass(frozen=True)
class Chosen:
    """What the boot script applies: a row of advice, or the settings of a tuning.

    ``window_kb``: None for the predicted window; ``listing``: the prefetch list, None for no list.
    """

    number: int | None = None
    row: AdviceRow | None = None
    result: Confirmation | None = None
    window_kb: int | None = None
    listing: Path | None = None
    tuning: Results | None = None


def chosen(job: Job) -> Chosen | None:
    """Return the fastest remedy that runs have confirmed; if nothing was measured, the best one.

    None if nothing is faster than what the machine has.
    """
    measured = [(number, row, job.judged(row)) for number, row in job.candidates()]
    confirmed = [
        each for each in measured if each[2] is not None and each[2].outcome == "confirmed"
    ]
    best = _of_row(job, *confirmed[0]) if confirmed else None
    tuning = job.tuned()
    if tuning is not None and _is_better(tuning, best):
        return Chosen(tuning=tuning)
    if best is None and measured and measured[0][2] is None:
        return _of_row(job, *measured[0])
    return best


def _of_row(job: Job, number: int, row: AdviceRow, result: Confirmation | None) -> Chosen:
    """Return a row of advice with the arguments of the boot script that apply it."""
    advice, trial, prediction = job.advised(), row.trial, job.prediction
    assert advice is not None and trial is not None
    window_kb = advice.read_ahead_kb if trial.read_ahead_kb is None else trial.read_ahead_kb
    verdict = prediction.verdict
    predicted = verdict.action == "set" and window_kb == verdict.read_ahead_kb
    alone = len(prediction.worth_setting) == 1
    return Chosen(
        number=number,
        row=row,
        result=result,
        window_kb=None if predicted and alone else window_kb,
        listing=None if trial.listing is None else job.advice / trial.listing,
    )


def _is_better(tuning: Results, best: Chosen | None) -> bool:
    """Return whether tuned settings are confirmed, and faster on the idle board than a remedy."""
    if tuning.takes_turns or tuning.confirmed.to_run or not tuning.confirmed.gains:
        return False
    tuned = _idle_seconds(tuning, tuning.confirmed.chromosome)
    result = best.result if best else None
    then = measured_of(result).seconds if result else None
    return tuned is None or then is None or tuned < then


def _idle_seconds(of: Results, chromosome: Chromosome) -> float | None:
    """Return the median of the confirming runs on the idle board."""
    costs = of.confirming.costs(chromosome, IDLE)
    return median(costs) if costs else None


def answered(
    job: Job, document: ImproveDocument, install: Callable[[], list[str]]
) -> ImproveDocument:
    """Return the document with the answer, from the results that are there.

    ``install`` returns the words of the step that writes the boot script.
    """
    advice = job.advised()
    tuning = job.tuned()
    tuned = None if tuning is None else _tuned(tuning)
    choice = chosen(job)
    verdict, answer = _verdict(job, advice, choice, tuned)
    return structs.replace(
        document,
        verdict=verdict,
        answer=answer,
        now=document.now if advice is None else _now(job, advice),
        remedies=[] if advice is None else _remedies(job, advice),
        tuned=tuned,
        next=[*_next(job, advice, choice, install)],
    )


def _verdict(
    job: Job, advice: AdviceDocument | None, choice: Chosen | None, tuned: ImproveTuned | None
) -> tuple[Verdict, str]:
    """Return the answer: its kind, and a sentence."""
    if choice is not None and choice.tuning is not None and tuned is not None:
        return "tuned", f"{_settings(tuned)}: {_changed(tuned)}"
    if choice is not None and choice.row is not None:
        if choice.result is not None:
            return "confirmed", f"{choice.row.what}: {_saved(choice.result)}"
        now = "" if advice is None else f" instead of {advice.seconds:.3f} s"
        return (
            "predicted",
            f"{choice.row.what}: {choice.row.seconds:.3f} s predicted{now}; not measured",
        )
    if advice is None:
        return "unknown", NO_ANSWER
    return "keep", f"keep what the machine has: {_why(job, advice)}"


def _why(job: Job, advice: AdviceDocument) -> str:
    """Return why nothing is to be changed."""
    if not advice.rows:
        return "no remedy saves more than its band"
    tried = [row for _, row in job.candidates()]
    if not tried:
        return f"what helps needs {advice.rows[0].effort}, or settings that are set by hand"
    results = [result for result in map(job.judged, tried) if result is not None]
    runs = "; ".join(f"{result.outcome}: {gain_text(result)}" for result in results)
    return f"measured, no remedy is faster ({runs})"


def _saved(of: Confirmation) -> str:
    result = measured_of(of)
    return f"{result.seconds:.3f} s instead of {result.seconds_now:.3f} s, {gain_text(of)}"


def _settings(tuned: ImproveTuned) -> str:
    return ", ".join(f"{name} = {value}" for name, value in tuned.settings.items())


def _changed(tuned: ImproveTuned) -> str:
    """Return what tuned settings change, as ``_saved`` does."""
    seconds = ""
    if tuned.seconds is not None and tuned.seconds_now is not None:
        seconds = f"{tuned.seconds:.3f} s instead of {tuned.seconds_now:.3f} s, "
    if tuned.effect is None or tuned.low is None or tuned.high is None:
        return f"{seconds}tuned"
    low, high = sorted((-tuned.low, -tuned.high))
    saved = f"{percent_text(-tuned.effect)} ({percent(low)} to {percent(high)})"
    return f"{seconds}saves {saved} in all scenarios"


def _now(job: Job, advice: AdviceDocument) -> ImproveNow:
    """Return the start at the present window."""
    total = job.prediction.total
    return ImproveNow(
        read_ahead_kb=advice.read_ahead_kb,
        seconds=advice.seconds,
        parts=_parts(total, advice.read_ahead_kb),
        recorded_seconds=job.recorded().wall_seconds or 0.0,
    )


def _parts(total: Curve, kib: int) -> ImproveParts | None:
    """Return what the start waits for at a window; None if that is unknown."""
    spent = total.spent
    if spent is None or kib not in total.read_ahead_kb:
        return None
    at = total.read_ahead_kb.index(kib)
    compute, asleep = spent.compute[at], spent.asleep[at]
    waited, unused = spent.waited[at], spent.behind[at]
    if compute is None or asleep is None or waited is None or unused is None:
        return None
    return ImproveParts(
        computing=compute, needed_pages=waited - unused, unused_pages=unused, asleep=asleep
    )


def _remedies(job: Job, advice: AdviceDocument) -> list[ImproveRemedy]:
    """Return the best rows; those that were measured are among them."""
    measured = {number: job.measured(row) for number, row in job.candidates()}
    rows = list(enumerate(advice.rows, 1))
    first = sorted(rows, key=lambda each: (measured.get(each[0]) is None, each[0]))[:MOST_REMEDIES]
    return [
        ImproveRemedy(
            row=number,
            what=row.what,
            seconds=row.seconds,
            band=row.band,
            effort=row.effort,
            by_script=by_script(row),
            measured=None if (result := measured.get(number)) is None else measured_of(result),
        )
        for number, row in sorted(first, key=lambda each: each[0])
    ]


def _tuned(of: Results) -> ImproveTuned:
    confirmed = of.confirmed
    change = confirmed.over_default or Change(0.0)
    return ImproveTuned(
        settings={gain.gene: gain.allele for gain in confirmed.gains},
        effect=change.effect if confirmed.gains else None,
        low=change.low if confirmed.gains else None,
        high=change.high if confirmed.gains else None,
        seconds_now=_idle_seconds(of, of.space.default()),
        seconds=_idle_seconds(of, confirmed.chromosome),
    )


def _next(
    job: Job, advice: AdviceDocument | None, choice: Chosen | None, install: Callable[[], list[str]]
) -> Iterator[ImproveNext]:
    """Yield what to type next."""
    target = target_words(job.target, job.identity)
    if choice is not None:
        words = [*install(), "--install", *target]
        yield ImproveNext(what="install on the board", command=command_line(words))
        words = ["script", "--uninstall", *target]
        yield ImproveNext(what="undo", command=command_line(words))
    if advice is not None:
        measured = [str(job.tuning)] if job.tune is not None and job.tuning.is_file() else []
        words = ["report", str(job.capture), *measured, "--open"]
        yield ImproveNext(what="open the report", command=command_line(words))
