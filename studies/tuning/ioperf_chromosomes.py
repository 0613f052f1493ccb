"""IOPerf's chromosomes: a workload with its settings, their fitness, and the nearest one.

After *IOPerf: Self-Tuning Module of Disk I/O*, sections 4 and 5. The first four parameters of
Table 1 say what the disk accesses are like, the rest is the solution. How the population evolves
is a recipe (recipes/ioperf.toml); this is what the paper needs besides.

In learning mode each chromosome is evaluated by a workload made after its first part. The normal
mode is not built: nothing watches the workload of a machine, applies the nearest chromosome now and
then, or takes settings back that did worse. The study does by hand what such a mode rests on: it
looks up the chromosome nearest to a known workload (``nearest``), and has its second part in force.
``observed`` reads a workload's pattern from a trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from analyzer.ingest.tables import Array, Kind, Rwbs, Table
from analyzer.tuner.engine import Scored
from analyzer.tuner.space.genes import Chromosome, Gene, Space

# Table 1; operators.py codes each in as many bits as it says.
PATTERN = (
    Gene(name="processes", kind="bits", lowest=1, highest=8, default=1),
    Gene(name="read_share", kind="bits", highest=100, default=100, unit="%"),
    Gene(name="random_share", kind="bits", highest=100, default=0, unit="%"),
    Gene(name="request_kib", kind="bits", highest=2047, default=4, unit="KiB"),
)
# How close a parameter must be. The paper's words ask for closeness in the shares above all, and
# give them the largest factors: so these are similarities to be reached, no distances allowed.
CLEARANCE = {"processes": 0.8, "read_share": 1.0, "random_share": 1.0, "request_kib": 0.7}
RANGES = ((0, 4), (5, 34), (35, 64), (65, 94), (95, 100))  # of both shares, in percent
_LARGEST_KIB = 2047
_SECTORS_A_KIB = 2


def make_space(schedulers: Sequence[str], scheduler: str, window_kb: int, swappiness: int) -> Space:
    """Return Table 1 for a disk that offers ``schedulers``; what is in force is the default.

    The paper's noop, AS, deadline and CFQ are today's none, mq-deadline, kyber and bfq. A value
    in force that is out of Table 1's range is not the default: the end of the range is.
    """
    return Space(
        (
            *PATTERN,
            Gene(
                name="scheduler",
                kind="categorical",
                choices=tuple(schedulers),
                default=scheduler,
                knob="/sys/block/{disk}/queue/scheduler",
            ),
            Gene(
                name="read_ahead_kb",
                kind="bits",
                lowest=4,
                highest=1023,
                default=min(max(window_kb, 4), 1023),
                knob="/sys/block/{disk}/queue/read_ahead_kb",
                unit="KiB",
            ),
            Gene(
                name="swappiness",
                kind="bits",
                highest=100,
                default=min(swappiness, 100),
                knob="/proc/sys/vm/swappiness",
            ),
        )
    )


def factor(read_share: float, random_share: float) -> float:
    """Return equation 2: ((%readings + 1)/100)² · ((100 − %random + 1)/100)².

    The paper calls it a penalty for patterns that do well by nature, but as printed it favours
    them, reads and sequential ones; what keeps the others alive are the ranges.
    """
    return ((read_share + 1) / 100) ** 2 * ((100 - random_share + 1) / 100) ** 2


def fitness(transferred_bytes: float, latency_s: float, pattern: Chromosome) -> float:
    """Return equation 1, bytes / mean latency · factor, times 1/processes.

    Those of different lengths of time do not compare: give bytes of the same time, or a second.
    """
    shares = (float(pattern["read_share"]), float(pattern["random_share"]))
    if latency_s <= 0:
        return 0.0
    return transferred_bytes / latency_s * factor(*shares) / int(pattern["processes"])


def closeness(one: Chromosome, other: Chromosome) -> dict[str, float]:
    """Return how alike two patterns are, by parameter, from 0 to 1.

    The fewer processes, the more one more of them means (section 4): their ratio counts. Shares
    in the same range are alike; ranges further apart are less so. Sizes are compared by their
    difference, on the scale of Table 1.
    """
    few, many = sorted((int(one["processes"]), int(other["processes"])))
    return {
        "processes": few / many,
        **{
            name: 1 - abs(_range(one[name]) - _range(other[name])) / (len(RANGES) - 1)
            for name in ("read_share", "random_share")
        },
        "request_kib": 1 - abs(int(one["request_kib"]) - int(other["request_kib"])) / _LARGEST_KIB,
    }


def similarity(one: Chromosome, other: Chromosome) -> float:
    """Return the mean of the closenesses, weighted with the clearance factors; from 0 to 1."""
    close = closeness(one, other)
    weighted = sum(close[name] * weight for name, weight in CLEARANCE.items())
    return weighted / sum(CLEARANCE.values())


def within_clearance(one: Chromosome, other: Chromosome) -> bool:
    """Return whether each parameter is as close as its clearance factor asks."""
    return all(value >= CLEARANCE[name] for name, value in closeness(one, other).items())


def nearest(
    population: Iterable[Scored], pattern: Chromosome, within: bool = True
) -> Chromosome | None:
    """Return the chromosome most similar to a workload's pattern; of equals the fittest.

    None if none is within the clearance. Not ``within``: the most similar of all, as the paper's
    conclusions have it for the normal mode.
    """
    found = max(
        (
            one
            for one in population
            if one.fitness > 0 and (not within or within_clearance(one.chromosome, pattern))
        ),
        key=lambda one: (similarity(one.chromosome, pattern), one.fitness),
        default=None,
    )
    return None if found is None else found.chromosome


def observed(events: Table) -> Mapping[str, int] | None:
    """Return the pattern of the workload in a trace; None without a bio that moves data.

    ``events``: EVENTS with bios, in time order. A process is a thread that queued bios, which for
    data written back is the kernel's; a bio is random if it does not begin where its thread's
    last one on that disk ended.
    """
    moved = (events["flags"] & (Rwbs.READ | Rwbs.WRITE)) > 0
    bios = events.take((events["kind"] == Kind.BIO_QUEUE) & moved & (events["value"] > 0))
    if not bios.rows:
        return None
    size_kib = float(bios["value"].astype(np.float64).mean()) / _SECTORS_A_KIB
    reads = int(((bios["flags"] & Rwbs.WRITE) == 0).sum())
    return {
        "processes": min(max(len(np.unique(bios["pid"])), 1), 8),
        "read_share": round(100 * reads / bios.rows),
        "random_share": round(100 * float(_jumps(bios).mean())),
        "request_kib": min(round(size_kib), _LARGEST_KIB),
    }


def _jumps(bios: Table) -> Array:
    """Return of each bio, thread by thread, whether it begins elsewhere than the last one ended."""
    order = np.lexsort((np.arange(bios.rows), bios["dev"], bios["pid"]))
    of = bios.take(order)
    follows = (np.diff(of["pid"]) == 0) & (np.diff(of["dev"]) == 0)
    at_end = of["index"][1:] == (of["index"] + of["value"])[:-1]
    return np.concatenate(([False], follows & ~at_end))


def _range(share: object) -> int:
    percent = min(max(int(float(str(share))), 0), 100)
    return next(place for place, (_, high) in enumerate(RANGES) if percent <= high)
