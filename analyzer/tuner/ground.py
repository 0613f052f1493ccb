"""What a campaign was begun with, besides its recipe: its genes and the chromosomes to begin with.

The store keeps it as text, so that a resumed campaign goes over the same ground although a board's
own values have changed, and a report knows the genes without the board.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from analyzer.tuner.genes import Allele, Chromosome, Gene, GeneError, Space


class _Text(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    genes: list[Gene]
    seeds: list[dict[str, Allele]] = []
    left_out: dict[str, str] = {}


@dataclass(frozen=True)
class Ground:
    """The space, and the chromosomes that are evaluated first."""

    space: Space
    seeds: Sequence[Chromosome] = ()


def ground_text(ground: Ground) -> str:
    """Return a ground as JSON."""
    space = ground.space
    text = _Text(list(space.genes), [dict(seed) for seed in ground.seeds], dict(space.left_out))
    return msgspec.json.encode(text).decode()


def read_ground(text: str) -> Ground:
    """Return the ground in JSON; raises GeneError."""
    try:
        found = msgspec.json.decode(text, type=_Text)
    except GeneError:
        raise
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise GeneError(f"the genes of a campaign are damaged: {error}", "tune again") from error
    return Ground(Space(tuple(found.genes), found.left_out), found.seeds)
