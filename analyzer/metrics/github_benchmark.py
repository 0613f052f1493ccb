"""Metrics for github-action-benchmark: the JSON of its tool ``customSmallerIsBetter``.

https://github.com/benchmark-action/github-action-benchmark (``BenchmarkResult`` in src/extract.ts)
"""

from __future__ import annotations

from collections.abc import Sequence

from foreread.analyzer.metrics.metric import SECONDS, Metric
from foreread.boards.base.document import encode
from foreread.boards.base.printable import printable

# A larger window, and more requests at another window, are not worse.
_SMALLER_IS_BETTER = (SECONDS, "weighted_seconds")
# The action writes names into a Markdown table, between backquotes, and unescaped.
_PLAIN = str.maketrans("`|<>", "'/()")


def github_benchmark(metrics: Sequence[Metric]) -> bytes:
    """Return the seconds as a JSON array of benchmark results."""
    seconds = {_name(metric): metric for metric in metrics if metric.name in _SMALLER_IS_BETTER}
    results = [_result(name, metric) for name, metric in seconds.items()]
    return encode(results, indent=1).encode() + b"\n"


def _name(metric: Metric) -> str:
    words = f"{metric.name.replace('_', ' ')}: {metric.title}"
    return printable(words).translate(_PLAIN)


def _result(name: str, metric: Metric) -> dict[str, str | float]:
    result: dict[str, str | float] = {"name": name, "unit": metric.unit, "value": metric.value}
    if metric.low is not None and metric.high is not None:
        result["range"] = f"{metric.low:g} to {metric.high:g}"
    return result
