"""Metrics as Bencher Metric Format: benchmarks, their measures, values with lower and upper.

https://bencher.dev/docs/reference/bencher-metric-format
"""

from __future__ import annotations

from collections.abc import Sequence

from foreread.analyzer.metrics.metric import Metric
from foreread.boards.base.document import encode
from foreread.boards.base.printable import printable

_MOST = 1024  # characters of a benchmark's name


def bencher(metrics: Sequence[Metric]) -> bytes:
    """Return the metrics as Bencher Metric Format, a JSON object."""
    benchmarks: dict[str, dict[str, dict[str, float]]] = {}
    for metric in metrics:
        bounds = {"value": metric.value, "lower_value": metric.low, "upper_value": metric.high}
        known = {name: value for name, value in bounds.items() if value is not None}
        benchmarks.setdefault(_name(metric), {})[metric.name.replace("_", "-")] = known
    return encode(benchmarks, indent=1).encode() + b"\n"


def _name(metric: Metric) -> str:
    """Return the end of a long title: a start cannot end it with ``-bencher-ignore``."""
    return printable(metric.title)[-_MOST:].strip()
