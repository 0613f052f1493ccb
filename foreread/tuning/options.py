"""The options of a tuning, and whether they are the options of a stored tuning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.predict.proposal import Proposal
from foreread.analyzer.tuner.campaign.budget import shared
from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.campaign.feasibility import LARGEST_SHARE, MOST, ExcessLimits
from foreread.analyzer.tuner.campaign.weights import (
    weights_of,
    weights_text,
)
from foreread.analyzer.tuner.engines.stopping import Budget
from foreread.analyzer.tuner.space.catalogue import entries
from foreread.analyzer.tuner.space.genes import Allele
from foreread.analyzer.tuner.space.losses import worst_losses
from foreread.analyzer.tuner.store.records import Spec
from foreread.analyzer.tuner.store.store import Store
from foreread.boards.base.brief import brief
from foreread.boards.base.counted import plural
from foreread.boards.open import LOCAL
from foreread.error import ArgumentError
from foreread.tracer.formats.capture import NO_METADATA, Metadata
from foreread.tracer.formats.scenario import LEAST_WEIGHT, MOST_WEIGHT
from foreread.tracer.runs.options import RunOptions

START_UP = "start-up"
ALLOWED = ("durability", "wear", "memory")


@dataclass(frozen=True, repr=False)
class TuneOptions:
    """What is tuned, on which machine, and how it is searched.

    ``scenarios``: the load during the runs: idle, reader[:FILE], writer[:FOLDER], memory[:MIB].
    ``others``: targets like ``target``, over which ``fleet_tune`` spreads the runs. ``devices``
    name the disks that are tuned, by default the command's disk. ``recipe``: how to search:
    start-up, tpe, random, exhaustive, another recipe's name, or a recipe file. ``genes``: the
    values to try by setting, an empty list for the catalogue's; none for all usual settings.
    ``proposal``: the window predicted from a capture, and what was predicted with it: the search
    begins with it, and has it in force in every run if ``genes`` does not name the window;
    ``capture`` is what was recorded.
    ``earlier``: TUNING of a campaign on a like board, with which it begins, too. ``repeats``:
    fewest and most runs of a chromosome in each scenario of the search. ``budget``: the most runs,
    or seconds of runs, those that confirm the result included. ``limit_s``: maximum duration of one
    run.
    ``reset``: a command of this machine that restarts a target that was lost. ``allow``: some of
    ALLOWED. Without ``durability`` no value is tried with which a power cut loses more than with
    the one found, except of genes that ``genes`` names. ``most_written``, ``most_stalled``: how
    much more than the default a chromosome may write, and may make processes wait for memory, in
    parts of it; without limits if ``wear`` and ``memory`` are allowed. ``weights``: of scenarios
    that do not count once.
    """

    __repr__ = brief

    run: RunOptions
    scenarios: tuple[str, ...] = ("idle",)
    devices: tuple[str, ...] = ()
    target: str = LOCAL
    others: tuple[str, ...] = ()
    identity: StrPath | None = None
    recipe: str = START_UP
    genes: Mapping[str, Sequence[Allele]] = field(default_factory=dict)
    proposal: Proposal | None = None
    capture: Metadata = NO_METADATA
    earlier: StrPath | None = None
    repeats: tuple[int, int] = (1, 5)
    budget: Budget = field(default_factory=Budget)
    seed: int = 0
    limit_s: float = 600.0
    wait_s: float = 0.0
    reset: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    most_written: float = MOST
    most_stalled: float = MOST
    weights: Mapping[str, float] = field(default_factory=dict)

    @property
    def limits(self) -> ExcessLimits:
        """The limits of the campaign's constraints."""
        return ExcessLimits(
            wear=None if "wear" in self.allow else self.most_written,
            memory=None if "memory" in self.allow else self.most_stalled,
        )


def check_options(options: TuneOptions) -> None:
    """Raise ArgumentError for options that no machine could be tuned with."""
    fewest, most = options.repeats
    if not 1 <= fewest <= most:
        raise ArgumentError(
            f"repeats {options.repeats} are not a range", "give (fewest, most) of 1 or more"
        )
    if strange := [what for what in options.allow if what not in ALLOWED]:
        raise ArgumentError(
            f"{strange[0]!r} cannot be allowed", f"use some of: {', '.join(ALLOWED)}"
        )
    for share in (options.most_written, options.most_stalled):
        if not 0 <= share <= LARGEST_SHARE:
            raise ArgumentError(
                f"{share} is not a limit", "give the allowed excess as a part: 0.1 for 10 %"
            )
    _check_budget(options)
    _check_weights(options)
    names = {entry.name for entry in entries()}
    if unknown := [name for name in options.genes if name not in names]:
        raise ArgumentError(
            f"no setting to tune is called {unknown[0]!r}",
            f"use some of: {', '.join(sorted(names))}",
        )


def _check_budget(options: TuneOptions) -> None:
    scenarios, given = len(options.scenarios), options.budget.evaluations
    fewest = shared(options.budget, scenarios, genes=1).fewest
    if given is not None and given < fewest:
        raise ArgumentError(
            f"a budget of {plural(given, 'run')} is too small: in {plural(scenarios, 'scenario')} "
            f"a search with one confirmation takes {fewest}",
            f"give --budget {fewest} or more, or fewer scenarios",
        )


def _check_weights(options: TuneOptions) -> None:
    for scenario, weight in options.weights.items():
        if scenario not in options.scenarios:
            raise ArgumentError(
                f"the weight of {scenario!r} concerns no scenario of this tuning",
                f"weigh some of: {', '.join(options.scenarios)}",
            )
        if not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
            raise ArgumentError(
                f"{weight:g} is not a weight",
                f"give a number from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}",
            )


def check_resumed(options: TuneOptions, store: Store, tell: Callable[[str], None]) -> None:
    """Raise ArgumentError for options that differ from the options of the stored campaign."""
    _check_same(options, store.spec)
    _check_limits(options, store, tell)
    _check_durability(options, store)


def _check_same(options: TuneOptions, spec: Spec) -> None:
    """Raise ArgumentError for options that differ from the store's."""
    for what, given, stored in (
        (
            "the target",
            (options.target, *options.others),
            tuple(board.name for board in spec.boards),
        ),
        ("the scenario", options.scenarios, spec.scenarios),
        (
            "the weight of scenarios",
            weights_in_words(options),
            weights_text(weights_of(spec)) or "equal",
        ),
        ("the recipe or sampler", options.recipe, spec.sampler),
        ("the seed", options.seed, spec.seed),
        ("the number of repeats", options.repeats, (spec.fewest, spec.most)),
        ("the command", tuple(options.run.command), spec.command),
    ):
        if given != stored:
            raise ArgumentError(
                f"{what} was {_words(stored)} in the stored campaign, and is {_words(given)} now",
                "resume with the options that the tuning was begun with",
            )


def _check_limits(options: TuneOptions, store: Store, tell: Callable[[str], None]) -> None:
    """Raise ArgumentError for limits that differ from the store's."""
    stored = CampaignSetup.of(store.spec).limits
    if stored is None:
        tell(f"{store.name} was begun without limits of writes and memory: they are not checked")
    elif stored != options.limits:
        raise ArgumentError(
            f"{_limits_text(stored)} was allowed in the stored campaign, and "
            f"{_limits_text(options.limits)} is now",
            "resume with the options that the tuning was begun with",
        )


def _limits_text(limits: ExcessLimits) -> str:
    pairs = ((limits.wear, "sectors written"), (limits.memory, "waiting for memory"))
    return ", ".join(
        f"{'any' if share is None else f'{100 * share:g} %'} more {what}" for share, what in pairs
    )


def _check_durability(options: TuneOptions, store: Store) -> None:
    """Raise ArgumentError if a campaign tries less durable values that the options do not allow."""
    risked = risked_genes(options)
    for loss in worst_losses(CampaignSetup.of(store.spec).space):
        if loss.gene not in risked:
            raise ArgumentError(
                f"{store.name} tries values that lose data: {loss.sentence}",
                "to continue it anyway, repeat the command line with --allow durability",
            )


def risked_genes(options: TuneOptions) -> set[str]:
    """Return the genes that may get values less durable than the machine's."""
    everything = [entry.name for entry in entries()] if "durability" in options.allow else []
    return {*options.genes, *everything}


def weights_in_words(options: TuneOptions) -> str:
    """Return the weights of the scenarios in words."""
    given = {scenario: options.weights.get(scenario, 1.0) for scenario in options.scenarios}
    return weights_text(given) or "equal"


def _words(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
