"""The alleles of a gene as few levels, so that each has enough chromosomes to compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from foreread.analyzer.tuner.space.genes import Allele

MOST_LEVELS = 12  # of a gene with numbers; more of them are grouped by size
RANGES = 5  # of grouped numbers


@dataclass(frozen=True)
class Level:
    """Alleles that count as one, in rising order."""

    alleles: tuple[Allele, ...]

    def __str__(self) -> str:
        first, last = self.alleles[0], self.alleles[-1]
        return str(first) if len(self.alleles) == 1 else f"{first}–{last}"


def levels_of(
    alleles: Sequence[Allele], default: Allele, most: int = MOST_LEVELS
) -> tuple[Level, list[Level]]:
    """Return the level with the default, and the other levels that occur.

    More than ``most`` numbers are cut into ranges, RANGES or ``most`` if that is less, with about
    equally many of ``alleles`` in each.
    """
    counts = Counter(alleles)
    counts[default] += 0
    words = [(allele,) for allele in counts if isinstance(allele, str)]
    numbers = sorted(allele for allele in counts if isinstance(allele, int))
    few = len(numbers) <= most
    pieces = min(RANGES, most)
    ranges = [(number,) for number in numbers] if few else _ranges(numbers, counts, pieces)
    levels = [Level(alleles_of_level) for alleles_of_level in [*sorted(words), *ranges]]
    reference = next(level for level in levels if default in level.alleles)
    return reference, [level for level in levels if level is not reference]


def _ranges(numbers: Sequence[int], counts: Counter[Allele], pieces: int) -> list[tuple[int, ...]]:
    total = sum(counts[number] for number in numbers)
    by_range: dict[int, list[int]] = {}
    before = 0
    for number in numbers:
        middle = before + counts[number] / 2
        by_range.setdefault(min(int(middle * pieces / total), pieces - 1), []).append(number)
        before += counts[number]
    return [tuple(numbers_of_range) for numbers_of_range in by_range.values()]
