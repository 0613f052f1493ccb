"""Figures of the disks during the recorded run: request sizes, bytes over time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from foreread.analyzer.ingest.tables import Rwbs
from foreread.analyzer.report.style import BLUE, ORANGE, Canvas, axes, legend
from foreread.analyzer.report.subject import Subject

BINS = 120
_METADATA: dict[str, Any] = {"color": ORANGE, "hatch": "////", "edgecolor": "black", "linewidth": 0}
SECTOR = 512  # bytes; the unit of block events whatever the disk's sector size is

Floats = npt.NDArray[np.float64]


def request_sizes(canvas: Canvas, subject: Subject) -> None:
    """Draw how many reads had which size, in powers of two; metadata apart."""
    ax = axes(canvas, top=0.36)
    octets, metadata = _reads(subject)
    bucket = np.ceil(np.log2(np.maximum(octets, SECTOR) / SECTOR)).astype(int)
    x = np.arange(bucket.min(), bucket.max() + 1)
    counts = [
        np.bincount(bucket[which], minlength=bucket.max() + 1)[bucket.min() :]
        for which in (~metadata, metadata)
    ]
    ax.bar(x, counts[0], color=BLUE, width=0.7, label="file data")
    ax.bar(x, counts[1], bottom=counts[0], width=0.7, label="metadata", **_METADATA)
    total = counts[0] + counts[1]
    for at, number in zip(x, total, strict=True):
        if number:
            ax.annotate(
                f"{number:,}",
                (at, number),
                (0, 2),
                textcoords="offset points",
                size=7.5,
                ha="center",
            )
    ax.set_xticks(x, [f"{2**power / 2:g}" for power in x])
    ax.set_xlim(x[0] - 0.6, max(x[-1], x[0] + 5) + 0.6)
    ax.set_ylim(0, total.max() * 1.15)
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.grid(False, axis="x")
    ax.set_xlabel("size of the request, up to (KiB)")
    ax.set_ylabel("reads")
    legend(ax)


def bytes_over_time(canvas: Canvas, subject: Subject) -> None:
    """Draw the rate of reading over the recorded run; metadata apart."""
    ax = axes(canvas, top=0.36)
    octets, metadata = _reads(subject)
    time_s = (
        subject.recording.requests["issue_ns"][subject.reads].astype(np.int64) - subject.start_ns
    ) / 1e9
    edges = np.linspace(min(time_s.min(), 0.0), max(time_s.max(), 1e-6), BINS + 1)
    width = edges[1] - edges[0]
    rates = [
        np.histogram(time_s[which], edges, weights=octets[which])[0] / width / 1e6
        for which in (~metadata, metadata)
    ]
    both = rates[0] + rates[1]
    ax.stairs(rates[0], edges, fill=True, color=BLUE, label="file data")
    ax.stairs(both, edges, baseline=rates[0], fill=True, label="metadata", **_METADATA)
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(0, 1.05 * both.max() or 1.0)
    ax.yaxis.set_major_formatter("{x:,.4g}")
    ax.set_xlabel("time since the start (s)")
    ax.set_ylabel("read (MB/s)")
    legend(ax)


def _reads(subject: Subject) -> tuple[Floats, npt.NDArray[np.bool_]]:
    requests = subject.recording.requests
    octets = requests["sectors"][subject.reads].astype(np.float64) * SECTOR
    return octets, (requests["flags"][subject.reads] & Rwbs.META) != 0
