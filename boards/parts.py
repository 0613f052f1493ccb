"""The storage parts in parts.toml: published throughput by size of the read, as a device's cost."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from foreread.boards.cost import CostPoint, MeasuredCost

_FILE = Path(__file__).with_name("parts.toml")
_US = 1e6


class PublishedPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part: KiB/s of ``random`` and ``sequential`` reads of ``request_kib``, one at a time."""

    title: str
    source: str
    request_kib: list[float]
    random: list[float]
    sequential: list[float]

    def cost(self) -> MeasuredCost:
        """Return the times of its reads: the size of a read by its throughput."""
        return MeasuredCost(obtained="published", source=self.source, points=[*self._points()])

    def _points(self) -> Iterator[CostPoint]:
        for sequential, rates in ((False, self.random), (True, self.sequential)):
            for kib, kib_per_s in zip(self.request_kib, rates, strict=True):
                us = kib / kib_per_s * _US
                yield CostPoint(request_kib=kib, sequential=sequential, latency_us=us)


@cache
def published_parts() -> dict[str, PublishedPart]:
    """Return all parts by name, in the order of the file."""
    return msgspec.convert(tomllib.loads(_FILE.read_text()), dict[str, PublishedPart])
