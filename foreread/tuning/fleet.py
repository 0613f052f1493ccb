"""Tunes several like boards at once: the runs of one campaign are spread over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.tuner.campaign.attempts import Due
from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.campaign.fleet_campaign import FleetCampaign
from foreread.analyzer.tuner.campaign.progress import CampaignProgress
from foreread.analyzer.tuner.findings.confirming import Confirming
from foreread.analyzer.tuner.findings.fleet_confirming import FleetConfirmingRuns
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.space.genes import Space
from foreread.analyzer.tuner.store.records import Evaluation
from foreread.analyzer.tuner.store.store import Store
from foreread.benches.boards import BoardsAtWork, check_targets, first_difference
from foreread.benches.opened import open_bench
from foreread.boards.base.interrupts import orderly_exit
from foreread.boards.base.silent import silent
from foreread.checks import checked_path
from foreread.error import ArgumentError
from foreread.tracer.trials.trial import Scenario, TrialOptions
from foreread.tuning.board import TunedBoard, TuneTask
from foreread.tuning.campaign import (
    recipe_of,
    resumed,
    rules_of,
    run_stages,
    spec_of,
    trials_of,
)
from foreread.tuning.earlier import earlier_campaign
from foreread.tuning.options import TuneOptions, check_options

Boards = BoardsAtWork[TunedBoard, Due, Evaluation]


def fleet_tune(
    options: TuneOptions,
    output: StrPath,
    *,
    resume: bool = False,
    tell: Callable[[str], None] = silent,
    searching: Callable[[CampaignProgress], None] = silent,
    confirming: Callable[[Confirming], None] = silent,
) -> Results:
    """Search for the best settings on several like boards at the same time, and confirm them.

    As :func:`foreread.tune`, on ``options.target`` and ``options.others``. Each board makes one run
    at a time; a board that is lost is set aside, and its runs go to the others. How much slower a
    board is than the others is estimated, and taken off its runs. A time limit of the budget counts
    the time of the fleet. ``options.reset`` gets the board's target as its last word.

    Args:
        options: the settings to tune, and the targets.
        output: file to create, which holds every run.
        resume: continue the tuning in ``output``; boards that are gone are left out.
        tell: is called with each step, in words.
        searching: is called after each run of the search.
        confirming: is called after each run of the confirmation.

    Raises:
        ArgumentError: arguments that make no sense, or boards that are not alike.
        boards.base.outputs.OutputError: nothing can be written to ``output``, or it exists already.
        analyzer.tuner.store.store_file.StoreError: ``output`` cannot be created or continued.
        analyzer.tuner.campaign.attempts.CampaignError: the command cannot be measured.
        tracer.error.RecordError: a board cannot be opened.
    """
    check_options(options)
    check_targets([options.target, *options.others], "foreread tune")
    file = checked_path(output, "output")
    recipe = recipe_of(options, file, resume)
    earlier = None if resume else earlier_campaign(options, tell)
    trials = trials_of(options, recipe)
    with orderly_exit(), Boards(_tasks(options, trials), tell) as boards:
        space = _space_of_all(boards, resume, tell)
        if resume:
            store = resumed(options, file, tell)
        else:
            all_boards = [boards.opened[place].board for place in sorted(boards.opened)]
            spec = spec_of(options, recipe, earlier, all_boards, space, tell)
            store = Store.create(file, spec)
        with store:
            if resume:
                opened = [boards.opened.get(place) for place in range(len(boards.names))]
                store.check_boards([board.board if board else None for board in opened])
            boards.send_all(CampaignSetup.of(store.spec).space)
            rules = rules_of(store.spec, options.budget)
            run_stages(
                store,
                options.budget,
                lambda engine, turns: FleetCampaign(
                    store, engine, boards, rules, searching, turns, tell
                ),
                lambda contest: FleetConfirmingRuns(store, boards, confirming, contest, tell),
                tell,
            )
            return Results.of(store)


def _tasks(options: TuneOptions, trials: TrialOptions) -> list[TuneTask]:
    """Return the task of each board."""
    scenarios = {text: Scenario.parse(text) for text in options.scenarios}
    tasks = []
    for target in (options.target, *options.others):
        reset = (*options.reset, target) if options.reset else ()
        own = replace(options, target=target, others=(), reset=reset)
        tasks.append(TuneTask(own, trials, scenarios, open_bench))
    return tasks


def _space_of_all(boards: Boards, resume: bool, tell: Callable[[str], None]) -> Space:
    """Return the genes that all boards have; raise if boards cannot be opened, or are not alike.

    A campaign that is resumed goes on with the boards that can be opened.
    """
    boards.leave_out_failed(resume)
    first = boards.opened[min(boards.opened)]
    for other in boards.opened.values():
        for note in other.notes:
            tell(f"{other.board.name}: {note}")
        if what := _difference(first, other):
            raise ArgumentError(
                f"{other.board.name} is not like {first.board.name}: {what}",
                "tune it by itself, from this campaign: foreread tune --from TUNING",
            )
    return first.space


def _difference(first: TunedBoard, other: TunedBoard) -> str:
    """Return in what two boards differ so that their runs are not of the same campaign."""
    properties = {
        "kernel": (first.board.kernel, other.board.kernel),
        "page size": (first.board.page_bytes, other.board.page_bytes),
        "machine": (first.board.hardware.machine, other.board.hardware.machine),
        "number of disks": (len(first.board.disks), len(other.board.disks)),
        "settings": (", ".join(first.space.names), ", ".join(other.space.names)),
    }
    if difference := first_difference(properties):
        return difference
    for gene in first.space.genes:
        twin = other.space.gene(gene.name)
        if (gene.default, list(gene.alleles)) != (twin.default, list(twin.alleles)):
            return f"{gene.name} is {twin.default} there, not {gene.default}, or has other values"
    return ""
