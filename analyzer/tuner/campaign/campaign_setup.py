"""The input of a campaign: its recipe, genes and weights, and the predictions before it.

The store keeps it as text, so that a resumed campaign is the same although the board's values have
changed, and a report knows the genes without the board.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from foreread.analyzer.tuner.campaign.feasibility import ExcessLimits
from foreread.analyzer.tuner.campaign.weights import MOST_SCENARIOS, Weights
from foreread.analyzer.tuner.engine import Engine
from foreread.analyzer.tuner.engines.earlier import Earlier
from foreread.analyzer.tuner.engines.fingerprint import PAGE_BYTES
from foreread.analyzer.tuner.engines.make import make_engine
from foreread.analyzer.tuner.engines.proposed import ProposedGenes
from foreread.analyzer.tuner.engines.recipe import Genetic, Recipe
from foreread.analyzer.tuner.space.genes import MOST_GENES, Chromosome, Gene, GeneError, Space
from foreread.analyzer.tuner.store.records import Spec
from foreread.boards.base.document import shown

T = TypeVar("T")


_MOST_CHOICES = 4096  # of all genes together; the catalogue's have fewer than 400
Kib = Annotated[int, Meta(ge=0, le=(1 << 31) - 1)]
Seconds = Annotated[float, Meta(gt=0, le=1e9)]


class _Text(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    genes: Annotated[list[Gene], Meta(max_length=MOST_GENES)]
    left_out: Annotated[dict[str, str], Meta(max_length=MOST_GENES)] = {}
    limited: Annotated[dict[str, str], Meta(max_length=MOST_GENES)] = {}
    predicted: dict[Kib, Seconds] = {}
    limits: ExcessLimits | None = None
    earlier: Earlier | None = None
    proposal: ProposedGenes | None = None
    weights: Weights = {}
    under_load: Annotated[dict[str, dict[Kib, Seconds]], Meta(max_length=MOST_SCENARIOS)] = {}


@dataclass(frozen=True)
class CampaignSetup:
    """The recipe, the space, and the knowledge before the first run.

    ``predicted``: seconds by read_ahead_kb, empty without a prediction; ``under_load``: the same by
    scenario, of those whose load is predicted. ``limits``: the limits of
    its constraints (feasibility.py); None for no constraint. ``earlier``: the earlier campaign to
    begin from. ``proposal``: the predicted window, and settings predicted with it. ``weights``: of
    scenarios with another weight than 1 (weights.py).
    """

    recipe: Recipe
    space: Space
    predicted: Mapping[int, float] = field(default_factory=dict)
    limits: ExcessLimits | None = None
    earlier: Earlier | None = None
    proposal: ProposedGenes | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    under_load: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, spec: Spec) -> CampaignSetup:
        """Return the setup in a store's spec; raises GeneError, also for another default."""
        text = _decoded(spec.space, _Text)
        recipe: Recipe = _decoded(spec.recipe, Recipe)  # type: ignore[arg-type]
        space = Space(tuple(text.genes), text.left_out, text.limited)
        if sum(len(gene.choices) for gene in space.genes) > _MOST_CHOICES:
            raise _damaged("the genes have more values than any campaign")
        if wrong := space.lacking(spec.default):
            raise _damaged(f"in the default settings {wrong}")
        if text.proposal is not None and (wrong := text.proposal.lacking(space)):
            raise _damaged(f"in the predicted settings {wrong}")
        sources = text.predicted, text.limits, text.earlier, text.proposal, text.weights
        return cls(recipe, space, *sources, text.under_load)

    @property
    def turns(self) -> int:
        """The generations of a scenario's turn; 0: all scenarios are always measured."""
        return self.recipe.turns if isinstance(self.recipe, Genetic) else 0

    @property
    def predicted_window(self) -> Chromosome | None:
        """The default with the predicted window; None where no window was predicted."""
        return None if self.proposal is None else self.proposal.alone(self.space)

    @property
    def recipe_text(self) -> str:
        """The recipe as JSON."""
        return msgspec.json.encode(self.recipe).decode()

    @property
    def space_text(self) -> str:
        """Genes, predictions, limits, the earlier campaign and weights as JSON."""
        space = self.space
        text = _Text(
            list(space.genes),
            dict(space.left_out),
            dict(space.limited),
            dict(self.predicted),
            self.limits,
            self.earlier,
            self.proposal,
            dict(self.weights),
            {load: dict(seconds) for load, seconds in self.under_load.items()},
        )
        return msgspec.json.encode(text).decode()

    def engine(self, seed: int, page_bytes: int = PAGE_BYTES) -> Engine:
        """Return a new engine; raises RecipeError."""
        proposal = self.proposal
        return make_engine(
            self.recipe,
            self.space if proposal is None else proposal.searched(self.space),
            seed,
            seeds=[] if proposal is None else proposal.founders(self.space),
            predicted=self.predicted,
            page_bytes=page_bytes,
            earlier=self.earlier,
            under_load=self.under_load,
        )


def _decoded(text: str, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except GeneError:
        raise
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _damaged(shown(error)) from error


def _damaged(what: str) -> GeneError:
    return GeneError(
        f"what the campaign was begun with is damaged: {what}",
        "do not use this file; begin a new campaign: foreread tune -o TUNING -- COMMAND",
    )
