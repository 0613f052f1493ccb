"""Mechanisms of the kernel that genes need, and the counters that say whether one occurred.

A gene cannot act where its mechanism does not occur: swappiness without reclaim of memory, the
limits of dirty memory without writes, the tunables of a scheduler without requests that wait for
each other. The catalogue names a gene's mechanism (``acts_on``). All others may
act always, and so may those of a mechanism whose counters a machine does not have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

import msgspec

from analyzer.tuner.space.catalogue import Mechanism, entries
from analyzer.tuner.space.genes import Gene, Space

SEEN = 2  # runs in one scenario: a single one may be the accident of another process
FEW_SECTORS = 256  # 128 KiB: some commits of a journal, which are in a run or not by chance
Metrics = Mapping[str, float]


@dataclass(frozen=True)
class Sign:
    """How a run shows that a mechanism occurred: its ``figure`` exceeds ``most``.

    ``figure``: from the counters of a run (tracer.local.counters); None where they are not there.
    ``lacking``: what is said where it never occurred.
    """

    figure: Callable[[Metrics], float | None]
    most: float
    lacking: str


def _reclaimed(metrics: Metrics) -> float | None:
    """Return the pages that the kernel looked at for reclaim, by any of its counters."""
    found = [value for name, value in metrics.items() if name.startswith("vmstat.pgscan")]
    return sum(found) if found else None


def _written(metrics: Metrics) -> float | None:
    return metrics.get("disk.written_sectors")


def _waiting(metrics: Metrics) -> float | None:
    """Return the milliseconds of requests in flight beyond those in which one was."""
    waited, busy = metrics.get("disk.waited_ms"), metrics.get("disk.busy_ms")
    return None if waited is None or busy is None else waited - busy


SIGNS: Mapping[Mechanism, Sign] = {
    "reclaim": Sign(_reclaimed, 0.0, "no run reclaimed memory"),
    "writes": Sign(_written, FEW_SECTORS, "no run wrote more than 128 KiB"),
    "queue": Sign(_waiting, 0.0, "in no run more than one request was in flight on average"),
}


def absent(runs: Iterable[tuple[str, Metrics]]) -> set[Mechanism]:
    """Return the mechanisms that did not occur in these good runs: (scenario, metrics).

    One whose counters no run has may have occurred.
    """
    seen, known = Counter[tuple[Mechanism, str]](), set[Mechanism]()
    for scenario, metrics in runs:
        for name, sign in SIGNS.items():
            figure = sign.figure(metrics)
            if figure is not None:
                known.add(name)
                seen[name, scenario] += figure > sign.most
    occurred = {name for (name, _), count in seen.items() if count >= SEEN}
    return known - occurred


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
