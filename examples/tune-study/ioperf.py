"""IOPerf against the default on random workloads, as in the paper's section 6.

Learning mode first: each chromosome is evaluated by a workload made after it. Then random
workloads, each run under the default, under the settings of the most similar chromosome, and
of one in eight the default once more: that tells how often, and by how much, the default improves
on itself. The first of them are also run under every scheduler at several windows, which tells what
could have been gained. All on an emulated board (workload_board.py); what was stopped goes on.
Prints tables and writes JSON.

usage: python ioperf.py [--workloads 200] [--generations 3] [--exhaustive 20] [--seed 1] -o FILE
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

from ioperf_figures import PAPER, headroom, summary, table
from workload_board import BOARD, DISK, QUEUE, WorkloadBoard, workload_board

from analyzer.tuner import Chromosome, Scored, Space, load_recipe, make_engine
from analyzer.tuner.genetic import GeneticEngine
from analyzer.tuner.ioperf import PATTERN, fitness, make_space, nearest, within_clearance
from tracer.interrupts import orderly_exit
from tracer.workload import Workload

RAW = Path(__file__).with_suffix(".jsonl")
WINDOWS_KB = (16, 64, 128, 256, 1020)
SWAPPINESS = (0, 100)
_SCHEDULER = f"/sys/block/{DISK}/queue/scheduler"
_WINDOW = f"/sys/block/{DISK}/queue/read_ahead_kb"
_SWAPPINESS = "/proc/sys/vm/swappiness"


def main() -> None:
    """Learn, compare, and write what came of it."""
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
        for number, row in enumerate(rows[: args.exhaustive]):
            row["settings"] = _exhaust(board, space, row["workload"])
            print(f"every setting: {number + 1}/{args.exhaustive}", flush=True)
    default = {gene.name: gene.default for gene in space.genes[len(PATTERN) :]}
    document: dict[str, Any] = {
        "schema": 1,
        "board": {"name": BOARD.board, "kernel": kernel, "nr_requests": QUEUE},
        "disk": {"latency_ns": BOARD.latency_ns, "ns_per_kib": BOARD.ns_per_kib},
        "default": default,
        "seconds": args.seconds,
        "paper": PAPER,
        "summary": summary(rows),
        "headroom": headroom(rows, {name: str(value) for name, value in default.items()}),
        "generations": learnt,
        "population": [
            {"chromosome": one.chromosome, "fitness": one.fitness} for one in engine.pool
        ],
        "workloads": rows,
    }
    print(table(document["summary"]))
    print(json.dumps(document["headroom"], indent=1))
    args.output.write_text(json.dumps(document, indent=1) + "\n")


def _learn(engine: GeneticEngine, space: Space, board: WorkloadBoard) -> dict[str, float]:
    """Have one generation evaluated."""
    scored = []
    for chromosome in engine.ask():
        done = board.run(space.settings(chromosome, [DISK]), _workload(chromosome))
        worth = fitness(done.bytes_per_second, done.latency_s, chromosome)
        scored.append(Scored(chromosome, worth))
        print(f"generation {engine.generation}: {len(scored)} evaluated", flush=True)
    engine.tell(scored)
    return {"evaluated": len(scored), "best": max(one.fitness for one in scored)}


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
    workload = _workload(pattern)
    runs = {
        "default": board.run((), workload),
        "tuned": board.run(space.settings(chosen, [DISK]), workload),
        **({"again": board.run((), workload, repeat=1)} if twice else {}),
    }
    return {
        "workload": dict(pattern),
        "chromosome": dict(chosen),
        "within_clearance": within_clearance(chosen, pattern),
        **{name: asdict(done) for name, done in runs.items()},
    }


def _exhaust(board: WorkloadBoard, space: Space, pattern: Chromosome) -> list[dict[str, Any]]:
    """Run a workload under every scheduler and window, and at other values of swappiness."""
    (schedulers,) = (gene.alleles for gene in space.genes if gene.name == "scheduler")
    settings = [
        ((_SCHEDULER, str(scheduler)), (_WINDOW, str(window)))
        for scheduler in schedulers
        for window in WINDOWS_KB
    ]
    settings += [((_SWAPPINESS, str(value)),) for value in SWAPPINESS]
    return [
        {
            "set": {knob.rpartition("/")[2]: value for knob, value in one},
            **asdict(board.run(one, _workload(pattern))),
        }
        for one in settings
    ]


def _workload(pattern: Chromosome) -> Workload:
    return Workload(**{gene.name: int(pattern[gene.name]) for gene in PATTERN})


def _space(board: WorkloadBoard) -> Space:
    offered = board.knob(_SCHEDULER)
    scheduler = offered.partition("[")[2].partition("]")[0]
    names = offered.replace("[", "").replace("]", "").split()
    window, swappiness = int(board.knob(_WINDOW)), int(board.knob(_SWAPPINESS))
    return make_space(names, scheduler, window, swappiness)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workloads", type=int, default=200)
    parser.add_argument("--generations", type=int, default=3)
    parser.add_argument("--exhaustive", type=int, default=20, help="of the workloads")
    parser.add_argument("--noise", type=int, default=8, help="of so many one has its default again")
    parser.add_argument("--seconds", type=float, default=2.0, help="guest time of a run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--raw", type=Path, default=RAW, help="where runs are kept")
    parser.add_argument("-o", "--output", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
