"""Genes and the space they span: settings, their dependencies, and how they are written.

A chromosome gives each gene of a space an allele. A gene that does not apply (a tunable of a
scheduler that is not chosen) has the allele ``NONE``, as in Zadok et al., *Parametric Optimization
of Storage Systems* (HotStorage 2015), section 3. For a gene with the choice ``none`` (the
scheduler) that allele means the choice; such genes always apply.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal

import msgspec

from foreread.analyzer.error import AnalyzerError
from foreread.boards import knobs

Allele = str | int
Chromosome = Mapping[str, Allele]
Kind = Literal["categorical", "integer", "power2", "boolean", "bits"]
Mutation = Literal["any", "new", "percent", "step", "flip"]

NONE = "none"
MOST_GENES = 256  # of a space; the catalogue has fewer than 50
_MOST_CHOICES = 512  # of a gene
ORDERED: frozenset[Kind] = frozenset({"integer", "power2", "bits"})

Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.:-]*\Z", max_length=80)]
Word = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.=+-]*\Z", max_length=80)]
KNOB = "(mount:[a-z0-9_,]+=?:)?[/{][A-Za-z0-9_./{}+-]*"
Knob = Annotated[str, msgspec.Meta(pattern=f"^{KNOB}\\Z", max_length=200)]
Whole = Annotated[int, msgspec.Meta(ge=-(1 << 53), le=1 << 53)]
_Alleles = Annotated[tuple[Whole | Word, ...], msgspec.Meta(max_length=_MOST_CHOICES)]
DISK = "{disk}"
_ANY_DISK = "sda"


class GeneError(AnalyzerError, ValueError):
    """An invalid gene, space or chromosome; ``remedy`` says what to do."""


class Gene(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """One setting.

    Its alleles are ``choices``, or else the numbers of its kind from ``lowest`` to ``highest``:
    every integer (``integer``, ``bits``), the powers of two (``power2``), or 0 and 1 (``boolean``).
    ``requires``: alleles of other genes; the gene applies if each of these genes has one of them.
    ``below``: a gene with an allele that its own must stay under. ``knob``: the file to write, with
    ``{disk}`` for the kernel's name of ``disk``, or of each disk if that is empty; it is written to
    ``more_knobs`` as well; a mount option is a knob, too (boards.remount). ``mutation``: its own
    mutation operator (see operators.py).
    """

    name: Name
    kind: Kind
    default: Whole | Word
    choices: _Alleles = ()
    lowest: Whole = 0
    highest: Whole = 1
    requires: Annotated[dict[Name, _Alleles], msgspec.Meta(max_length=MOST_GENES)] = {}
    below: str = ""
    knob: Annotated[str, msgspec.Meta(pattern=f"^({KNOB})?\\Z", max_length=200)] = ""
    more_knobs: Annotated[tuple[Knob, ...], msgspec.Meta(max_length=_MOST_CHOICES)] = ()
    disk: str = ""
    mutation: Mutation = "any"
    unit: str = ""

    def __post_init__(self) -> None:
        """Raise GeneError for a gene without alleles, or with a default that is not one of them."""
        if len(set(self.choices)) < len(self.choices):
            raise self._wrong("has the same choice twice")
        if self.ordered and self.choices:
            numbers = [choice for choice in self.choices if isinstance(choice, int)]
            if len(numbers) < len(self.choices) or sorted(numbers) != numbers:
                raise self._wrong("has choices that are not rising numbers")
        if self.default not in self.alleles:
            raise self._wrong(f"has the default {self.default}, which is not one of its alleles")
        if self.below and not self.ordered:
            raise self._wrong(f"is not a number, so it cannot stay below {self.below}")
        if self.requires and NONE in self.choices:
            raise self._wrong(f"is conditional, so {NONE} cannot be one of its choices")
        self._check_knobs()

    def _check_knobs(self) -> None:
        """Raise GeneError unless each allele may be set, and the default may be restored.

        A store of any origin is checked here.
        """
        ends = self.alleles[:: max(len(self.alleles) - 1, 1)] if self.ordered else self.alleles
        try:
            for knob in filter(None, (self.knob, *self.more_knobs)):
                path = knob.replace(DISK, _ANY_DISK)
                for allele in ends:
                    if allele != self.default:
                        knobs.check_setting(path, str(allele))
                knobs.check_put_back(path, str(self.default))
        except knobs.KnobError as error:
            raise GeneError(f"gene {self.name}: {error}", error.remedy) from error

    def _wrong(self, what: str) -> GeneError:
        return GeneError(f"gene {self.name} {what}", "correct the gene's kind, range or default")

    @property
    def ordered(self) -> bool:
        """Whether its alleles are numbers, so that values between two of them make sense."""
        return self.kind in ORDERED

    @property
    def alleles(self) -> Sequence[Allele]:
        """Every allele except NONE, numbers rising."""
        if self.choices:
            return self.choices
        if self.kind == "boolean":
            return (0, 1)
        if self.kind == "power2":
            powers = (1 << n for n in range(max(self.highest, 0).bit_length()))
            return tuple(power for power in powers if self.lowest <= power)
        return range(self.lowest, self.highest + 1)

    def knob_paths(self, disks: Sequence[str]) -> list[str]:
        """Return the files that it is written to; ``disks`` are the campaign's."""
        return [*knob_paths(self.knob, [self.disk] if self.disk else disks), *self.more_knobs]


def knob_paths(knob: str, disks: Sequence[str]) -> list[str]:
    """Return the files of a knob: one of each disk, or one where it is not a disk's.

    Raises GeneError for invalid disk names.
    """
    if DISK not in knob:
        return [knob]
    if strange := [disk for disk in disks if not knobs.is_disk_name(disk)]:
        raise GeneError(f"{strange[0]!r} is not a disk's name", "name a disk as /sys/block does")
    return [knob.replace(DISK, disk) for disk in disks]


def nearest(gene: Gene, options: Sequence[Allele], allele: Allele) -> Allele:
    """Return the closest of ``options`` to ``allele``.

    For a number the nearest (the lower of two), or the nearest to the default if ``allele`` is not
    a number; otherwise the default if offered, or the first.
    """
    if allele in options or len(options) == 1:
        return allele if allele in options else options[0]
    if not gene.ordered:
        return gene.default if gene.default in options else options[0]
    number = int(allele if isinstance(allele, int) else gene.default)
    at = bisect_left(options, number)
    return min(options[max(at - 1, 0) : at + 1], key=lambda option: abs(int(option) - number))


@dataclass(frozen=True)
class Space:
    """The genes of one campaign, each after the genes that it depends on.

    ``left_out``: requested genes that the space lacks, and why; ``limited``: genes that lack
    alleles of the catalogue, and why.
    """

    genes: tuple[Gene, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    limited: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise GeneError for duplicate names, and for dependencies on later genes."""
        seen: dict[str, Gene] = {}
        for gene in self.genes:
            if gene.name in seen:
                raise GeneError(f"gene {gene.name} is there twice", "leave one of them out")
            for other in (*gene.requires, *filter(None, [gene.below])):
                if other not in seen:
                    raise GeneError(
                        f"gene {gene.name} depends on {other}, which does not come before it",
                        f"name {other} before {gene.name}",
                    )
            seen[gene.name] = gene

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the genes, in order."""
        return tuple(gene.name for gene in self.genes)

    @cached_property
    def gates(self) -> frozenset[str]:
        """Names of the genes that others depend on."""
        needed = (other for gene in self.genes for other in (*gene.requires, gene.below))
        return frozenset(filter(None, needed))

    def gene(self, name: str) -> Gene:
        """Return the gene of that name; KeyError if there is none."""
        return {gene.name: gene for gene in self.genes}[name]

    def options(self, gene: Gene, chromosome: Chromosome) -> Sequence[Allele]:
        """Return the alleles that ``gene`` may have beside the genes before it.

        Never empty: (NONE,) if the gene does not apply, its lowest allele if none is below the
        limit.
        """
        for other, allowed in gene.requires.items():
            if chromosome[other] not in allowed:
                return (NONE,)
        limit = chromosome[gene.below] if gene.below else NONE
        if not isinstance(limit, int):
            return gene.alleles
        return gene.alleles[: max(bisect_left(gene.alleles, limit), 1)]

    def repair(self, chromosome: Chromosome) -> dict[str, Allele]:
        """Return the closest valid chromosome; a valid one is returned unchanged.

        An allele that is not allowed becomes the nearest number that is, or else the gene's
        default; genes of other spaces are dropped.
        """
        repaired: dict[str, Allele] = {}
        for gene in self.genes:
            allele = chromosome.get(gene.name, gene.default)
            repaired[gene.name] = nearest(gene, self.options(gene, repaired), allele)
        return repaired

    def neighbours(self, chromosome: Chromosome) -> Iterator[dict[str, Allele]]:
        """Yield the valid chromosomes that differ by one gene, and by the genes that depend on it.

        No chromosome occurs twice.
        """
        for gene in self.genes:
            for allele in self.options(gene, chromosome):
                if allele != chromosome[gene.name]:
                    changed = {**chromosome, gene.name: allele}
                    yield self.repair(changed) if gene.name in self.gates else changed

    def lacking(self, chromosome: Chromosome) -> str:
        """Return an error about the genes or an allele of a chromosome; empty if there is none.

        Alleles need not go together: ``valid`` checks that.
        """
        for gene in self.genes:
            if gene.name not in chromosome:
                return f"the gene {gene.name} is missing"
            allele = chromosome[gene.name]
            if allele != NONE and allele not in gene.alleles:
                return f"{str(allele)[:80]!r} is not a value of the gene {gene.name}"
        if len(chromosome) > len(self.genes):
            stranger = min(chromosome.keys() - set(self.names))
            return f"the gene {stranger[:80]!r} is unknown"
        return ""

    def default(self) -> dict[str, Allele]:
        """Return the chromosome of every gene's default."""
        return self.repair({})

    def valid(self, chromosome: Chromosome) -> bool:
        """Return whether it has exactly this space's genes, with alleles that go together."""
        return chromosome.keys() == set(self.names) and all(
            chromosome[gene.name] in self.options(gene, chromosome) for gene in self.genes
        )

    def key(self, chromosome: Chromosome) -> tuple[Allele, ...]:
        """Return a key that is equal for equal chromosomes: the alleles in the genes' order."""
        return tuple(chromosome[name] for name in self.names)

    def enumerate(self) -> Iterator[dict[str, Allele]]:
        """Yield every valid chromosome; the last gene changes fastest."""
        yield from self._completed({}, self.genes)

    def _completed(
        self, begun: dict[str, Allele], rest: Sequence[Gene]
    ) -> Iterator[dict[str, Allele]]:
        if not rest:
            yield begun
            return
        for allele in self.options(rest[0], begun):
            yield from self._completed({**begun, rest[0].name: allele}, rest[1:])

    @property
    def size(self) -> int:
        """Number of valid chromosomes."""
        gates = [gene for gene in self.genes if gene.name in self.gates]
        leaves = [gene for gene in self.genes if gene.name not in self.gates]
        return sum(
            math.prod(len(self.options(leaf, chosen)) for leaf in leaves)
            for chosen in self._completed({}, gates)
        )

    def settings(self, chromosome: Chromosome, disks: Sequence[str]) -> list[tuple[str, str]]:
        """Return (knob's path, value) of all genes that apply, in the order of writing.

        Genes that others depend on come first: a scheduler before its tunables.
        """
        return [
            (path, str(chromosome[gene.name]))
            for gene in self.genes
            if gene.knob and applies(gene, chromosome)
            for path in gene.knob_paths(disks)
        ]


def applies(gene: Gene, chromosome: Chromosome) -> bool:
    """Return whether ``gene`` has an allele that can be written."""
    return chromosome[gene.name] != NONE or NONE in gene.choices
