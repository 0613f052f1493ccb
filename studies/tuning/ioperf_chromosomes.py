"""IOPerf's chromosomes: a workload with its settings, their fitness, and the nearest one.

After *IOPerf: Self-Tuning Module of Disk I/O*, sections 4 and 5. The first four parameters of
Table 1 say what the disk accesses are like, the rest is the solution. How the population evolves
is a recipe (recipes/ioperf.toml); this is what the paper needs besides.

In learning mode each chromosome is evaluated by a workload made after its first part. The study
does by hand what the normal mode does on a machine at work (``foreread fingerprint --watch``): it
looks up the chromosome nearest to a known workload, and has its second part in force.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from foreread.analyzer.tuner.engine import Scored
from foreread.analyzer.tuner.engines.patterns import Pattern, similarity, within_clearance
from foreread.analyzer.tuner.space.genes import Chromosome, Gene, Space

# Table 1; operators.py codes each in as many bits as it says.
PATTERN = (
    Gene(name="processes", kind="bits", lowest=1, highest=8, default=1),
    Gene(name="read_share", kind="bits", highest=100, default=100, unit="%"),
    Gene(name="random_share", kind="bits", highest=100, default=0, unit="%"),
    Gene(name="request_kib", kind="bits", highest=2047, default=4, unit="KiB"),
)


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


def pattern_in(chromosome: Chromosome) -> Pattern:
    """Return the workload that a chromosome is for."""
    return Pattern(*(int(chromosome[gene.name]) for gene in PATTERN))


def nearest(
    population: Iterable[Scored], pattern: Chromosome, within: bool = True
) -> Chromosome | None:
    """Return the chromosome most similar to a workload's pattern; of equals the fittest.

    None if none is within the clearance. Not ``within``: the most similar of all, as the paper's
    conclusions have it for the normal mode.
    """
    target = pattern_in(pattern)
    best = max(
        (
            child
            for child in population
            if child.fitness > 0
            and (not within or within_clearance(pattern_in(child.chromosome), target))
        ),
        key=lambda child: (similarity(pattern_in(child.chromosome), target), child.fitness),
        default=None,
    )
    return None if best is None else best.chromosome
