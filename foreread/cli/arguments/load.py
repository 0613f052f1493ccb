"""``--load`` and ``--weigh``: other readers and writers, beside which a start is predicted."""

from __future__ import annotations

import argparse
import re
from typing import TypedDict

from foreread.cli.arguments import UsageError
from foreread.cli.arguments.memory import memory_kib
from foreread.tracer.formats.scenario import LEAST_WEIGHT, MEMORY, MOST_WEIGHT


def add_load(parser: argparse.ArgumentParser) -> None:
    """Add the loads of a prediction, and their weights."""
    parser.add_argument(
        "--load",
        action="append",
        default=[],
        dest="loads",
        metavar="LOAD",
        help="also predict the start beside this load, and answer for an idle machine and all "
        "loads together: reader[:FILE] or writer[:FOLDER], as foreread tune has them, or a capture "
        "of foreread record with --load or --scenario; repeatable",
    )
    parser.add_argument(
        "--memory",
        action="extend",
        dest="loads",
        metavar="SIZE[,SIZE]",
        type=_memories,
        help="also predict the start with so much memory for its program and its files, such as "
        "24M,32M, and answer for it, too: the limit of a control group, or what a board has "
        "available before the start; as --load memory:SIZE",
    )
    add_weigh(
        parser,
        "weight of a load in the answer: with --load reader --weigh reader=2 one per cent of time "
        "beside the reader counts as two per cent on an idle machine (idle); repeatable (default: "
        "1 each)",
    )


def add_weigh(parser: argparse._ActionsContainer, what: str) -> None:
    """Add ``--weigh S=W``; ``what`` is its help."""
    parser.add_argument(
        "--weigh", metavar="S=W", action="append", type=_weight, default=[], help=what
    )


class Loads(TypedDict):
    """The loads of a question, and their weights."""

    loads: tuple[str, ...]
    weights: dict[str, float]


def loads_of(args: argparse.Namespace) -> Loads:
    """Return the loads that the arguments name, each once; none of a command without ``--load``."""
    if not getattr(args, "loads", ()):
        if hasattr(args, "loads") and args.weigh:
            raise UsageError("--weigh is about loads: add --load LOAD")
        return Loads(loads=(), weights={})
    return Loads(loads=tuple(dict.fromkeys(args.loads)), weights=dict(args.weigh))


def _memories(text: str) -> list[str]:
    """Return the loads that are so much memory."""
    sizes = text.split(",")
    for size in sizes:
        memory_kib(size)
    return [f"{MEMORY}{size}" for size in sizes]


def _weight(text: str) -> tuple[str, float]:
    """Return load and weight in ``reader=2``; the folder of a load may contain ``=``."""
    load, given, number = text.rpartition("=")
    if not (given and load and re.fullmatch(r"\d{1,6}(?:\.\d{1,6})?", number)):
        raise argparse.ArgumentTypeError(f"{text!r}: write a scenario and its weight: reader=2")
    if not LEAST_WEIGHT <= float(number) <= MOST_WEIGHT:
        raise argparse.ArgumentTypeError(
            f"{text!r}: a weight is a number from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}"
        )
    return load, float(number)
