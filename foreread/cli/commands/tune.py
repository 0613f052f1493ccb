"""``foreread tune``: genetic tuning of what cannot be predicted, measured on the board."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from analyzer.ingest.load import load
from analyzer.tuner.campaign.attempts import CampaignError
from analyzer.tuner.campaign.campaign import Campaign, Rules
from analyzer.tuner.campaign.campaign_setup import CampaignSetup
from analyzer.tuner.campaign.quiet import patiently
from analyzer.tuner.engines.recipe import Genetic, Recipe, load_recipe
from analyzer.tuner.findings.confirming import Confirmation
from analyzer.tuner.findings.document import document
from analyzer.tuner.findings.results import Results
from analyzer.tuner.space.catalogue import knobs, space_of, usual_names
from analyzer.tuner.space.genes import Space
from analyzer.tuner.store.records import Board, BoardDisk, Hardware, Spec
from analyzer.tuner.store.store import Store
from analyzer.tuner.store.store_file import StoreError
from boards.counted import plural
from boards.open import open_target
from boards.target import LocalTarget
from foreread.cli.arguments import UsageError
from foreread.cli.arguments.run import add_run, run_options
from foreread.cli.arguments.target import add_target, tell
from foreread.cli.arguments.tune import add_search
from foreread.cli.commands.predict import predicted
from foreread.cli.main import printable
from foreread.cli.text.tuning import TuningLine, outcome_text
from foreread.tuning import TrialEvaluator
from foreread.version import VERSION
from tracer.interrupts import Interrupted, orderly_exit
from tracer.local.trial import OpenTrials, Scenario, TrialBench, TrialOptions
from tracer.local.trials import local_trials
from tracer.remote.trials import trials_on


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-o", "--output", metavar="TUNING", type=Path, required=True, help="file to create"
    )
    add_target(parser)
    parser.add_argument(
        "--scenario",
        action="append",
        default=[],
        metavar="S",
        help="load during the runs: idle (default), reader[:FILE], writer[:FOLDER] or "
        "memory[:MIB]; repeatable, all scenarios have equal weight",
    )
    add_search(parser)
    parser.add_argument(
        "--device",
        action="append",
        default=[],
        metavar="NAME",
        help="disk to tune; repeatable (default: the disk that holds the command)",
    )
    add_run(parser, own_stdout=True)


def run(args: argparse.Namespace) -> int:
    """Search, confirm what was found, and say what it is."""
    args.scenario = list(dict.fromkeys(args.scenario)) or ["idle"]
    recipe = _recipe(args)
    scenarios = {text: Scenario.parse(text) for text in args.scenario}
    options = TrialOptions(
        run=run_options(args),
        devices=tuple(args.device),
        wait_s=args.wait,
        limit_s=args.limit,
        bios=isinstance(recipe, Genetic) and recipe.fingerprints is not None,
    )
    open_bench = partial(_bench, args, options)
    with orderly_exit(), TrialEvaluator(open_bench, args.reset) as evaluator:
        evaluator.scenarios = scenarios
        with _store(args, recipe, evaluator) as store:
            evaluator.space = CampaignSetup.of(store.spec).space
            _tune(args, store, evaluator)
            results = Results.of(store)
            print(json.dumps(document(results)) if args.json else outcome_text(results))
    return 0


def _recipe(args: argparse.Namespace) -> Recipe:
    """Return the recipe asked for; that of a campaign that is resumed is in its store."""
    if args.resume:
        with Store.read(args.output) as store:
            return CampaignSetup.of(store.spec).recipe
    if args.output.exists():
        raise StoreError(
            f"{args.output} exists already",
            "give another name with -o, or continue it with --resume",
        )
    return load_recipe(args.sampler or args.recipe)


@contextmanager
def _bench(args: argparse.Namespace, options: TrialOptions) -> Iterator[TrialBench]:
    with open_target(args.target, identity=args.identity, tell=tell) as opened:
        here = isinstance(opened, LocalTarget) and not options.bios
        open_trials: OpenTrials = local_trials if here else partial(trials_on, opened)
        with open_trials(options) as bench:
            yield bench


def _store(args: argparse.Namespace, recipe: Recipe, evaluator: TrialEvaluator) -> Store:
    """Return the store, made or opened; a resumed one is of the same command line and board."""
    if args.resume:
        store = Store.resume(args.output)
        try:
            _check_same(args, store.spec)
            store.check_board(_board(args, evaluator.bench))
        except BaseException:
            store.close()
            raise
        return store
    bench = evaluator.bench
    for note in bench.notes:
        tell(note)
    if isinstance(recipe, Genetic) and recipe.turns and len(args.scenario) == 1:
        tell(f"recipe {args.recipe} expects several scenarios: add another --scenario")
    ground = CampaignSetup(recipe, _space(args, bench), _predicted(args))
    spec = Spec(
        board=_board(args, bench),
        scenarios=tuple(args.scenario),
        default=ground.space.default(),
        sampler=args.sampler or args.recipe,
        recipe=ground.recipe_text,
        space=ground.space_text,
        seed=args.seed,
        command=tuple(args.command_line),
        fewest=args.repeats[0],
        most=args.repeats[1],
        foreread=VERSION,
    )
    return Store.create(args.output, spec)


def _board(args: argparse.Namespace, bench: TrialBench) -> Board:
    disks = [BoardDisk(disk.name, disk.size_bytes, _known(disk.model)) for disk in bench.known]
    hardware = Hardware(_known(bench.machine), _known(bench.model), tuple(disks))
    return Board(args.target, bench.kernel, bench.page_bytes, tuple(bench.disks), hardware)


def _known(text: str) -> str:
    """Return what a machine says of itself; nothing where that is not text."""
    return text if text.isprintable() else ""


def _check_same(args: argparse.Namespace, spec: Spec) -> None:
    """Raise UsageError where the command line is not that of the store."""
    for what, given, stored in (
        ("--target", args.target, spec.board.name),
        ("--scenario", tuple(args.scenario), spec.scenarios),
        ("--recipe or --sampler", args.sampler or args.recipe, spec.sampler),
        ("--seed", args.seed, spec.seed),
        ("--repeats", args.repeats, (spec.fewest, spec.most)),
        ("the command", tuple(args.command_line), spec.command),
    ):
        if given != stored:
            raise UsageError(
                f"--resume: {what} was {_said(stored)} in the stored campaign, and is "
                f"{_said(given)} now"
            )


def _said(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _space(args: argparse.Namespace, bench: TrialBench) -> Space:
    names = list(args.genes) or usual_names()
    levels = {name: alleles for name, alleles in args.genes.items() if alleles}
    probe = bench.probe(knobs(bench.disks, names, bench.mounted))
    space = space_of(probe, bench.disks, names, levels, bench.windows, bench.mounted)
    for gene, why in space.left_out.items():
        if gene in args.genes:
            tell(f"gene {gene} is not tuned: {why}")
    if not space.genes:
        raise UsageError("--genes: the machine has none of these settings; see `foreread doctor`")
    return space


def _predicted(args: argparse.Namespace) -> dict[int, float]:
    """Return the predicted seconds by read_ahead_kb; nothing without a capture."""
    if args.capture is None:
        if args.model is not None or args.device_model is not None:
            raise UsageError("--model and --device-model need --capture CAPTURE")
        return {}
    recording = load(args.capture, "tree")
    if recording.capture and recording.capture.command != args.command_line:
        of = printable(shlex.join(recording.capture.command))
        tell(
            f"{args.capture} was recorded with another command, which may need another window: {of}"
        )
    total = predicted(recording, args).total
    seconds = total.seconds or [None] * len(total.windows)
    known = zip(total.read_ahead_kb, seconds, strict=True)
    found = {window: second for window, second in known if second is not None}
    if not found:
        tell(
            "no seconds can be predicted from the capture: the search begins without a predicted "
            "window"
        )
    return found


def _tune(args: argparse.Namespace, store: Store, evaluator: TrialEvaluator) -> None:
    """Search and confirm; what interrupts that is said together with how to go on."""
    line = TuningLine(sys.stderr)
    rules = Rules(budget=args.budget)

    def search() -> None:
        ground = CampaignSetup.of(store.spec)
        engine = ground.engine(store.spec.seed, store.spec.board.page_bytes)
        Campaign(store, engine, evaluator, rules, line.searching, ground.turns).run()

    def confirm() -> None:
        for contest in Results.of(store).contests:
            Confirmation(store, evaluator, rules, line.confirming, contest).run()

    try:
        for resume in (search, confirm):
            patiently(resume, store.good_attempts, tell)
    except (KeyboardInterrupt, Interrupted, CampaignError):
        line.end()
        again = "to continue, repeat the command line and add --resume"
        tell(f"{args.output} holds {plural(store.last_number(), 'run')}; {again}")
        raise
    line.end()
