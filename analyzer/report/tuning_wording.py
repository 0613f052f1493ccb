"""The report's wording of a tuning's results."""

from __future__ import annotations

from foreread.analyzer.report.wording import percent, seconds
from foreread.analyzer.tuner.findings.compare import Change
from foreread.analyzer.tuner.findings.results import Results


def several(results: Results) -> bool:
    """Return whether there is more than one scenario."""
    return len(results.spec.scenarios) > 1


def change_text(change: Change | None) -> str:
    """Return a change with its interval: "−12 % (−14 % to −9.8 %)"."""
    if change is None:
        return "–"
    text = percent(change.effect, signed=True)
    if change.low is None or change.high is None:
        return text
    return f"{text} ({percent(change.low, signed=True)} to {percent(change.high, signed=True)})"


def value_text(results: Results, cost: float) -> str:
    """Return a cost as the objective has it."""
    return seconds(cost) if results.spec.objective == "seconds" else f"{1 / cost:,.4g}"


def cost_name(results: Results) -> str:
    """Return the quantity to minimise."""
    return "the start-up time" if results.spec.objective == "seconds" else "the cost of a unit"
