"""IOPerf against the default on random workloads, as in the paper's section 6.

Learning mode first: each chromosome is evaluated by a workload made after it. Then random
workloads, each run under the default, under the settings of the most similar chromosome, and under
the default once more: the third run tells how often, and by how much, the default improves on
itself. Prints JSON. As root, on a machine that does nothing else.

usage: python ioperf.py [--workloads 200] [--generations 4] [--seconds 2] [--seed 1] -o FILE
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from loop_disk import loop_disk
from workload_bench import WorkloadBench, workload_bench

from analyzer.tuner import Chromosome, Scored, Space, load_recipe, make_engine
from analyzer.tuner.genetic import GeneticEngine
from analyzer.tuner.ioperf import PATTERN, fitness, make_space, nearest, within_clearance
from tracer.interrupts import orderly_exit
from tracer.workload import Done, Workload

FILE_MIB = 512
BYTES_PER_SECOND, REQUESTS_PER_SECOND = 40_000_000, 1000
PAPER = {
    "productivity_improved": 0.882,
    "productivity_gain": 0.2963,
    "latency_improved": 0.775,
    "latency_gain": 0.1279,
}
_SCHEDULER, _WINDOW, _SWAPPINESS = (
    "/sys/block/{0}/queue/scheduler",
    "/sys/block/{0}/queue/read_ahead_kb",
    "/proc/sys/vm/swappiness",
)


def main() -> None:
    """Learn, compare, and write what came of it."""
    args = _arguments()
    with (
        orderly_exit(),
        loop_disk(FILE_MIB, BYTES_PER_SECOND, REQUESTS_PER_SECOND) as disk,
        workload_bench(disk, FILE_MIB, args.seconds, args.contended) as bench,
    ):
        space = _space(bench, disk.name)
        engine = make_engine(load_recipe("ioperf"), space, args.seed)
        assert isinstance(engine, GeneticEngine)
        learnt = [_learn(engine, space, bench) for _ in range(args.generations)]
        rng = Random(args.seed)
        rows = []
        for number in range(args.workloads):
            rows.append(_compare(engine.pool, space, bench, rng))
            print(f"{number + 1}/{args.workloads}: {rows[-1]['productivity']}", flush=True)
        document = {
            "schema": 1,
            "kernel": os.uname().release,
            "disk": {
                "bytes_per_second": BYTES_PER_SECOND,
                "requests_per_second": REQUESTS_PER_SECOND,
            },
            "arguments": vars(args) | {"output": str(args.output)},
            "paper": PAPER,
            "all": summary(rows),
            "within_clearance": summary([row for row in rows if row["within_clearance"]]),
            "generations": learnt,
            "population": [
                {"chromosome": one.chromosome, "fitness": one.fitness} for one in engine.pool
            ],
            "workloads": rows,
            "runs": dict(bench.statuses),
        }
    args.output.write_text(json.dumps(document, indent=1) + "\n")


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the paper's figures over ``rows``, and the same of the default against itself."""
    whole = [row for row in rows if row["productivity"] is not None]
    if not whole:
        return {"workloads": 0}
    return {
        "workloads": len(whole),
        "not_measured": len(rows) - len(whole),
        **_figures(whole, "tuned"),
        "default_again": _figures(whole, "again"),
    }


def _figures(rows: Sequence[Mapping[str, Any]], of: str) -> dict[str, float]:
    productivity = [row["productivity"][of] for row in rows]
    latency = [row["latency"][of] for row in rows]
    return {
        "productivity_improved": fmean(gain > 0 for gain in productivity),
        "productivity_gain": fmean(productivity),
        "latency_improved": fmean(gain > 0 for gain in latency),
        "latency_gain": fmean(latency),
        "both_improved": fmean(a > 0 and b > 0 for a, b in zip(productivity, latency, strict=True)),
    }


def _learn(engine: GeneticEngine, space: Space, bench: WorkloadBench) -> dict[str, float]:
    """Have one generation evaluated."""
    scored = []
    for chromosome in engine.ask():
        done = bench.run(space.settings(chromosome, bench.trials.disks), _workload(chromosome))
        scored.append(Scored(chromosome, _fitness(done, chromosome)))
    engine.tell(scored)
    print(f"generation {engine.generation}: {len(scored)} evaluated", flush=True)
    return {"evaluated": len(scored), "best": max(one.fitness for one in scored)}


def _fitness(done: Done | None, chromosome: Chromosome) -> float:
    return fitness(done.bytes_per_second, done.latency_s, chromosome) if done else 0.0


def _compare(
    population: Sequence[Scored], space: Space, bench: WorkloadBench, rng: Random
) -> dict[str, Any]:
    """Run a random workload under the default, under the nearest chromosome's settings, again."""
    pattern = {gene.name: rng.choice(gene.alleles) for gene in PATTERN}
    chosen = nearest(population, pattern, within=False)
    assert chosen is not None
    tuned_settings = space.settings(chosen, bench.trials.disks)
    workload = _workload(pattern)
    # Which of the two comes first is chance, so that a drift of the machine helps neither.
    order = [("default", ()), ("tuned", tuned_settings)]
    rng.shuffle(order)
    runs = {name: bench.run(settings, workload) for name, settings in [*order, ("again", ())]}
    return {
        "workload": pattern,
        "chromosome": chosen,
        "within_clearance": within_clearance(chosen, pattern),
        **{name: done and vars(done) for name, done in runs.items()},
        **_gains(runs),
    }


def _gains(runs: Mapping[str, Done | None]) -> dict[str, Any]:
    default, tuned, again = (runs[name] for name in ("default", "tuned", "again"))
    if default is None or tuned is None or again is None:
        return {"productivity": None, "latency": None}
    others = {"tuned": tuned, "again": again}
    return {
        "productivity": {
            name: one.bytes_per_second / default.bytes_per_second - 1
            for name, one in others.items()
        },
        "latency": {name: 1 - one.latency_s / default.latency_s for name, one in others.items()},
    }


def _workload(pattern: Chromosome) -> Workload:
    return Workload(**{gene.name: int(pattern[gene.name]) for gene in PATTERN})


def _space(bench: WorkloadBench, disk: str) -> Space:
    knobs = [knob.format(disk) for knob in (_SCHEDULER, _WINDOW, _SWAPPINESS)]
    probed = bench.trials.probe(knobs)
    offered, window, swappiness = (probed[knob] for knob in knobs)
    scheduler = offered.partition("[")[2].partition("]")[0]
    names = offered.replace("[", "").replace("]", "").split()
    return make_space(names, scheduler, int(window), int(swappiness))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workloads", type=int, default=200)
    parser.add_argument("--generations", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--contended", action="store_true", help="keep runs that others disturbed")
    parser.add_argument("-o", "--output", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
