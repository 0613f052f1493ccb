"""A landscape of known effects, and the two ways in which runs of it are gathered."""

from __future__ import annotations

import math
import random

from foreread.analyzer.tuner.findings.compare import Run
from foreread.analyzer.tuner.space.genes import Allele, Chromosome, Gene, Space

SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq")
USELESS = {
    f"useless{number}": tunable
    for number, tunable in enumerate(
        (
            "read_expire",
            "write_expire",
            "writes_starved",
            "fifo_batch",
            "max_budget",
            "read_lat_nsec",
        )
    )
}
_QUEUE = "/sys/block/{disk}/queue"
SPACE = Space(
    (
        Gene(
            name="scheduler",
            kind="categorical",
            choices=SCHEDULERS,
            default="mq-deadline",
            knob=f"{_QUEUE}/scheduler",
        ),
        Gene(
            name="slice_idle",
            kind="integer",
            choices=(0, 4, 8),
            default=8,
            requires={"scheduler": ("bfq",)},
            knob=f"{_QUEUE}/iosched/slice_idle",
        ),
        Gene(
            name="window",
            kind="power2",
            lowest=4,
            highest=1024,
            default=128,
            knob=f"{_QUEUE}/read_ahead_kb",
        ),
        Gene(
            name="swappiness",
            kind="integer",
            highest=200,
            default=60,
            knob="/proc/sys/vm/swappiness",
        ),
        *(
            Gene(
                name=name, kind="integer", highest=3, default=2, knob=f"{_QUEUE}/iosched/{tunable}"
            )
            for name, tunable in USELESS.items()
        ),
    )
)
BEST: dict[str, Allele] = {
    **{"scheduler": "bfq", "slice_idle": 0, "window": 64, "swappiness": 60},
    **dict.fromkeys(USELESS, 2),
}


def log_cost(chromosome: Chromosome) -> float:
    """Return the known effect: bfq saves a quarter, slice_idle a tenth of it, a window the rest."""
    window = int(chromosome["window"])
    effect = 0.05 * abs(math.log2(window / 64))
    if chromosome["scheduler"] == "bfq":
        effect += math.log(0.75) + (math.log(0.9) if chromosome["slice_idle"] == 0 else 0.0)
    return effect


def run(
    chromosome: Chromosome, rng: random.Random, noise: float = 0.02, scenario: str = "reader"
) -> Run:
    """Return one noisy run."""
    return Run(chromosome, scenario, math.exp(log_cost(chromosome) + rng.gauss(0, noise)))


def anything(rng: random.Random) -> dict[str, Allele]:
    """Return a chromosome drawn gene by gene."""
    return SPACE.repair({gene.name: rng.choice(gene.alleles) for gene in SPACE.genes})


def scattered(seed: int, chromosomes: int = 150, noise: float = 0.02) -> list[Run]:
    """Return two runs of each of so many chromosomes drawn at random."""
    rng = random.Random(seed)
    return [run(c, rng, noise) for c in [anything(rng) for _ in range(chromosomes)] * 2]


def bred(seed: int, size: int = 24, generations: int = 10, noise: float = 0.02) -> list[Run]:
    """Return the runs of a plain genetic search: uneven, crowded around what was good early."""
    rng = random.Random(seed)
    population = [SPACE.default(), *(anything(rng) for _ in range(size - 1))]
    runs: list[Run] = []
    for _ in range(generations):
        made = [[run(c, rng, noise) for _ in range(2)] for c in population]
        runs.extend(one for pair in made for one in pair)
        order = sorted(range(size), key=lambda i: made[i][0].cost + made[i][1].cost)
        parents = [population[i] for i in order[: size // 2]]
        population = [*parents, *(_child(rng, parents) for _ in range(size - len(parents)))]
    return runs


def _child(rng: random.Random, parents: list[dict[str, Allele]]) -> dict[str, Allele]:
    pair = rng.sample(parents, 2)
    child = {gene.name: rng.choice(pair)[gene.name] for gene in SPACE.genes}
    other = anything(rng)
    return SPACE.repair({k: other[k] if rng.random() < 0.05 else v for k, v in child.items()})
