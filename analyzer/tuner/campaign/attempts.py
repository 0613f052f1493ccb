"""One attempt: requested, made, and dated; its errors, and the errors that end a campaign."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.tuner.evaluation import BLAMING, Attempt, Evaluator, Seeded, TargetGone
from foreread.analyzer.tuner.space.genes import Chromosome
from foreread.analyzer.tuner.store.records import Evaluation

_NOTES = 20  # of an attempt; a target's text is not trusted
_NOTE_LENGTH = 500
_METRICS = 1000


class CampaignError(AnalyzerError, RuntimeError):
    """A campaign that cannot continue; its store is sound. ``remedy`` says what to do."""


class DisturbedError(CampaignError):
    """The default cannot be measured because another process uses the machine; it may end."""


@dataclass(frozen=True)
class Due:
    """An attempt to make: its number, its repeat, and the seed of its campaign."""

    number: int
    chromosome: Chromosome
    scenario: str
    repeat: int
    seed: int


def evaluated(
    evaluator: Evaluator, due: Due, interrupts: tuple[type[BaseException], ...] = ()
) -> Evaluation:
    """Make an attempt; a failure affects only its chromosome.

    Except ``interrupts`` and CampaignError, after which no chromosome could be evaluated. The seed
    of the attempt follows from the campaign's seed, the scenario and the repeat.
    """
    seed = random.Random(f"{due.seed}/{due.scenario}/{due.repeat}").getrandbits(32)
    started, clock = time.time(), time.monotonic()
    if isinstance(evaluator, Seeded):
        evaluator.reseed(seed)
    attempt = _attempt(evaluator, due, interrupts)
    ended = started + time.monotonic() - clock
    return Evaluation(
        due.number, due.chromosome, due.scenario, due.repeat, seed, attempt, started, ended
    )


def failed_for_good(what: str, last: Attempt) -> CampaignError:
    """Return the error of a failed measurement; DisturbedError if other processes caused it."""
    notes = "; ".join(last.notes) or "no details are known"
    kind = CampaignError if last.status in BLAMING else DisturbedError
    return kind(
        f"{what}: {last.status} ({notes})",
        "check the target, then repeat the command line with --resume",
    )


def _attempt(
    evaluator: Evaluator, due: Due, interrupts: tuple[type[BaseException], ...]
) -> Attempt:
    try:
        return _bounded(evaluator.evaluate(due.chromosome, due.scenario))
    except CampaignError:
        raise
    except interrupts:
        raise
    except TargetGone as error:
        return _bounded(Attempt("hung", notes=(str(error),)))
    except Exception as error:
        return _bounded(Attempt("failed", notes=(f"{type(error).__name__}: {error}",)))


def _bounded(attempt: Attempt) -> Attempt:
    notes = tuple(note[:_NOTE_LENGTH] for note in attempt.notes[:_NOTES])
    metrics = dict(list(attempt.metrics.items())[:_METRICS])
    return Attempt(attempt.status, attempt.value, metrics, notes)
