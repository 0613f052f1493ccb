"""IOPerf against the default on random workloads, as in the paper's section 6.

Learning mode first: each chromosome is evaluated by a workload made after it. Then random
workloads, each run under the default, under the settings of the most similar chromosome, and
of one in eight the default once more: that tells how often, and by how much, the default improves
on itself. For the first of them better settings are looked for (ioperf_headroom.py), for a few
under every scheduler at every window. All on an emulated board (workload_board.py); what was
stopped goes on. Prints tables and writes JSON.

usage: python ioperf.py [--workloads 200] [--headroom 36] [--exhaustive 4] [--seed 1] -o FILE
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

from foreread.analyzer.tuner import Chromosome, Scored, Space, make_engine
from foreread.analyzer.tuner.engines.genetic import GeneticEngine
from foreread.analyzer.tuner.engines.patterns import within_clearance
from foreread.boards.base.document import SCHEMA
from foreread.boards.base.interrupts import orderly_exit
from studies.tuning.ioperf_chromosomes import (
    PATTERN,
    fitness,
    make_space,
    nearest,
    pattern_in,
)
from studies.tuning.ioperf_figures import PAPER, ceiling, headroom, headroom_table, summary, table
from studies.tuning.ioperf_headroom import (
    SCHEDULER,
    SWAPPINESS,
    WINDOW,
    climb,
    exhaust,
    workload_of,
)
from studies.tuning.study_recipes import load_recipe
from studies.tuning.workload_board import BOARD, DISK, QUEUE, WorkloadBoard, workload_board

RAW = Path(__file__).parent / "raw/ioperf.jsonl"


def main() -> None:
    """Learn, compare, and write the result."""
    args = _arguments()
    with orderly_exit(), workload_board(args.raw, args.seconds) as board:
        kernel = board.knob("/proc/sys/kernel/osrelease")
        space = _space(board)
        engine = make_engine(load_recipe("ioperf"), space, args.seed)
        assert isinstance(engine, GeneticEngine)
        learnt = [_learn(engine, space, board) for _ in range(args.generations)]
        rng = Random(args.seed)
        rows = []
        for number in range(args.workloads):
            pattern = {gene.name: rng.choice(gene.alleles) for gene in PATTERN}
            rows.append(_compare(engine.pool, space, board, pattern, number % args.noise == 0))
            print(f"{number + 1}/{args.workloads}: {rows[-1]['tuned']}", flush=True)
        for number, row in enumerate(rows[: args.headroom]):
            row["headroom"] = climb(board, space, row)
            print(f"headroom: {number + 1}/{args.headroom}", flush=True)
        for number, row in enumerate(rows[: args.exhaustive]):
            row["settings"] = exhaust(board, space, row["workload"])
            print(f"every setting: {number + 1}/{args.exhaustive}", flush=True)
    default = {gene.name: gene.default for gene in space.genes[len(PATTERN) :]}
    costs = {"latency_ns": BOARD.latency_ns, "ns_per_kib": BOARD.ns_per_kib}
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "board": {"name": BOARD.board, "kernel": kernel, "nr_requests": QUEUE},
        "disk": costs,
        "default": default,
        "seconds": args.seconds,
        "paper": PAPER,
        "summary": summary(rows),
        "ceiling": ceiling(rows, costs),
        "headroom": headroom(rows),
        "generations": learnt,
        "population": [
            {"chromosome": individual.chromosome, "fitness": individual.fitness}
            for individual in engine.pool
        ],
        "workloads": rows,
    }
    print(table(document["summary"]))
    print(f"the disk's most: {document['ceiling']}")
    print(headroom_table(document["headroom"]))
    args.output.write_text(json.dumps(document, indent=1) + "\n")


def _learn(engine: GeneticEngine, space: Space, board: WorkloadBoard) -> dict[str, float]:
    """Have one generation evaluated."""
    scored = []
    for chromosome in engine.ask():
        done = board.run(space.settings(chromosome, [DISK]), workload_of(chromosome))
        worth = fitness(done.bytes_per_second, done.latency_s, chromosome)
        scored.append(Scored(chromosome, worth))
        print(f"generation {engine.generation}: {len(scored)} evaluated", flush=True)
    engine.tell(scored)
    return {"evaluated": len(scored), "best": max(individual.fitness for individual in scored)}


def _compare(
    population: Sequence[Scored],
    space: Space,
    board: WorkloadBoard,
    pattern: Chromosome,
    twice: bool,
) -> dict[str, Any]:
    """Run a workload under the default, under the nearest chromosome's settings, maybe again."""
    chosen = nearest(population, pattern, within=False)
    assert chosen is not None
    workload = workload_of(pattern)
    runs = {
        "default": board.run((), workload),
        "tuned": board.run(space.settings(chosen, [DISK]), workload),
        **({"again": board.run((), workload, repeat=1)} if twice else {}),
    }
    return {
        "workload": dict(pattern),
        "chromosome": dict(chosen),
        "within_clearance": within_clearance(pattern_in(chosen), pattern_in(pattern)),
        **{name: asdict(done) for name, done in runs.items()},
    }


def _space(board: WorkloadBoard) -> Space:
    offered = board.knob(SCHEDULER)
    scheduler = offered.partition("[")[2].partition("]")[0]
    names = offered.replace("[", "").replace("]", "").split()
    window, swappiness = int(board.knob(WINDOW)), int(board.knob(SWAPPINESS))
    return make_space(names, scheduler, window, swappiness)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workloads", type=int, default=200)
    parser.add_argument("--generations", type=int, default=3)
    parser.add_argument("--headroom", type=int, default=36, help="of the workloads")
    parser.add_argument("--exhaustive", type=int, default=4, help="of the workloads")
    parser.add_argument("--noise", type=int, default=8, help="of so many one has its default again")
    parser.add_argument("--seconds", type=float, default=2.0, help="guest time of a run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--raw", type=Path, default=RAW, help="where runs are kept")
    parser.add_argument("-o", "--output", type=Path, required=True)
    args = parser.parse_args()
    if args.headroom == 1:
        parser.error("--headroom 0, or 2 at least: each is lent what another one has found")
    return args


if __name__ == "__main__":
    main()
