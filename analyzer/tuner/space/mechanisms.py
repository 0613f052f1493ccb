"""Mechanisms of the kernel that genes need, and the counters that show whether one occurred.

A gene cannot act where its mechanism does not occur: swappiness without reclaim of memory, the
limits of dirty memory without writes, the tunables of a scheduler without requests that wait for
each other. The catalogue names a gene's mechanism (``acts_on``). All other genes may act always,
and so may genes with a mechanism that a machine does not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

import msgspec

from foreread.analyzer.tuner.space.catalogue import Mechanism, entries
from foreread.analyzer.tuner.space.genes import Gene, Space

SEEN = 2  # runs in one scenario: another process may affect a single one by chance
FEW_SECTORS = 256  # 128 KiB: some commits of a journal, which fall into a run by chance
Metrics = Mapping[str, float]


@dataclass(frozen=True)
class Sign:
    """How a run shows that a mechanism occurred: its ``figure`` exceeds ``most``.

    ``figure``: from the counters of a run (tracer.trials.counters); None where they are absent.
    ``lacking``: the reason to report where it never occurred.
    """

    figure: Callable[[Metrics], float | None]
    most: float
    lacking: str


def _reclaimed(metrics: Metrics) -> float | None:
    """Return the pages that the kernel scanned for reclaim, by any of its counters."""
    scanned = [value for name, value in metrics.items() if name.startswith("vmstat.pgscan")]
    return sum(scanned) if scanned else None


def _written(metrics: Metrics) -> float | None:
    return metrics.get("disk.written_sectors")


def _waiting(metrics: Metrics) -> float | None:
    """Return the milliseconds of requests in flight beyond the milliseconds with one in flight."""
    waited, busy = metrics.get("disk.waited_ms"), metrics.get("disk.busy_ms")
    return None if waited is None or busy is None else waited - busy


SIGNS: Mapping[Mechanism, Sign] = {
    "reclaim": Sign(_reclaimed, 0.0, "no run reclaimed memory"),
    "writes": Sign(_written, FEW_SECTORS, "no run wrote more than 128 KiB"),
    "queue": Sign(_waiting, 0.0, "in no run more than one request was in flight on average"),
}


def absent(runs: Iterable[tuple[str, Metrics]]) -> set[Mechanism]:
    """Return the mechanisms that did not occur in these good runs: (scenario, metrics).

    A mechanism without counters in any run may have occurred.
    """
    seen, counted = Counter[tuple[Mechanism, str]](), set[Mechanism]()
    for scenario, metrics in runs:
        for name, sign in SIGNS.items():
            figure = sign.figure(metrics)
            if figure is not None:
                counted.add(name)
                seen[name, scenario] += figure > sign.most
    occurred = {name for (name, _), count in seen.items() if count >= SEEN}
    return counted - occurred


def acts_on(gene: Gene) -> Mechanism | None:
    """Return the mechanism that a gene needs, if the catalogue names one."""
    name = gene.name.split(":")[0]
    return next((entry.acts_on for entry in entries() if entry.name == name), None)


def idle_genes(space: Space, missing: Collection[str]) -> dict[str, str]:
    """Return the genes that cannot act without these mechanisms, and why, in words."""
    return {
        gene.name: f"it cannot act: {SIGNS[mechanism].lacking}"
        for gene in space.genes
        if (mechanism := acts_on(gene)) in missing and mechanism is not None
    }


def without(space: Space, missing: Collection[str]) -> Space:
    """Return the space with only the default of genes that cannot act."""
    idle = idle_genes(space, missing)
    return Space(
        tuple(
            msgspec.structs.replace(gene, choices=(gene.default,)) if gene.name in idle else gene
            for gene in space.genes
        ),
        space.left_out,
        space.limited,
    )
