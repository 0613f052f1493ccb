"""The 2015 paper's genetic algorithm, over a space or on a measured landscape."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import median
from typing import Any

import msgspec

from foreread.analyzer.tuner.engine import Engine
from foreread.analyzer.tuner.engines.make import make_engine
from foreread.analyzer.tuner.engines.recipe import Genetic
from foreread.analyzer.tuner.space.genes import Allele, Chromosome, Space
from foreread.analyzer.tuner.store.records import Board, Spec
from studies.tuning.landscape import Landscape
from studies.tuning.storage_chromosomes import DISK_TYPE, SCHEDULER, V1
from studies.tuning.study_recipes import load_recipe

V2 = (SCHEDULER, DISK_TYPE)


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


def points_of(landscape: Landscape) -> list[dict[str, Allele]]:
    """Return the file systems that were measured, in the table's order."""
    names = landscape.space.names
    return [dict(zip(names, row.alleles, strict=True)) for row in landscape.table.rows]


def defaults_of(landscape: Landscape) -> list[dict[str, Allele]]:
    """Return the defaults of the file systems that were measured: the first row of each."""
    first: dict[Allele, dict[str, Allele]] = {}
    for chromosome in points_of(landscape):
        first.setdefault(chromosome["file_system"], chromosome)
    return list(first.values())


def by_file_system(landscape: Landscape) -> list[dict[str, Any]]:
    """Return the default and the best of each file system, the best first."""
    rows = []
    for default in defaults_of(landscape):
        name = default["file_system"]
        own = [point for point in points_of(landscape) if point["file_system"] == name]
        best = min(own, key=landscape.regret)
        pair = {"default": figures(landscape, default), "best": figures(landscape, best)}
        rows.append({"file_system": name, "points": len(own), **pair})
    return sorted(rows, key=lambda row: float(row["best"]["regret"]))


def effects(landscape: Landscape) -> list[dict[str, Any]]:
    """Return by gene how far file systems are apart that differ in it alone."""
    rows = []
    for gene in landscape.space.names:
        alike: dict[tuple[Allele, ...], list[float]] = {}
        for point in points_of(landscape):
            rest = tuple(allele for name, allele in point.items() if name != gene)
            alike.setdefault(rest, []).append(value(landscape, point))
        pairs = [pair for group in alike.values() for pair in combinations(group, 2)]
        if changes := [max(pair) / min(pair) - 1 for pair in pairs]:
            ends = {"median": median(changes), "largest": max(changes)}
            rows.append({"gene": gene, "pairs": len(pairs), **ends})
    return rows


def gains(landscape: Landscape, gene: str, was: Allele, now: Allele) -> dict[Allele, list[float]]:
    """Return by file system what ``now`` gains over ``was``, of those that differ in it alone."""
    worth = {tuple(point.values()): value(landscape, point) for point in points_of(landscape)}
    system_gains: dict[Allele, list[float]] = {}
    for point in points_of(landscape):
        other = worth.get(tuple({**point, gene: now}.values()))
        if point[gene] == was and other:
            system_gains.setdefault(point["file_system"], []).append(
                other / value(landscape, point) - 1
            )
    return system_gains


def figures(landscape: Landscape, chromosome: Chromosome) -> dict[str, Any]:
    """Return a chromosome's alleles and its worth on the landscape."""
    return {
        "chromosome": dict(chromosome),
        "text": text_of(chromosome),
        "per_second": value(landscape, chromosome),
        "regret": landscape.regret(chromosome),
    }


def value(landscape: Landscape, chromosome: Chromosome) -> float:
    """Return operations a second, the median of the repeats."""
    (workload,) = landscape.table.scenarios
    alleles = [chromosome[name] for name in landscape.space.names]
    row = next(row for row in landscape.table.rows if row.alleles == alleles)
    return median(row.values[workload])


def show(landscape: Landscape) -> None:
    """Print default and best, of all and of each file system, and what each gene does."""
    default, best = landscape.space.default(), landscape.optimum
    (workload,) = landscape.table.scenarios
    print(f"{workload}, {landscape.table.board}: {landscape.points} file systems measured")
    for name, row in (("default", default), ("best", best)):
        print(f"{name:8}{value(landscape, row):6.0f}/s {text_of(row)}")
    print("\n| file system | tried | default | best | gain | over the default | which |")
    print("|---" * 7 + "|")
    for row in by_file_system(landscape):
        was, now = row["default"]["per_second"], row["best"]["per_second"]
        cells = [row["file_system"], row["points"], f"{was:,.0f}", f"{now:,.0f}"]
        cells += [f"{100 * (now / over - 1):+.1f} %" for over in (was, value(landscape, default))]
        print(f"| {' | '.join(map(str, [*cells, row['best']['text']]))} |")
    print("\n| gene | pairs that differ in it alone | apart: median | largest |")
    print("|---" * 4 + "|")
    for row in effects(landscape):
        apart = " | ".join(f"{100 * row[name]:.1f} %" for name in ("median", "largest"))
        print(f"| {row['gene']} | {row['pairs']} | {apart} |")
    if of := gains(landscape, "mount", "relatime", "noatime"):
        print("\n| file system | pairs | noatime gains: least | median | largest |")
        print("|---" * 5 + "|")
    for file_system, each in of.items():
        ends = " | ".join(f"{100 * end:+.1f} %" for end in (min(each), median(each), max(each)))
        print(f"| {file_system} | {len(each)} | {ends} |")


def text_of(chromosome: Chromosome) -> str:
    """Return the alleles that apply, in the genes' order."""
    shown = [name for name in V1 if chromosome[name] != "none"]
    shown += [name for name in V2 if name in chromosome]
    return " ".join(str(chromosome[name]) for name in shown)
