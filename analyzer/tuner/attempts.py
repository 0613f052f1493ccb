"""One attempt at an evaluation, whatever becomes of it."""

from __future__ import annotations

from analyzer.tuner.evaluation import Attempt, Evaluator, Seeded, TargetGone
from analyzer.tuner.genes import Chromosome

_NOTES = 20  # of an attempt, and characters of each; a target may say anything
_NOTE_LENGTH = 500
_METRICS = 1000


class CampaignError(RuntimeError):
    """A campaign that cannot go on; its store is sound. ``remedy`` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class DisturbedError(CampaignError):
    """The default cannot be measured since something else uses the machine: it may pass."""


def attempt(
    evaluator: Evaluator,
    chromosome: Chromosome,
    scenario: str,
    seed: int,
    interrupts: tuple[type[Exception], ...] = (),
) -> Attempt:
    """Evaluate once; what fails in that costs the chromosome alone.

    Not so ``interrupts``, nor a CampaignError: then no chromosome could be evaluated.
    """
    if isinstance(evaluator, Seeded):
        evaluator.reseed(seed)
    try:
        return _bounded(evaluator.evaluate(chromosome, scenario))
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
