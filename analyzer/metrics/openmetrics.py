"""Metrics as OpenMetrics text, version 1.0: a gauge for each measure, a label for each label.

https://prometheus.io/docs/specs/om/open_metrics_spec/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from foreread.analyzer.metrics.metric import MEASURES, Metric
from foreread.boards.base.printable import printable

_ESCAPES = {ord("\\"): "\\\\", ord('"'): '\\"'}  # printable() leaves no line feed


def openmetrics(metrics: Sequence[Metric]) -> bytes:
    """Return the metrics as OpenMetrics text. The bounds are gauges of their own."""
    names = dict.fromkeys(metric.name for metric in metrics)
    lines = [
        line
        for name in names
        for line in _measure(name, [metric for metric in metrics if metric.name == name])
    ]
    return "\n".join([*lines, "# EOF\n"]).encode()


def _measure(name: str, metrics: Sequence[Metric]) -> Iterator[str]:
    stem, unit = name.removesuffix(metrics[0].unit), metrics[0].unit
    what = MEASURES[name]
    yield from _gauge(f"{stem}{unit}", unit, what, ((m, m.value) for m in metrics))
    for bound, words, values in (
        ("low", "lower bound", [(m, m.low) for m in metrics]),
        ("high", "upper bound", [(m, m.high) for m in metrics]),
    ):
        known = [(metric, value) for metric, value in values if value is not None]
        if known:
            yield from _gauge(f"{stem}{bound}_{unit}", unit, f"{what}, {words}", known)


def _gauge(
    name: str, unit: str, what: str, values: Iterable[tuple[Metric, float]]
) -> Iterator[str]:
    family = f"foreread_{name}"
    yield f"# TYPE {family} gauge"
    yield f"# UNIT {family} {unit}"
    yield f"# HELP {family} {what}."
    # Names that differ only in characters which no text shows are one series, never two.
    samples = {_labels(metric): value for metric, value in values}
    yield from (f"{family}{labels} {value!r}" for labels, value in samples.items())


def _labels(metric: Metric) -> str:
    pairs = [f'{name}="{_escaped(text)}"' for name, text in metric.labels.items()]
    return f"{{{','.join(pairs)}}}"


def _escaped(text: str) -> str:
    return printable(text).translate(_ESCAPES)
