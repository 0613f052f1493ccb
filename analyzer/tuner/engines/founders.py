"""The first chromosomes of ``start-up``: known ones, windows alone, and a spread over the space.

In a small space most of the gain is the window's, so some windows are tried with the defaults of
all other genes. Among dozens of genes that gains nothing: a spread shows more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from foreread.analyzer.tuner.engines import operators
from foreread.analyzer.tuner.engines.predicted import Prediction, is_window
from foreread.analyzer.tuner.engines.recipe import StartUp
from foreread.analyzer.tuner.space.genes import Allele, Chromosome, Space


def founders(
    recipe: StartUp,
    space: Space,
    seeds: Sequence[Chromosome],
    prediction: Prediction,
    small: bool,
    rng: Random,
) -> Iterator[Chromosome]:
    """Yield the seeds, the default, the predicted window, windows alone, and a spread."""
    default = space.default()
    yield from map(space.repair, seeds)
    yield default
    yield default | prediction.window(space)
    windows = _windows(space, recipe.windows) if small else []
    yield from windows
    yield from operators.spread(space, recipe.founders - len(windows), rng)


def _windows(space: Space, count: int) -> list[dict[str, Allele]]:
    """Return the default with ``count`` windows, evenly over their range."""
    genes = [gene for gene in space.genes if is_window(gene)]
    longest = max((len(gene.alleles) for gene in genes), default=0)
    count = min(count, longest)
    shares = [place / max(count - 1, 1) for place in range(count)]
    windows = [
        {gene.name: gene.alleles[round(share * (len(gene.alleles) - 1))] for gene in genes}
        for share in shares
    ]
    return [space.default() | window for window in windows]
