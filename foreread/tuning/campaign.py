"""Tunes a machine's settings for a command: searches by measured runs, and confirms what it found.

A store holds every run, so that a tuning that was interrupted is continued from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.predict.criterion import SECONDS
from foreread.analyzer.tuner.campaign.attempts import CampaignError
from foreread.analyzer.tuner.campaign.budget import confirming_runs, shared
from foreread.analyzer.tuner.campaign.campaign import Campaign, Rules
from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.campaign.progress import CampaignProgress
from foreread.analyzer.tuner.campaign.quiet import patiently
from foreread.analyzer.tuner.engine import Engine
from foreread.analyzer.tuner.engines.earlier import Earlier
from foreread.analyzer.tuner.engines.recipe import Genetic, Recipe, load_recipe
from foreread.analyzer.tuner.engines.stopping import Budget, expected_runs
from foreread.analyzer.tuner.findings.confirming import Confirming, ConfirmingRuns
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.space.catalogue import knobs, space_of, usual_names
from foreread.analyzer.tuner.space.genes import Space
from foreread.analyzer.tuner.space.losses import worst_losses
from foreread.analyzer.tuner.store.records import Board, BoardDisk, Hardware, Spec
from foreread.analyzer.tuner.store.store import Store
from foreread.benches.opened import open_bench
from foreread.boards.base.counted import plural
from foreread.boards.base.interrupts import Interrupted, orderly_exit
from foreread.boards.base.outputs import check_changed, check_new
from foreread.boards.base.silent import silent
from foreread.checks import Command, checked_path, checked_run, key_of
from foreread.error import ArgumentError
from foreread.tracer.trials.trial import Scenario, TrialBench, TrialOptions
from foreread.tuning.earlier import (
    check_genes,
    check_recorded,
    earlier_campaign,
    proposed_genes,
    with_alleles,
    with_predicted,
)
from foreread.tuning.evaluator import TrialEvaluator
from foreread.tuning.options import TuneOptions, check_options, check_resumed, risked_genes
from foreread.version import VERSION


def tune(
    options: TuneOptions | Command,
    output: StrPath,
    *,
    resume: bool = False,
    tell: Callable[[str], None] = silent,
    searching: Callable[[CampaignProgress], None] = silent,
    confirming: Callable[[Confirming], None] = silent,
) -> Results:
    """Search for the settings that start a command fastest, confirm them, and return the results.

    Every run is cold, and the settings are restored after each. Needs root on the tuned machine.

    Args:
        options: the words of the command, or TuneOptions.
        output: file to create, which holds every run; read it with :func:`foreread.read_tuning`.
        resume: continue the tuning in ``output``; ``options`` are those that it was begun with.
        tell: is called with each step, in words.
        searching: is called after each run of the search.
        confirming: is called after each run of the confirmation.

    Raises:
        ArgumentError: arguments that make no sense, or differ from a resumed tuning's.
        boards.base.outputs.OutputError: nothing can be written to ``output``, or it exists already.
        analyzer.tuner.store.store_file.StoreError: ``output`` cannot be created or continued, or
            ``options.earlier`` cannot be read.
        analyzer.tuner.campaign.attempts.CampaignError: the command cannot be measured.
    """
    if not isinstance(options, TuneOptions):
        options = TuneOptions(checked_run(options))
    check_options(options)
    file = checked_path(output, "output")
    scenarios = {text: Scenario.parse(text) for text in options.scenarios}
    recipe = recipe_of(options, file, resume)
    trials = trials_of(options, recipe)
    opening = partial(open_bench, options.target, key_of(options.identity), trials, tell)
    earlier = None if resume else earlier_campaign(options, tell)
    with orderly_exit(), TrialEvaluator(opening, options.reset, tell) as evaluator:
        evaluator.scenarios = scenarios
        if resume:
            store = resumed(options, file, tell)
        else:
            store = _created(recipe, earlier, tell, options, file, evaluator)
        with store:
            if resume:
                store.check_board(board_of(options, evaluator.bench))
            evaluator.space = CampaignSetup.of(store.spec).space
            rules = rules_of(store.spec, options.budget)
            run_stages(
                store,
                options.budget,
                lambda engine, turns: Campaign(
                    store, engine, evaluator, rules, searching, turns, tell
                ),
                lambda contest: ConfirmingRuns(store, evaluator, rules, confirming, contest),
                tell,
            )
            return Results.of(store)


def trials_of(options: TuneOptions, recipe: Recipe) -> TrialOptions:
    """Return the options of every trial."""
    return TrialOptions(
        run=options.run,
        devices=options.devices,
        wait_s=options.wait_s,
        limit_s=options.limit_s,
        bios=isinstance(recipe, Genetic) and recipe.fingerprints is not None,
    )


def recipe_of(options: TuneOptions, output: Path, resume: bool) -> Recipe:
    """Return the recipe in the options, or in the store of a resumed campaign."""
    check_output(output, resume)
    if resume:
        with Store.read(output) as store:
            return CampaignSetup.of(store.spec).recipe
    return load_recipe(options.recipe)


def check_output(output: Path, resume: bool) -> None:
    """Raise OutputError if a campaign cannot be created at ``output``, or continued there."""
    if resume:
        check_changed(output, opened=True)
    else:
        check_new(output, instead="continue it with --resume")


def resumed(options: TuneOptions, output: Path, tell: Callable[[str], None]) -> Store:
    """Return the store of a campaign that was begun with the same options."""
    store = Store.resume(output)
    try:
        check_resumed(options, store, tell)
    except BaseException:
        store.close()
        raise
    return store


def _created(
    recipe: Recipe,
    earlier: Earlier | None,
    tell: Callable[[str], None],
    options: TuneOptions,
    output: Path,
    evaluator: TrialEvaluator,
) -> Store:
    bench = evaluator.bench
    for note in bench.notes:
        tell(note)
    space = space_on(options, bench, tell)
    spec = spec_of(options, recipe, earlier, [board_of(options, bench)], space, tell)
    return Store.create(output, spec)


def spec_of(
    options: TuneOptions,
    recipe: Recipe,
    earlier: Earlier | None,
    boards: Sequence[Board],
    space: Space,
    tell: Callable[[str], None],
) -> Spec:
    """Return the spec of a new campaign on these boards."""
    if isinstance(recipe, Genetic) and recipe.turns and len(options.scenarios) == 1:
        tell(f"recipe {options.recipe} expects several scenarios: add another --scenario")
    if isinstance(recipe, Genetic) and recipe.turns and options.weights:
        raise ArgumentError(
            f"recipe {options.recipe} tunes each scenario by itself: weights have no effect",
            "leave out --weigh, or choose another --recipe",
        )
    if earlier is not None:
        check_genes(earlier, space, tell)
    proposal = proposed_genes(options, space, tell)
    by_seconds = options.proposal is not None and options.proposal.criterion == SECONDS
    predicted = options.proposal.seconds if options.proposal and by_seconds else {}
    under_load = options.proposal.under_load if options.proposal and by_seconds else {}
    setup = CampaignSetup(
        recipe, space, predicted, options.limits, earlier, proposal, options.weights, under_load
    )
    board, *others = boards
    return Spec(
        board=board,
        scenarios=options.scenarios,
        default=setup.space.default(),
        sampler=options.recipe,
        recipe=setup.recipe_text,
        space=setup.space_text,
        seed=options.seed,
        command=tuple(options.run.command),
        fewest=options.repeats[0],
        most=options.repeats[1],
        foreread=VERSION,
        others=tuple(others),
    )


def board_of(options: TuneOptions, bench: TrialBench) -> Board:
    """Return the description of a board for a store."""
    disks = [BoardDisk(disk.name, disk.size_bytes, _known(disk.model)) for disk in bench.known]
    hardware = Hardware(_known(bench.machine), _known(bench.model), tuple(disks))
    return Board(options.target, bench.kernel, bench.page_bytes, tuple(bench.disks), hardware)


def _known(text: str) -> str:
    """Return a machine's description of itself; empty if it is not text."""
    return text if text.isprintable() else ""


def space_on(options: TuneOptions, bench: TrialBench, tell: Callable[[str], None]) -> Space:
    """Return the genes that the board has of those asked for; ArgumentError if there are none."""
    check_recorded(options, bench, tell)
    names = with_predicted(list(options.genes) or usual_names(), options.proposal)
    levels = {name: list(alleles) for name, alleles in options.genes.items() if alleles}
    probe = bench.probe(knobs(bench.disks, names, bench.mounted))
    space = space_of(
        probe, bench.disks, names, levels, bench.windows, bench.mounted, risked_genes(options)
    )
    for gene, why in space.left_out.items():
        if gene in options.genes:
            tell(f"gene {gene} is not tuned: {why}")
    for loss in worst_losses(space):
        tell(f"the runs may lose data: {loss.sentence}")
    if not space.genes:
        raise ArgumentError(
            "the machine has none of the settings to tune",
            "see `foreread doctor`, or choose others with --genes",
        )
    return with_alleles(space, options.proposal)


def _expected_text(spec: Spec, budget: Budget) -> str:
    """Return how many runs a search takes, as far as that is known beforehand."""
    genes, scenarios = len(CampaignSetup.of(spec).space.genes), len(spec.scenarios)
    part = shared(budget, scenarios, genes)
    about = expected_runs(genes, scenarios)
    text = (
        f"{plural(genes, 'gene')} in {plural(scenarios, 'scenario')}: a search without a budget "
        f"takes about {plural(about, 'run')} or more, and its confirmation up to {part.confirming}"
    )
    if part.search.evaluations is not None and part.search.evaluations < about:
        text += f"; this one has {part.search.evaluations}, and may end before it has converged"
    return text


def rules_of(spec: Spec, budget: Budget) -> Rules:
    """Return the rules of a search, which has the part of the budget that no confirmation needs."""
    genes = len(CampaignSetup.of(spec).space.genes)
    return Rules(budget=shared(budget, len(spec.scenarios), genes).search)


def run_stages(
    store: Store,
    budget: Budget,
    campaign: Callable[[Engine, int], Campaign],
    confirmation: Callable[[Results], ConfirmingRuns],
    tell: Callable[[str], None],
) -> None:
    """Search, and confirm each contest; an interruption is said with the command to continue.

    ``campaign`` returns the search of an engine and the turns of its recipe, ``confirmation`` the
    runs that confirm a contest.
    """

    def search_all() -> None:
        setup = CampaignSetup.of(store.spec)
        engine = setup.engine(store.spec.seed, store.spec.board.page_bytes)
        campaign(engine, setup.turns).run()

    def confirm_all() -> None:
        evaluations = store.evaluations(), store.evaluations(stage="confirmation")
        store.allow(confirming_runs(budget, *evaluations))
        for contest in Results.of(store).contests:
            confirmation(contest).run()

    tell(_expected_text(store.spec, budget))
    try:
        for stage in (search_all, confirm_all):
            patiently(stage, store.good_attempts, tell)
    except (KeyboardInterrupt, Interrupted, CampaignError):
        again = "to continue, repeat the command line and add --resume"
        tell(f"{store.name} holds {plural(store.last_number(), 'run')}; {again}")
        raise
