"""The course of a search on an emulated board whose scenarios take turns.

What was stopped goes on from FILE.tuning. FILE gets, for each turn: the generations' fingerprints,
what came back, each child's worth beside the best run of its scenario, and what turns.py counts.

    python -m studies.tuning.turns_live [--figure PNG] -o FILE
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, median
from typing import Any

import msgspec
from matplotlib.figure import Figure

from analyzer.tuner.campaign.campaign import Campaign, Rules
from analyzer.tuner.campaign.campaign_setup import CampaignSetup
from analyzer.tuner.campaign.progress import Progress
from analyzer.tuner.engines.fingerprint import Fingerprint, Snapshot
from analyzer.tuner.engines.recipe import Recipe
from analyzer.tuner.evaluation import key_of
from analyzer.tuner.findings.results import Results
from analyzer.tuner.space.catalogue import knobs, space_of
from analyzer.tuner.space.genes import Allele, Chromosome
from analyzer.tuner.store.records import Board, Spec, TopGenes
from analyzer.tuner.store.store import Store
from boards.document import SCHEMA
from boards.emulated.live import EmulatedTarget
from foreread.evaluator import TrialEvaluator
from studies.tuning.measure import STUDIES
from studies.tuning.turns import CLOSE, SCENARIOS, recipe_of, taken
from tracer.interrupts import Interrupted, orderly_exit
from tracer.local.command import Streams
from tracer.local.run import RunOptions
from tracer.local.trial import Scenario, TrialBench, TrialOptions
from tracer.remote.trials import trials_on

STUDY = STUDIES["madplay"]
PASSES = 3
LEVELS: dict[str, list[Allele]] = {
    "scheduler": [],
    "nr_requests": [2, 64],
    "read_ahead_kb": [16, 32, 64, 96, 128, 256, 512, 1024],
}
_COLOURS = {"idle": "#0072b2", "reader": "#d55e00"}


def course(results: Results, top: Mapping[str, TopGenes]) -> dict[str, Any]:
    """Return the length of each turn, its returned genes, and children against the best run."""
    turns = CampaignSetup.of(results.spec).turns
    best = {name: min(one.values()) for name, one in _seconds(results).items()}
    last: str | None = None
    made = []
    for begin in range(0, len(results.generations), turns):
        scenario = SCENARIOS[begin // turns % len(SCENARIOS)]
        batches = [[child for child, _ in one] for one in results.generations[begin:][:turns]]
        worths = [
            [best[scenario] / _seconds(results)[scenario][key_of(one)] for one in children]
            for children in batches
        ]
        prints = [str(_fingerprint(results, scenario, children)) for children in batches]
        came = batches[1][0] if len(batches) > 1 and last not in (None, prints[0]) else None
        made.append(
            {
                "scenario": scenario,
                "fingerprints": prints,
                "came_back": came,
                "worths": worths,
                **taken(worths),
            }
        )
        last = prints[-1]
    return {
        "runs": len(results.search),
        "kernel": results.spec.board.kernel,
        "default": {
            name: one[key_of(results.spec.default)] for name, one in _seconds(results).items()
        },
        "best": best,
        "turns": made,
        "top_genes": {name: dict(genes.chromosome) for name, genes in top.items()},
    }


def _seconds(results: Results) -> dict[str, dict[str, float]]:
    """Return what each chromosome's start took by scenario: the median, if it was run again."""
    found: dict[str, dict[str, list[float]]] = {}
    for one in results.search:
        if one.attempt.value is not None and one.attempt.status == "ok":
            by_key = found.setdefault(one.scenario, {})
            by_key.setdefault(key_of(one.chromosome), []).append(one.attempt.value)
    return {name: {key: median(s) for key, s in by.items()} for name, by in found.items()}


def _fingerprint(
    results: Results, scenario: str, children: Sequence[Chromosome]
) -> Fingerprint | None:
    snapshots = {
        key_of(one.chromosome): Snapshot.from_metrics(one.attempt.metrics)
        for one in results.search
        if one.scenario == scenario
    }
    return sum((snapshots[key_of(one)] for one in children), Snapshot()).fingerprint()


def draw(found: Mapping[str, Any], path: Path) -> None:
    """Draw the course: each child's worth by generation, and the one whose genes came back."""
    figure = Figure(figsize=(7.2, 3.0), layout="constrained")
    ax = figure.subplots()
    first = 0
    for turn in found["turns"]:
        colour = _COLOURS[turn["scenario"]]
        numbers = range(first, first + len(turn["worths"]))
        ax.axvspan(first - 0.5, numbers[-1] + 0.5, color=colour, alpha=0.12, linewidth=0)
        for number, worths in zip(numbers, turn["worths"], strict=True):
            ax.plot([number] * len(worths), worths, ".", color=colour, markersize=4)
        halves = [fmean(sorted(worths)[len(worths) // 2 :]) for worths in turn["worths"]]
        ax.plot(numbers, halves, color=colour)
        if turn["came_back"]:
            ax.plot(
                first + 1, turn["worths"][1][0], "D", color="black", markersize=5, fillstyle="none"
            )
        first += len(turn["worths"])
    ax.axhline(CLOSE, color="grey", linewidth=0.8, linestyle=":")
    ax.set(xlabel="generation", ylabel="best time / time of a child")
    figure.savefig(path, dpi=110, metadata={"Software": None})


def search(path: Path) -> None:
    """Make the search, or go on with it."""
    recipe = recipe_of("with")
    recipe = msgspec.structs.replace(recipe, generations=recipe.turns * len(SCENARIOS) * PASSES)
    with orderly_exit(), TrialEvaluator(_bench) as evaluator:
        evaluator.scenarios = {name: Scenario.parse(name) for name in SCENARIOS}
        store = Store.resume(path) if path.exists() else _begun(path, recipe, evaluator.bench)
        with store:
            ground = CampaignSetup.of(store.spec)
            evaluator.space = ground.space
            rules = Rules(patience=None, interrupts=(Interrupted,))
            engine = ground.engine(store.spec.seed)
            Campaign(store, engine, evaluator, rules, _say, ground.turns).run()


def _say(progress: Progress) -> None:
    came = f", back came {dict(progress.returned)}" if progress.returned else ""
    print(f"run {progress.evaluations}, generation {progress.generation}{came}", flush=True)


@contextmanager
def _bench() -> Iterator[TrialBench]:
    with open(os.devnull, "wb") as nowhere, EmulatedTarget(STUDY.board, print) as board:  # noqa: PTH123
        streams = Streams(nowhere.fileno(), nowhere.fileno())
        run = RunOptions(list(STUDY.command), streams=streams)
        with trials_on(board, TrialOptions(run, limit_s=120.0, bios=True)) as bench:
            yield bench


def _begun(path: Path, recipe: Recipe, bench: TrialBench) -> Store:
    probe = bench.probe(knobs(bench.disks, list(LEVELS), bench.mounted))
    levels = {name: alleles for name, alleles in LEVELS.items() if alleles}
    space = space_of(probe, bench.disks, list(LEVELS), levels, bench.windows, bench.mounted)
    ground = CampaignSetup(recipe, space)
    spec = Spec(
        board=Board("board", bench.kernel, bench.page_bytes, tuple(bench.disks)),
        scenarios=SCENARIOS,
        default=space.default(),
        sampler=recipe.name,
        recipe=ground.recipe_text,
        space=ground.space_text,
        command=STUDY.command,
        most=1,
    )
    return Store.create(path, spec)


def main() -> None:
    """Search, and write how that went."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--figure", type=Path, metavar="PNG")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    args = parser.parse_args()
    path = args.output.with_suffix(".tuning")
    search(path)
    with Store.read(path) as store:
        found = course(Results.of(store), store.top_genes())
    args.output.write_text(json.dumps({"schema": SCHEMA, **found}, indent=1) + "\n")
    if args.figure:
        draw(found, args.figure)


if __name__ == "__main__":
    main()
