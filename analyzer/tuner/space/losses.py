"""Possible losses by settings in a power cut: the catalogue's durability of genes and knobs.

A gene is recognised by its knob, whatever a TUNING file calls it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from foreread.analyzer.tuner.space.catalogue import Entry, entries
from foreread.analyzer.tuner.space.genes import Allele, Gene, Space
from foreread.boards.remount import PREFIX


@dataclass(frozen=True)
class Loss:
    """A value with which a power cut may lose more than without it, and that loss."""

    gene: str
    value: Allele
    sentence: str


def loss_of(
    knob: str, value: str, replaced: Allele | None = None, usual: bool = True
) -> Loss | None:
    """Return the loss by a value of a knob; None if it is as durable as the replaced value.

    The value is compared with ``replaced``, unless that is None, and with the kernel's own value if
    ``usual``.
    """
    allele, before = _parsed(value), None if replaced is None else _parsed(str(replaced))
    for entry in entries():
        durability = entry.durability
        if durability is None or not _has_knob(entry, knob, allele):
            continue
        references = [*([durability.usual] if usual else []), *([] if before is None else [before])]
        if any(durability.loses_more(allele, other) for other in references):
            return Loss(entry.name, allele, durability.sentence(allele))
    return None


def losses_in(settings: Iterable[tuple[str, str]]) -> list[Loss]:
    """Return the losses by (knob, value), each once, against the kernel's own values."""
    possible_losses = (loss_of(knob, value) for knob, value in settings)
    return list(dict.fromkeys(loss for loss in possible_losses if loss is not None))


def losses_of(space: Space, chromosome: Mapping[str, Allele]) -> list[Loss]:
    """Return the losses of a chromosome that exceed the default's."""
    gene_losses = (
        _gene_loss(gene, chromosome.get(gene.name, gene.default)) for gene in space.genes
    )
    return [loss for loss in gene_losses if loss is not None]


def worst_losses(space: Space) -> list[Loss]:
    """Return the greatest loss that each gene of a space can cause, if it can cause any."""
    worst = []
    for gene in space.genes:
        losses = [loss for allele in gene.alleles if (loss := _gene_loss(gene, allele))]
        worst.extend(losses[-1:])  # numbers rise
    return worst


def _gene_loss(gene: Gene, allele: Allele) -> Loss | None:
    for knob in (gene.knob, *gene.more_knobs):
        if loss := loss_of(knob, str(allele), gene.default, usual=False):
            return loss
    return None


def _parsed(text: str) -> Allele:
    return int(text) if text.isascii() and text.isdigit() else text


def _has_knob(entry: Entry, knob: str, allele: Allele) -> bool:
    template = entry.knob or ""
    if not knob.startswith(PREFIX) or not template.startswith(PREFIX):
        return posixpath.normpath(knob) == template if knob else False
    words = knob.split(":")[1]
    if words.endswith("="):
        return template.split(":")[1] == words
    lossy = entry.durability.lossy if entry.durability else ()
    return allele in lossy  # among any alternatives that a file offers
