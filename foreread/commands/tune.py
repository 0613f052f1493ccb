"""``foreread tune``: genetic tuning of what cannot be predicted, measured on the board."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from analyzer.ingest.load import load
from analyzer.tuner.campaign import Campaign, CampaignError, Rules
from analyzer.tuner.catalogue import entries, knobs, space_of, usual_names
from analyzer.tuner.confirming import Confirmation
from analyzer.tuner.document import document
from analyzer.tuner.genes import Allele, Space
from analyzer.tuner.ground import Ground
from analyzer.tuner.quiet import patiently
from analyzer.tuner.recipe import Genetic, load_recipe, recipe_names
from analyzer.tuner.records import Board, BoardDisk, Hardware, Spec
from analyzer.tuner.results import Results
from analyzer.tuner.stopping import Budget
from analyzer.tuner.store import Store
from analyzer.tuner.store_file import StoreError
from boards.open import open_target
from boards.target import LocalTarget
from foreread.arguments import UsageError, duration
from foreread.commands.predict import add_model, predicted
from foreread.run_arguments import add_run, run_options
from foreread.target_arguments import add_target, tell
from foreread.tuning import TrialEvaluator
from foreread.tuning_text import ProgressLine, outcome_text
from foreread.version import VERSION
from tracer.interrupts import Interrupted, orderly_exit
from tracer.local_trials import local_trials
from tracer.remote.trials import trials_on
from tracer.trial import OpenTrials, Scenario, TrialBench, TrialOptions

SAMPLERS = ("tpe", "random", "exhaustive")
START_UP = "start-up"
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_MOST_REPEATS = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-o", "--output", metavar="TUNING", type=Path, required=True, help="file to make"
    )
    add_target(parser)
    parser.add_argument(
        "--scenario",
        action="append",
        default=[],
        metavar="S",
        help="what the machine does meanwhile: idle (the default), reader[:FILE], "
        "writer[:FOLDER], memory[:MIB]; may be given again, and all count alike",
    )
    _add_search(parser)
    parser.add_argument(
        "--device",
        action="append",
        default=[],
        metavar="NAME",
        help="disk that is tuned; may be given again (default: the disk that holds the command)",
    )
    add_run(parser)


def _add_search(parser: argparse.ArgumentParser) -> None:
    search = parser.add_argument_group("how it searches")
    which = search.add_mutually_exclusive_group()
    names = [name for name in recipe_names() if name not in SAMPLERS]
    which.add_argument(
        "--recipe",
        metavar="R",
        default=START_UP,
        help=f"{', '.join(names)}, or a file like these (default: {START_UP})",
    )
    which.add_argument("--sampler", choices=SAMPLERS, help="no genetic algorithm, to compare with")
    search.add_argument(
        "--genes",
        metavar="LIST",
        type=_genes,
        default={},
        help="what is tuned: NAME,… with alleles of your own as NAME=A:B:… (default: all that "
        "the machine has)",
    )
    search.add_argument(
        "--capture",
        metavar="CAPTURE",
        type=Path,
        help="a recording of the same start: its predicted windows are where the search begins",
    )
    add_model(parser)
    search.add_argument(
        "--repeats",
        metavar="MIN:MAX",
        type=_repeats,
        default=(1, 5),
        help="runs of a chromosome in each scenario: of one that loses, of one close to the best "
        "(1:5)",
    )
    search.add_argument(
        "--budget",
        metavar="N|TIME",
        type=_budget,
        default=Budget(),
        help="end the search after so many runs (200) or so long (90s, 30m, 2h, 1d), at the "
        "latest; what confirms its best comes after it",
    )
    search.add_argument("--seed", type=int, default=0, metavar="N", help="of what is random (0)")
    search.add_argument(
        "--limit", type=duration, default=600.0, metavar="S", help="a run may take so long (600)"
    )
    search.add_argument(
        "--reset",
        metavar="COMMAND",
        type=_reset,
        default=[],
        help="run here after a trial in which the target was lost or hung, to restart it: what "
        "switches its power off and on, for instance",
    )
    search.add_argument(
        "--resume",
        action="store_true",
        help="go on with TUNING: give the same command line again, and this",
    )


def _genes(text: str) -> dict[str, list[Allele]]:
    """Return the alleles asked for by gene; an empty list stands for the catalogue's."""
    known = {entry.name: entry.kind for entry in entries()}
    found: dict[str, list[Allele]] = {}
    for item in text.split(","):
        name, given, alleles = item.strip().partition("=")
        if name not in known:
            raise argparse.ArgumentTypeError(f"no gene {name!r}: choose among {', '.join(known)}")
        words = alleles.split(":") if given else []
        numbers = known[name] != "categorical"
        if not all(re.fullmatch(r"\d{1,15}" if numbers else r"[\w.+-]+", word) for word in words):
            raise argparse.ArgumentTypeError(f"{item!r}: say {name}=A:B:…")
        found[name] = [int(word) if numbers else word for word in words]
    return found


def _repeats(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,4}):(\d{1,4})", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]) <= _MOST_REPEATS:
        raise argparse.ArgumentTypeError(f"{text!r}: say MIN:MAX, from 1 to {_MOST_REPEATS}")
    return int(match[1]), int(match[2])


def _budget(text: str) -> Budget:
    match = re.fullmatch(r"(\d{1,9})([smhd]?)", text)
    if not match or not int(match[1]):
        raise argparse.ArgumentTypeError(f"{text!r}: say a number of runs, or a time like 2h")
    if match[2]:
        return Budget(seconds=float(int(match[1]) * _SECONDS[match[2]]))
    return Budget(evaluations=int(match[1]))


def _reset(text: str) -> list[str]:
    words = shlex.split(text)
    if not words or shutil.which(words[0]) is None:
        raise argparse.ArgumentTypeError(f"{text!r}: there is no such program here")
    return words


def run(args: argparse.Namespace) -> int:
    """Search, confirm what was found, and say what it is."""
    args.scenario = list(dict.fromkeys(args.scenario)) or ["idle"]
    scenarios = {text: Scenario.parse(text) for text in args.scenario}
    options = TrialOptions(
        run=run_options(args),
        devices=tuple(args.device),
        wait_s=args.wait,
        limit_s=args.limit,
    )
    if not args.resume and args.output.exists():
        raise StoreError(
            f"{args.output} exists already", "give another name, or go on with --resume"
        )
    open_bench = partial(_bench, args.target, options)
    with orderly_exit(), TrialEvaluator(open_bench, args.reset) as evaluator:
        evaluator.scenarios = scenarios
        with _store(args, evaluator) as store:
            evaluator.space = Ground.of(store.spec).space
            _tune(args, store, evaluator)
            results = Results.of(store)
            print(json.dumps(document(results)) if args.json else outcome_text(results))
    return 0


@contextmanager
def _bench(target: str, options: TrialOptions) -> Iterator[TrialBench]:
    with open_target(target, tell=tell) as opened:
        here = isinstance(opened, LocalTarget)
        open_trials: OpenTrials = local_trials if here else partial(trials_on, opened)
        with open_trials(options) as bench:
            yield bench


def _store(args: argparse.Namespace, evaluator: TrialEvaluator) -> Store:
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
    ground = _ground(args, bench)
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
    """Return what a machine says of itself; nothing where that is no text."""
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
            raise UsageError(f"--resume: {what} was {_said(stored)}, not {_said(given)}")


def _said(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _ground(args: argparse.Namespace, bench: TrialBench) -> Ground:
    names = list(args.genes) or usual_names()
    levels = {name: alleles for name, alleles in args.genes.items() if alleles}
    probe = bench.probe(knobs(bench.disks, names, bench.mounted))
    space = space_of(probe, bench.disks, names, levels, bench.windows, bench.mounted)
    _check_genes(args, space)
    recipe = load_recipe(args.sampler or args.recipe)
    if isinstance(recipe, Genetic) and recipe.fingerprints:
        tell(
            f"{args.recipe} brings nothing back here: all generations are of one workload, every "
            "scenario's together"
        )
    return Ground(recipe, space, _predicted(args))


def _check_genes(args: argparse.Namespace, space: Space) -> None:
    for gene, why in space.left_out.items():
        if gene in args.genes:
            tell(f"gene {gene} is left out: {why}")
    if not space.genes:
        raise UsageError("--genes: the machine has none of them")


def _predicted(args: argparse.Namespace) -> dict[int, float]:
    """Return the predicted seconds by read_ahead_kb; nothing without a capture."""
    if args.capture is None:
        if args.model is not None or args.device_model is not None:
            raise UsageError("--model and --device-model are for --capture")
        return {}
    total = predicted(load(args.capture, "tree"), args).total
    seconds = total.seconds or [None] * len(total.windows)
    known = zip(total.read_ahead_kb, seconds, strict=True)
    found = {window: second for window, second in known if second is not None}
    if not found:
        tell("the capture tells no seconds: the search begins without a predicted window")
    return found


def _tune(args: argparse.Namespace, store: Store, evaluator: TrialEvaluator) -> None:
    """Search and confirm; what interrupts that is said together with how to go on."""
    line = ProgressLine(sys.stderr)
    rules = Rules(budget=args.budget)

    def search() -> None:
        engine = Ground.of(store.spec).engine(store.spec.seed)
        Campaign(store, engine, evaluator, rules, line.searching).run()

    def confirm() -> None:
        Confirmation(store, evaluator, rules, line.confirming).run()

    try:
        for resume in (search, confirm):
            patiently(resume, store.good_attempts, tell)
    except (KeyboardInterrupt, Interrupted, CampaignError):
        line.end()
        again = "go on with the same command line and --resume"
        tell(f"{args.output} holds {store.last_number()} runs; {again}")
        raise
    line.end()
