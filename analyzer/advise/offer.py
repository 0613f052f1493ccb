"""What could be changed: an offer makes its change in any replay of the start."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from msgspec import structs

from foreread.analyzer.advise.document import RowTrial
from foreread.analyzer.advise.variant import Variant

Kind = Literal[
    "layout",
    "again",
    "metadata",
    "order",
    "early",
    "access",
    "beside",
    "list",
    "setting",
    "window",
    "phases",
]
# Changes are made in this order, whatever the order in which they are chosen: what moves pages
# comes before what reads them earlier, and settings of the kernel come last.
KINDS: tuple[Kind, ...] = get_args(Kind)
Effort = Literal[
    "one setting",
    "settings during the start",
    "a list on the board",
    "packaging",
    "a preloaded library",
    "a change in the application",
    "a new link",
    "a new image",
]


@dataclass(frozen=True, eq=False)
class Offer:
    """One change of a start.

    Of offers with the same ``gene`` a combination has at most one. ``apply`` returns a changed
    variant, of any recording of the start. ``how`` is what to type; ``trial`` is the change as cold
    runs can have it, None if it needs another image or application. ``flash_bytes`` are written to
    the board once; ``image_bytes`` are what its image grows by. ``lists`` are files that ``how``
    and ``trial`` refer to. ``files`` are paths that it reads beside the start; ``ranges`` (path,
    offset, bytes) are what it reads earlier.
    """

    kind: Kind
    gene: str
    what: str
    apply: Callable[[Variant], Variant]
    how: tuple[str, ...]
    effort: Effort
    risk: str
    flash_bytes: int = 0
    image_bytes: int = 0
    trial: RowTrial | None = None
    lists: Mapping[str, bytes] = field(default_factory=dict)
    files: frozenset[str] = frozenset()
    ranges: tuple[tuple[str, int, int], ...] = ()

    def __str__(self) -> str:
        return self.what


def trial_of(offers: Iterable[Offer]) -> RowTrial | None:
    """Return offers together as cold runs can have them; None if one of them cannot be had so."""
    together = RowTrial()
    for offer in offers:
        trial = offer.trial
        if trial is None:
            return None
        changed = {key: value for key, value in structs.asdict(trial).items() if value}
        changed["settings"] = [*together.settings, *trial.settings]
        changed["advice"] = [*together.advice, *trial.advice]
        if trial.read_ahead_kb is not None:
            changed["read_ahead_kb"] = trial.read_ahead_kb
        together = structs.replace(together, **changed)
    return together


def in_order(offers: Iterable[Offer]) -> tuple[Offer, ...]:
    """Return offers in the order in which their changes are made."""
    return tuple(sorted(offers, key=lambda offer: (KINDS.index(offer.kind), offer.what)))
