"""The 2015 paper's genetic algorithm, over a space or on a measured landscape."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import msgspec

from analyzer.tuner.campaign import Campaign, Rules
from analyzer.tuner.engine import Engine
from analyzer.tuner.evaluation import chromosome_of
from analyzer.tuner.genes import Allele, Chromosome, Space
from analyzer.tuner.landscape import Landscape
from analyzer.tuner.make import make_engine
from analyzer.tuner.recipe import Genetic, load_recipe
from analyzer.tuner.records import Board, Spec
from analyzer.tuner.storage import DISK_TYPE, SCHEDULER, V1
from analyzer.tuner.store import Store

V2 = (SCHEDULER, DISK_TYPE)


def run_on(
    landscape: Landscape, workload: str, seed: int, generations: int | None
) -> dict[str, Any]:
    """Run the genetic algorithm on a landscape; return what it found, and after how many."""
    spec = spec_of(landscape.table.board, landscape.table.kernel, landscape.space, workload, seed)
    engine = engine_of(landscape.space, defaults_of(landscape), seed, generations)
    with Store.in_memory(spec) as store:
        campaign = Campaign(store, engine, landscape, Rules(patience=None))
        campaign.run()
        tried = [one for one in store.evaluations() if one.attempt.status == "ok"]
    best = chromosome_of(campaign.standings.best())
    return {"seed": seed, "measured": len(tried), **figures(landscape, best)}


def engine_of(
    space: Space, seeds: Sequence[Chromosome], seed: int, generations: int | None
) -> Engine:
    """Return the paper's engine over a space of Storage v1 or v2; 200 generations if not said."""
    recipe = load_recipe("storage-v2" if SCHEDULER in space.names else "storage-v1")
    assert isinstance(recipe, Genetic)
    if generations:
        recipe = msgspec.structs.replace(recipe, generations=generations)
    return make_engine(recipe, space, seed, seeds)


def spec_of(name: str, kernel: str, space: Space, workload: str, seed: int) -> Spec:
    """Each is measured once, as there; the board is as good as exact."""
    return Spec(
        board=Board(name, kernel),
        scenarios=(workload,),
        default=space.default(),
        sampler="storage",
        seed=seed,
        objective="rate",
        fewest=1,
        most=1,
    )


def defaults_of(landscape: Landscape) -> list[dict[str, Allele]]:
    """Return the defaults of the file systems that were measured: the first row of each."""
    first: dict[Allele, dict[str, Allele]] = {}
    for row in landscape.table.rows:
        chromosome = dict(zip(landscape.space.names, row.alleles, strict=True))
        first.setdefault(chromosome["file_system"], chromosome)
    return list(first.values())


def figures(landscape: Landscape, chromosome: Chromosome) -> dict[str, Any]:
    """Return what a chromosome is, and what it is worth there."""
    (workload,) = landscape.table.scenarios
    return {
        "chromosome": dict(chromosome),
        "text": text_of(chromosome),
        "per_second": value(landscape, chromosome, workload),
        "regret": landscape.regret(chromosome),
    }


def value(landscape: Landscape, chromosome: Chromosome, workload: str) -> float:
    """Return operations a second, the median of the repeats."""
    alleles = [chromosome[name] for name in landscape.space.names]
    row = next(row for row in landscape.table.rows if row.alleles == alleles)
    return median(row.values[workload])


def show(landscape: Landscape, workload: str) -> None:
    """Print default and best."""
    default, best = landscape.space.default(), landscape.optimum
    print(f"{workload}, {landscape.table.board}: {landscape.points} file systems measured")
    for name, one in (("default", default), ("best", best)):
        print(f"{name:8}{value(landscape, one, workload):6.0f}/s {text_of(one)}")


def text_of(chromosome: Chromosome) -> str:
    """Return the alleles that apply, in the genes' order."""
    shown = [name for name in V1 if chromosome[name] != "none"]
    shown += [name for name in V2 if name in chromosome]
    return " ".join(str(chromosome[name]) for name in shown)
