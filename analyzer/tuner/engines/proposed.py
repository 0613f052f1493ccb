"""The predicted settings before a search: the window, and settings predicted with it.

Every search begins with the default, the default with the predicted window, and the default with
all predicted settings. Predicted genes that the user did not choose to tune are *held*: each run of
the search has their predicted allele, with the window alone or with the other predicted settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from foreread.analyzer.tuner.space.genes import (
    MOST_GENES,
    Allele,
    Chromosome,
    Gene,
    Name,
    Space,
    Whole,
    Word,
)

Criterion = Literal["seconds", "published"]
_Settings = Annotated[dict[Name, Whole | Word], Meta(max_length=MOST_GENES)]


class ProposedGenes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Predicted alleles by gene.

    ``window``: of the window of each disk. ``settings``: of all predicted genes, with the window
    that is best together with the others. ``criterion``: the deciding criterion, predicted seconds
    or F² + G². ``held``: predicted genes that are not searched.
    """

    window: _Settings
    settings: _Settings
    criterion: Criterion = "seconds"
    held: Annotated[list[Name], Meta(max_length=MOST_GENES)] = []

    def alone(self, space: Space) -> dict[str, Allele]:
        """Return the default with the predicted window."""
        return space.repair(self.window)

    def founders(self, space: Space) -> list[Chromosome]:
        """Return the chromosomes that a search begins with."""
        founders: list[Chromosome] = []
        for chromosome in (space.default(), self.alone(space), space.repair(self.settings)):
            if chromosome not in founders:
                founders.append(chromosome)
        return founders

    def searched(self, space: Space) -> Space:
        """Return the space to search: held genes have only their predicted alleles."""
        genes = tuple(self._held(gene) if gene.name in self.held else gene for gene in space.genes)
        return Space(genes, space.left_out, space.limited)

    def _held(self, gene: Gene) -> Gene:
        together = self.settings[gene.name]
        alone = self.window.get(gene.name, together)
        choices = tuple(allele for allele in gene.alleles if allele in (alone, together))
        return msgspec.structs.replace(gene, choices=choices, default=alone)

    def lacking(self, space: Space) -> str:
        """Return an error about the genes or alleles in a space; empty if there is none."""
        for settings in (self.window, self.settings):
            if wrong := space.lacking({**space.default(), **settings}):
                return wrong
        if strange := [name for name in self.held if name not in self.settings]:
            return f"the gene {strange[0]} is held without an allele"
        return ""


def widened(space: Space, settings: Mapping[str, Allele]) -> Space:
    """Return the space with these alleles among its genes' choices."""

    def wide(gene: Gene) -> Gene:
        allele = settings.get(gene.name)
        if allele is None or allele in gene.alleles:
            return gene
        choices: Sequence[Allele] = [*gene.alleles, allele]
        ordered = sorted(choices, key=int) if gene.ordered else choices
        return msgspec.structs.replace(gene, choices=tuple(ordered))

    return Space(tuple(map(wide, space.genes)), space.left_out, space.limited)
