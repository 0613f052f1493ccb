"""The durability of alleles: which of them lose more in a power cut, and the loss in words."""

from __future__ import annotations

import math

import msgspec


class Durability(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A gene that trades durability for time, as the catalogue describes it.

    A larger number loses more; alleles in ``lossy`` lose more than all others. ``loses`` describes
    the possible loss of a power cut, with ``{allele}``, and ``{seconds}`` for a number of
    centiseconds; ``loses_most`` describes it for a number in ``lossy``. ``usual``: the kernel's own
    value.
    """

    usual: int | str
    loses: str
    lossy: tuple[int | str, ...] = ()
    loses_most: str = ""

    def rank(self, allele: int | str) -> float:
        """Return how much an allele loses, to compare it with others of the gene."""
        if allele in self.lossy:
            return math.inf
        return float(allele) if isinstance(allele, int) else 0.0

    def loses_more(self, allele: int | str, than: int | str) -> bool:
        """Return whether ``allele`` may lose more than another one."""
        return self.rank(allele) > self.rank(than)

    def sentence(self, allele: int | str) -> str:
        """Return the possible loss of a power cut with ``allele``, as a sentence."""
        number = allele if isinstance(allele, int) else 0
        text = (allele in self.lossy and self.loses_most) or self.loses
        return text.format(allele=allele, seconds=f"{number / 100:g}")
