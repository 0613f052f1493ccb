"""Made-up landscapes of the whole catalogue: every gene that foreread knows, on a made-up board.

No table holds so large a space, so the truth is a formula. As on the measured boards few genes
matter: the window, the scheduler with its requests, and a few others; two more help only together;
one pair of alleles is fatal. All others change a start by less than half a percent. Which ones, and
by how much, is drawn by a number.

The runs have the counters of the kernel's mechanisms (analyzer/tuner/space/mechanisms.py), and they
are true: without a mechanism its genes have no effect at all. On a *quiet* board some mechanisms
are absent by chance; on the others those occur that the genes which matter need.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from foreread.analyzer.tuner.evaluation import Attempt
from foreread.analyzer.tuner.space.catalogue import (
    WINDOW,
    Entry,
    Mechanism,
    entries,
    knobs,
    space_of,
    usual_names,
)
from foreread.analyzer.tuner.space.genes import Allele, Chromosome, Gene, Space
from foreread.analyzer.tuner.space.mechanisms import SIGNS, acts_on
from foreread.analyzer.tuner.store.records import Objective
from studies.tuning.made_up import (
    Effect,
    cliff,
    corner,
    main_effect,
    product_effect,
)

DISK, MOUNT = "mmcblk0", "/data"
NOISE = 0.02  # standard deviation of a run's logarithm
MATTER = 4  # genes beside window, scheduler and requests that matter alone
_WORDS = {
    "scheduler": "none [mq-deadline] kyber bfq",
    "atime": "[relatime] noatime strictatime",
    "lazytime": "[nolazytime] lazytime",
    "barrier": "[barrier] nobarrier",
}
_NUMBERS = {"bfq.max_budget": 0, "max_sectors_kb": 512, "min_free_kbytes": 4096}


@dataclass(frozen=True)
class Part:
    """An effect, and the genes that it depends on; those that do not matter cost half a percent."""

    genes: tuple[str, ...]
    effect: Effect
    matters: bool = True


class WholeCatalogue:
    """An evaluator over all genes; ``number`` draws its truth."""

    scenarios: Sequence[str] = ("made up",)
    objective: Objective = "seconds"

    def __init__(self, number: int, noise: float = NOISE, quiet: bool = False) -> None:
        self.space = board_space()
        self.noise = noise
        rng = Random(f"{'quiet' if quiet else 'whole'} catalogue/{number}")
        mechanisms = [mechanism for mechanism in SIGNS if not quiet or rng.random() < 0.5]
        parts = _parts(self.space, rng, mechanisms)
        self.occurs = _needed(self.space, parts)
        self.parts = [_acting(self.space, part, self.occurs) for part in parts]
        self._metrics = _counters(self.occurs)
        self.optimum, self.least = _optimum(self.space, self.parts)
        self._seed = 0

    def reseed(self, seed: int) -> None:
        """Take the seed of the next draw."""
        self._seed = seed

    def evaluate(self, chromosome: Chromosome, scenario: str) -> Attempt:
        """Draw a run; the same one for the same seed."""
        draw = Random(f"{self._seed}/{scenario}/{self.space.key(chromosome)}")
        seconds = math.exp(self.cost(chromosome) + draw.gauss(0, self.noise))
        return Attempt("ok", seconds, self._metrics)

    def cost(self, chromosome: Chromosome) -> float:
        """Return the logarithm of the seconds."""
        return sum(part.effect(chromosome) for part in self.parts)

    def regret(self, chromosome: Chromosome) -> float:
        """Return how much longer than the optimum it takes: 0.02 is 2 %."""
        return math.expm1(self.cost(chromosome) - self.least)


def board_space() -> Space:
    """Return the genes of the catalogue on a board that has all of them.

    They are the 37 genes that are tuned by default. Genes that trade durability for time are among
    them, with all their alleles, as ``--allow durability`` gives them.
    """
    probe = dict.fromkeys(knobs([DISK], mounted=MOUNT), "4096")
    for entry in entries():
        (path, *_) = knobs([DISK], [entry.name], MOUNT)
        probe[path] = _WORDS.get(entry.name, str(_probe_value(entry)))
    names = usual_names()
    return space_of(probe, [DISK], names, mounted=MOUNT, risked=names)


def _probe_value(entry: Entry) -> int:
    if entry.kind == "boolean":
        return 1
    levels = entry.levels
    return _NUMBERS.get(entry.name, levels[len(levels) // 2] if levels else 64)


def _counters(occurs: Collection[Mechanism]) -> dict[str, float]:
    """Return the counters of a run in which these mechanisms occurred."""
    return {
        "vmstat.pgscan_kswapd": 1000.0 * ("reclaim" in occurs),
        "disk.written_sectors": 8.0 + 8192.0 * ("writes" in occurs),
        "disk.waited_ms": 90.0 + 200.0 * ("queue" in occurs),
        "disk.busy_ms": 100.0,
    }


def _needed(space: Space, parts: Sequence[Part]) -> set[Mechanism]:
    """Return the mechanisms of the genes that matter."""
    genes = {name for part in parts if part.matters for name in part.genes}
    return {mechanism for name in genes if (mechanism := acts_on(space.gene(name)))}


def _acting(space: Space, part: Part, occurs: Collection[Mechanism]) -> Part:
    """Return an effect under the mechanisms that occur: no effect where one is lacking."""
    acts = all(acts_on(space.gene(name)) in (None, *occurs) for name in part.genes)
    return part if acts else Part(part.genes, lambda _: 0.0, matters=False)


def _parts(space: Space, rng: Random, mechanisms: Collection[Mechanism]) -> list[Part]:
    """Return the effects; those that matter are of genes that need only these ``mechanisms``."""
    by_name = {gene.name: gene for gene in space.genes}
    free = [
        gene
        for gene in space.genes
        if not (gene.requires or gene.below or gene.name in (WINDOW, "scheduler", "nr_requests"))
        and acts_on(gene) in (None, *mechanisms)
    ]
    drawn = rng.sample(free, min(MATTER + 4, len(free)))
    alone, together, fatal = drawn[:-4], drawn[-4:-2], drawn[-2:]
    large = {WINDOW: (0.1, 0.25), "scheduler": (0.03, 0.12)}
    large |= {gene.name: (0.02, 0.08) for gene in alone}
    parts = [
        Part(
            (gene.name,),
            main_effect(gene, rng, *large.get(gene.name, (0.0, 0.005))),
            gene.name in large,
        )
        for gene in space.genes
    ]
    if "queue" in mechanisms:
        pair = [by_name["scheduler"], by_name["nr_requests"]]
        parts.append(Part(_names(pair), product_effect(pair, rng, 0.03, 0.08)))
    parts.append(Part(_names(together), corner(Space(tuple(together)), together, rng)))
    parts.append(Part(_names(fatal), cliff(fatal, rng)))
    return parts


def _names(genes: Sequence[Gene]) -> tuple[str, ...]:
    return tuple(gene.name for gene in genes)


def _optimum(space: Space, parts: Sequence[Part]) -> tuple[dict[str, Allele], float]:
    """Return the best chromosome and its cost, group by group of genes that affect each other."""
    best: dict[str, Allele] = {}
    for group in _groups(space, parts):
        some = Space(tuple(gene for gene in space.genes if gene.name in group))
        best |= _best_of(some, [part for part in parts if group.issuperset(part.genes)])
    best = {name: best[name] for name in space.names}
    return best, sum(part.effect(best) for part in parts)


def _groups(space: Space, parts: Sequence[Part]) -> list[set[str]]:
    """Return the genes that interact, or of which one depends on the other, as disjoint sets."""
    links = [set(part.genes) for part in parts]
    links += [{gene.name, *gene.requires, *filter(None, [gene.below])} for gene in space.genes]
    groups: list[set[str]] = []
    for link in links:
        apart = [group for group in groups if not group & link]
        groups = [*apart, link.union(*(group for group in groups if group & link))]
    return groups


def _best_of(space: Space, parts: Sequence[Part]) -> dict[str, Allele]:
    """Return the best chromosome of a group: interacting genes in every way, others alone."""
    core = {name for part in parts if len(part.genes) > 1 for name in part.genes}
    core |= {other for gene in space.genes for other in (*gene.requires, gene.below) if other}
    alone = {part.genes[0]: part.effect for part in parts if len(part.genes) == 1}
    chosen = Space(tuple(gene for gene in space.genes if gene.name in core)).enumerate()
    return min(
        (_completed(space, chromosome, alone) for chromosome in chosen),
        key=lambda whole: sum(part.effect(whole) for part in parts),
    )


def _completed(
    space: Space, chosen: Mapping[str, Allele], alone: Mapping[str, Effect]
) -> dict[str, Allele]:
    """Return ``chosen`` with the best allele of every other gene."""
    whole: dict[str, Allele] = dict(chosen)
    for gene in space.genes:
        if gene.name not in whole:
            costs = {
                allele: alone[gene.name]({gene.name: allele})
                for allele in space.options(gene, whole)
            }
            whole[gene.name] = min(costs, key=costs.__getitem__)
    return whole
