"""Arguments of ``foreread tune`` that say how it searches."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
from pathlib import Path

from foreread.analyzer.tuner.campaign.feasibility import MOST
from foreread.analyzer.tuner.engines.recipe import recipe_names
from foreread.analyzer.tuner.engines.start_up import WHOLE
from foreread.analyzer.tuner.engines.stopping import (
    EACH_GENE,
    EACH_SCENARIO,
    SHORTEST,
    Budget,
    Patience,
)
from foreread.analyzer.tuner.space.catalogue import entries
from foreread.analyzer.tuner.space.genes import Allele
from foreread.cli.arguments.allow import add_allow
from foreread.cli.arguments.budget import parse_budget
from foreread.cli.arguments.load import add_weigh
from foreread.cli.arguments.model import add_criterion, add_model
from foreread.cli.arguments.run import add_limit
from foreread.tuning.options import START_UP

SAMPLERS = ("tpe", "random", "exhaustive")
_MOST_REPEATS = 1000


def add_search(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    search = parser.add_argument_group("search")
    which = search.add_mutually_exclusive_group()
    names = [name for name in recipe_names() if name not in SAMPLERS]
    which.add_argument(
        "--recipe",
        metavar="R",
        default=START_UP,
        help=f"{', '.join(names)}, or the file of a recipe (default: {START_UP}). {START_UP} "
        f"considers all of a space of up to {WHOLE:,} settings, without selection, crossover or "
        'mutation; a recipe with breeds = "always" uses them there, too. genetic-library and '
        "fingerprinting rank by the disk's counters, as published, and not by time: while they "
        "tuned, throughput was 24.9 %% below the default's",
    )
    which.add_argument(
        "--sampler", choices=SAMPLERS, help="search without a genetic algorithm, for comparison"
    )
    add_genes(search)
    add_allow(search)
    for word, what, allowed in (
        ("written", "write", "wear"),
        ("stalled", "make processes wait for memory", "memory"),
    ):
        search.add_argument(
            f"--most-{word}",
            metavar="P%",
            type=_share,
            default=MOST,
            help=f"refuse settings that {what} over P%% more than the default does (default: "
            f"{100 * MOST:g}%%; no limit with --allow {allowed})",
        )
    add_weigh(
        search,
        "weight of scenario S in the result: with reader=2 one per cent of time in the "
        "scenario reader counts as two per cent in one of weight 1; repeatable (default: 1 each)",
    )
    search.add_argument(
        "--capture",
        metavar="CAPTURE",
        type=Path,
        help="capture of the same start: the search begins with the settings predicted from it; if "
        "--genes does not name read_ahead_kb, every run has the predicted window",
    )
    add_model(parser)
    add_criterion(parser)
    search.add_argument(
        "--from",
        dest="earlier",
        metavar="OLD",
        type=Path,
        help="TUNING of an earlier campaign on a like board: the search begins with its best "
        "settings, and expects its results as far as runs on this board agree",
    )
    search.add_argument(
        "--repeats",
        metavar="MIN:MAX",
        type=_repeats,
        default=(1, 5),
        help="fewest and most runs of a chromosome in each scenario; those close to the best get "
        "most (default: 1:5)",
    )
    search.add_argument(
        "--budget",
        metavar="N|TIME",
        type=parse_budget,
        default=Budget(),
        help="make at most N runs, or runs for a time such as 90s, 30m, 2h or 1d; the confirmation "
        f"counts, too (default: no limit; the search ends when {SHORTEST} new "
        f"chromosomes, {EACH_GENE} more for each gene and {EACH_SCENARIO} for each further "
        f"scenario, in {Patience.generations} generations or more, gained no more than the noise)",
    )
    search.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")
    add_limit(search)
    search.add_argument(
        "--reset",
        metavar="COMMAND",
        type=_reset,
        default=[],
        help="command to run on this machine when the target is lost or hangs, to restart it (for "
        "example, one that switches its power off and on)",
    )
    search.add_argument(
        "--resume",
        action="store_true",
        help="continue TUNING: repeat its command line and add this option",
    )


def add_genes(parser: argparse._ActionsContainer) -> None:
    """Add ``--genes LIST``."""
    parser.add_argument(
        "--genes",
        metavar="LIST",
        type=_genes,
        default={},
        help="settings to tune: NAME,… or, with your own values, NAME=A:B:… (default: all that the "
        "machine has, without values that are less durable than the present one, with which a "
        "power cut loses more data; a setting that you name is tuned with all its values)",
    )


def _genes(text: str) -> dict[str, list[Allele]]:
    """Return the requested alleles by gene; an empty list means the catalogue's."""
    kinds = {entry.name: entry.kind for entry in entries()}
    genes: dict[str, list[Allele]] = {}
    for item in text.split(","):
        name, given, alleles = item.strip().partition("=")
        if name not in kinds:
            raise argparse.ArgumentTypeError(f"no gene {name!r}: choose among {', '.join(kinds)}")
        words = alleles.split(":") if given else []
        numbers = kinds[name] != "categorical"
        if not all(re.fullmatch(r"\d{1,15}" if numbers else r"[\w.+-]+", word) for word in words):
            raise argparse.ArgumentTypeError(f"{item!r}: write {name}=A:B:…")
        genes[name] = [int(word) if numbers else word for word in words]
    return genes


def _share(text: str) -> float:
    """Return the part in ``10%``."""
    match = re.fullmatch(r"(\d{1,7}(?:\.\d{1,3})?) ?%", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r}: write a percentage such as 10%")
    return float(match[1]) / 100


def _repeats(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,4}):(\d{1,4})", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]) <= _MOST_REPEATS:
        raise argparse.ArgumentTypeError(
            f"{text!r}: write MIN:MAX with numbers from 1 to {_MOST_REPEATS}"
        )
    return int(match[1]), int(match[2])


def _reset(text: str) -> list[str]:
    words = shlex.split(text)
    if not words or shutil.which(words[0]) is None:
        raise argparse.ArgumentTypeError(f"{text!r}: this program does not exist on this machine")
    return words
