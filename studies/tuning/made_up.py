"""Made-up landscapes with a known truth, for confirmations: confirmation_noise.py.

Their spaces are like those tuned on a board: words, numbers, and numbers that exist only with some
words. The time of a start is a sum, in logarithms, of the effects that KINDS names; a run adds
noise, now and then with heavy tails. A number seeds all draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import NormalDist

from foreread.analyzer.tuner.space.catalogue import WINDOW
from foreread.analyzer.tuner.space.genes import NONE, Allele, Chromosome, Gene, Space
from studies.tuning.landscape import Landscape, Row, Table

SCENARIO = "made up"
KINDS = ("additive", "interaction", "together", "one gene", "flat", "rugged", "cliff", "three")
NOISES = (0.005, 0.015, 0.03, 0.05)  # standard deviation of a run's logarithm; of its middle part
PREDICTIONS = ("none", "right", "misleading")
HEAVY = 0.25  # share of landscapes whose noise has heavy tails
RUNS = (400, 800)  # that measuring everything takes, repeats included
_DRAWS = 24  # that a point's runs are drawn from
Effect = Callable[[Chromosome], float]


@dataclass(frozen=True)
class MadeUp:
    """A landscape, the draws that made it, and its predicted seconds by window."""

    number: int
    kind: str
    noise: float
    heavy: bool
    prediction: str
    landscape: Landscape
    predicted: Mapping[int, float] | None
    runs_exhaustive: int


def made_up(number: int) -> MadeUp:
    """Return the landscape of a number; kinds take turns, the rest is drawn."""
    rng = Random(f"made up/{number}")
    kind = KINDS[number % len(KINDS)]
    noise, heavy = rng.choice(NOISES), rng.random() < HEAVY
    prediction = rng.choice(PREDICTIONS)
    space = _space(rng)
    effects = _effects(kind, space, rng)
    costs = [sum(effect(chromosome) for effect in effects) for chromosome in space.enumerate()]
    landscape = _landscape(space, costs, _runs(noise, heavy))
    predicted = _predicted(space, costs, prediction, rng)
    rounds = max(1, round(sum(RUNS) / 2 / space.size))
    return MadeUp(number, kind, noise, heavy, prediction, landscape, predicted, rounds * space.size)


def _space(rng: Random) -> Space:
    """Return a space of 150 to 1000 points."""
    while True:
        words = ("none", "kyber", "mq-deadline", "bfq")[: rng.choice((3, 4, 4))]
        genes = [
            _gene("scheduler", words, rng),
            _gene("nr_requests", (2, 16, 64)[: rng.choice((2, 2, 3))], rng, words[1:]),
            _gene(WINDOW, tuple(8 << n for n in range(rng.randint(5, 9))), rng),
            _gene("swappiness", (0, 10, 60, 100, 200)[: rng.choice((3, 4, 5))], rng),
            _gene("rq_affinity", ("0", "1", "2")[: rng.choice((2, 3))], rng),
            _gene("slice_idle", (0, 4, 8), rng, words[-1:]),
        ]
        space = Space(tuple(genes[: rng.randint(4, 6)]))
        if 150 <= space.size <= 1000:
            return space


def _gene(name: str, alleles: tuple[Allele, ...], rng: Random, needs: tuple[str, ...] = ()) -> Gene:
    return Gene(
        name=name,
        kind="integer" if isinstance(alleles[0], int) else "categorical",
        choices=alleles,
        default=rng.choice(alleles),
        requires={"scheduler": needs} if needs else {},
    )


def _effects(kind: str, space: Space, rng: Random) -> list[Effect]:
    genes = rng.sample(space.genes, len(space.genes))
    small = [main_effect(gene, rng, 0.0, 0.04) for gene in genes]

    def mattering() -> Iterator[Gene]:
        return (gene for gene in genes if rng.random() < 0.6)

    def mains(some: Iterable[Gene], most: float) -> list[Effect]:
        return [main_effect(gene, rng, 0.01, most) for gene in some]

    def products() -> list[Effect]:
        return [product_effect(genes[:2], rng, 0.1, 0.3), product_effect(genes[1:3], rng, 0.0, 0.2)]

    kinds: dict[str, Callable[[], list[Effect]]] = {
        "additive": lambda: mains(mattering(), 0.25),
        "interaction": lambda: [*mains(genes[:3], 0.1), *products()],
        "together": lambda: [*small, corner(space, genes[:2], rng)],
        "one gene": lambda: [main_effect(genes[0], rng, 0.05, 0.3)],
        "flat": lambda: [main_effect(gene, rng, 0.0, 0.004) for gene in genes],
        "rugged": lambda: [
            *mains(mattering(), 0.2),
            _own(space, rng, rng.uniform(0.01, 0.04)),
        ],
        "cliff": lambda: [*mains(genes, 0.15), cliff(genes[:2], rng)],
        "three": lambda: [*small, corner(space, genes[:3], rng)],
    }
    return kinds[kind]()


def _shape(gene: Gene, rng: Random) -> dict[Allele, float]:
    """Return a function of the alleles: 0 at its best one, 1 at its worst; NONE is any of them."""
    count = len(gene.alleles)
    places = [place / max(count - 1, 1) for place in range(count)]
    if gene.ordered:
        best, power = rng.choice((0.0, 1.0, rng.random())), rng.choice((0.3, 1.0, 2.0))
        values = [abs(place - best) ** power for place in places]
    else:
        values = [rng.random() for _ in places]
    least, most = min(values), max(values)
    scaled = [(value - least) / ((most - least) or 1.0) for value in values]
    shape = dict(zip(gene.alleles, scaled, strict=True))
    return shape if NONE in shape else {**shape, NONE: rng.choice(scaled)}


def main_effect(gene: Gene, rng: Random, least: float, most: float) -> Effect:
    """Return a gene's effect: 0 at its best allele, between ``least`` and ``most`` at its worst."""
    shape, size = _shape(gene, rng), _size(rng, least, most)
    return lambda chromosome: size * shape[chromosome[gene.name]]


def product_effect(genes: Sequence[Gene], rng: Random, least: float, most: float) -> Effect:
    """Return an interaction: the product of the genes' shapes, from -size to size."""
    shapes, size = {gene.name: _shape(gene, rng) for gene in genes}, _size(rng, least, most)
    signs = {gene.name: rng.choice((1, -1)) for gene in genes}
    return lambda chromosome: (
        size
        * math.prod(
            signs[name] * (shape[chromosome[name]] - 0.5) * 2 for name, shape in shapes.items()
        )
    )


def corner(space: Space, genes: Sequence[Gene], rng: Random) -> Effect:
    """Return a gain of 7 to 25 % that only alleles together bring, none of them the default's."""
    while True:
        good = {gene.name: _side(gene, rng) for gene in genes}
        gain, cost = rng.uniform(0.07, 0.25), rng.uniform(0.0, 0.02)
        if any(
            all(chromosome[name] in good[name] for name in good) for chromosome in space.enumerate()
        ):
            break

    def effect(chromosome: Chromosome) -> float:
        matching = sum(chromosome[name] in alleles for name, alleles in good.items())
        return -gain if matching == len(good) else cost * matching

    return effect


def _side(gene: Gene, rng: Random) -> set[Allele]:
    """Return the alleles on one side of the default, the far ones; of words some others."""
    at = list(gene.alleles).index(gene.default)
    sides = [side for side in (gene.alleles[:at], gene.alleles[at + 1 :]) if side]
    if not gene.ordered:
        alleles = [allele for allele in gene.alleles if allele != gene.default]
        return set(rng.sample(alleles, rng.randint(1, max(len(alleles) // 2, 1))))
    side = max(sides, key=len)
    far = side[: (len(side) + 1) // 2] if side is sides[0] and at else side[len(side) // 2 :]
    return set(far)


def cliff(genes: Sequence[Gene], rng: Random) -> Effect:
    """Return an effect that makes a start take 5 to 50 times as long with two alleles."""
    fatal = {
        gene.name: rng.choice([a for a in gene.alleles if a != gene.default]) for gene in genes
    }
    height = math.log(rng.uniform(5, 50))
    return lambda chromosome: (
        height if all(chromosome[name] == fatal[name] for name in fatal) else 0.0
    )


def _own(space: Space, rng: Random, deviation: float) -> Effect:
    """Return what each point has for itself."""
    own = {space.key(chromosome): rng.gauss(0, deviation) for chromosome in space.enumerate()}
    return lambda chromosome: own[space.key(chromosome)]


def _size(rng: Random, least: float, most: float) -> float:
    return (
        least + (most - least) * rng.random() ** 2 if least == 0 else _log_uniform(rng, least, most)
    )


def _log_uniform(rng: Random, least: float, most: float) -> float:
    return math.exp(rng.uniform(math.log(least), math.log(most)))


def _runs(noise: float, heavy: bool) -> list[float]:
    """Return the errors of runs, as logarithms with median 0: quantiles of a distribution.

    Heavy tails are Student's t with two degrees of freedom, with a middle half as wide as the
    normal distribution's.
    """
    shares = [(draw + 0.5) / _DRAWS for draw in range(_DRAWS)]
    if not heavy:
        return [noise * NormalDist().inv_cdf(share) for share in shares]
    scale = noise * NormalDist().inv_cdf(0.75) / _student(0.75)
    return [scale * _student(share) for share in shares]


def _student(share: float) -> float:
    return (2 * share - 1) / math.sqrt(2 * share * (1 - share))


def _landscape(space: Space, costs: Sequence[float], off: Sequence[float]) -> Landscape:
    rows = [
        Row(list(chromosome.values()), {SCENARIO: [math.exp(cost + draw) for draw in off]})
        for chromosome, cost in zip(space.enumerate(), costs, strict=True)
    ]
    return Landscape(Table(scenarios=[SCENARIO], genes=list(space.genes), rows=rows))


def _predicted(
    space: Space, costs: Sequence[float], prediction: str, rng: Random
) -> dict[int, float] | None:
    """Return seconds by window: what windows cost on average, or, misleading, the other way round.

    Cliffs are left out of the average by taking the median.
    """
    if prediction == "none":
        return None
    by_window: dict[int, list[float]] = {}
    for chromosome, cost in zip(space.enumerate(), costs, strict=True):
        by_window.setdefault(int(chromosome[WINDOW]), []).append(cost)
    strength = rng.uniform(0.7, 1.3)
    middles = [
        sorted(window_costs)[len(window_costs) // 2] * strength
        for window_costs in by_window.values()
    ]
    if prediction == "misleading":
        middles = [-middle for middle in middles]
    return {kb: math.exp(m + rng.gauss(0, 0.01)) for kb, m in zip(by_window, middles, strict=True)}
