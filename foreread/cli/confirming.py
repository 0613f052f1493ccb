"""The comparison that ``confirm`` measures: its options, and how its results are printed."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from foreread.analyzer.tuner.engines.stopping import Budget
from foreread.boards.base.outputs import check_changed
from foreread.boards.base.units import size_word
from foreread.cli.arguments import UsageError, row_number
from foreread.cli.arguments.budget import parse_budget
from foreread.cli.arguments.memory import add_memory
from foreread.cli.arguments.model import add_criterion, add_image, add_model, question_of
from foreread.cli.arguments.output import add_check
from foreread.cli.arguments.run import add_limit, add_wait
from foreread.cli.arguments.scenario import add_scenario, scenarios_of
from foreread.cli.arguments.windows import window_kb
from foreread.cli.text.confirming import confirmed_text
from foreread.documents.confirm import results_json
from foreread.measuring.advice_row import Advised, row_of_advice
from foreread.measuring.confirm import Confirmed
from foreread.measuring.options import MOST_RUNS, ConfirmOptions
from foreread.tracer.formats.scenario import IDLE

_REPEATED = (
    *("identity", "read_ahead_kb", "advice", "row", "replayer", "shim", "model", "device_model"),
    *("image", "mountpoint", "unpacking"),
)


def add_comparison(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments but the capture and its target."""
    add_check(parser, "capture", lambda args: check_changed(args.capture))  # it gets the result
    add_model(parser)
    add_image(parser)
    add_criterion(parser)
    parser.add_argument(
        "--read-ahead-kb",
        type=window_kb,
        metavar="K",
        help="test this window instead of the proposed one",
    )
    parser.add_argument(
        "--advice",
        metavar="FILE",
        type=Path,
        help="test a row of this table instead: advice.json of foreread advise -o, or its folder",
    )
    parser.add_argument(
        "--row",
        type=row_number,
        metavar="N",
        help="number of the row (default: 1, the best)",
    )
    parser.add_argument(
        "--replayer",
        metavar="PROGRAM",
        type=Path,
        help="program that replays a list: foreread-prefetch built for the target (default: a "
        "shell script, which starts dd for each range)",
    )
    parser.add_argument(
        "--shim",
        metavar="LIBRARY",
        type=Path,
        help="library that gives advice for single files: foreread-advice.c of foreread advise -o, "
        "built for the target",
    )
    add_scenario(parser, "; repeatable, each is measured by itself")
    add_memory(parser, "make the runs")
    parser.add_argument(
        "--budget",
        metavar="N|TIME",
        type=parse_budget,
        default=Budget(),
        help=f"end undecided after N runs (default: {MOST_RUNS}), or after a time: 90s, 30m, 2h",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="continue the latest undecided result of these boards and windows",
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="random seed of the order of runs (default: random)"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="run even if machine, kernel, CPU or disks differ from the capture's, or --memory is "
        "less than the program itself took",
    )
    add_limit(parser)
    add_wait(parser)


def options_of(args: argparse.Namespace, scenario: str) -> ConfirmOptions:
    """Return the options of ``add_comparison``."""
    return ConfirmOptions(
        read_ahead_kb=args.read_ahead_kb,
        row=_row(args),
        scenario=scenario,
        question=question_of(args),
        runs=args.budget.evaluations or MOST_RUNS,
        seconds=args.budget.seconds,
        resume=args.resume,
        seed=args.seed,
        force=args.force,
        limit_s=args.limit,
        memory_kib=args.memory,
        wait_s=args.wait,
    )


def _row(args: argparse.Namespace) -> Advised | None:
    """Return the row of advice to test, None to test a window."""
    if args.advice is None:
        if any(each is not None for each in (args.row, args.replayer, args.shim)):
            raise UsageError("--row, --replayer and --shim are about a table: add --advice FILE")
        return None
    if args.read_ahead_kb is not None:
        raise UsageError("--advice and --read-ahead-kb both say what to test: give one of them")
    return row_of_advice(args.advice, args.row or 1, args.replayer, args.shim)


def print_results(
    results: Sequence[Confirmed], args: argparse.Namespace, command: Sequence[str]
) -> None:
    """Print the result of each scenario; ``command``: the first words of the command line."""
    print(file=sys.stderr)
    if args.json:
        several = len(scenarios_of(args)) > 1
        print(results_json([each.document for each in results], several))
        return
    print("\n\n".join(confirmed_text(each, _again(each, args, command)) for each in results))


def _again(confirmed: Confirmed, args: argparse.Namespace, command: Sequence[str]) -> str:
    """Return the command line that continues an undecided result."""
    scenario = confirmed.result.scenario
    load = [] if scenario == IDLE else ["--scenario", scenario]
    load += [] if args.memory is None else ["--memory", size_word(args.memory)]
    force = ["--force"] if args.force else []
    return shlex.join([*command, *_repeated(args), *load, *force, "--resume"])


def _repeated(args: argparse.Namespace) -> list[str]:
    words: list[str] = []
    for name in _REPEATED:
        value = getattr(args, name)
        words += [f"--{name.replace('_', '-')}", str(value)] if value is not None else []
    return words
