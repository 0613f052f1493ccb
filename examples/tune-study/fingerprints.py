"""Re-convergence with and without fingerprints, as in section 6 of the 2006 paper.

First a table is measured: each chromosome of a small space under each of the paper's four
workloads, cold, several times, and the workload's own fingerprint. Then the genetic-library tunes
on that table, with fingerprints and without, while the workload changes to its opposite again and
again; counted are the evaluations until it has converged after a change. The table takes a
machine that does nothing else, and root; counting takes seconds. Prints JSON.

usage: python fingerprints.py [--repeats 2] [--seconds 2] [--table TABLE] -o FILE
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean, median
from typing import Any

from loop_disk import loop_disk
from workload_bench import WorkloadBench, workload_bench

from analyzer.tuner import Chromosome, Gene, Scored, Space, load_recipe, make_engine
from analyzer.tuner.fingerprint import Snapshot
from boards.target import LocalTarget
from tracer.interrupts import orderly_exit
from tracer.remote.watch import WatchOptions, parse_period, watching
from tracer.workload import Workload

FILE_MIB = 512
BYTES_PER_SECOND, REQUESTS_PER_SECOND = 40_000_000, 1000
# In the order of the benchmark: each the opposite of the one before.
WORKLOADS = {
    "sequential write": Workload(1, 0, 0, 64),
    "random read": Workload(1, 100, 100, 16),
    "random write": Workload(1, 0, 100, 16),
    "sequential read": Workload(1, 100, 0, 64),
}
PAPER = {
    "sequential read": 0.89,
    "sequential write": 0.97,
    "random read": 0.61,
    "random write": 0.19,
}
PHASE_GENERATIONS = 40
SEEDS = 50
CONVERGED = 0.95  # of the best there is, by the better half of a generation on average
_QUEUE = "/sys/block/{disk}/queue/"
_TABLE_SEED = 1


@dataclass(frozen=True)
class Cell:
    """What a workload under a chromosome was measured to do, run by run."""

    rates: list[float]  # bytes per second
    figures: list[dict[str, float]]


@dataclass(frozen=True)
class Table:
    """The measured landscape: by workload and chromosome; snapshots are the workloads'."""

    cells: Mapping[str, Mapping[str, Cell]]
    snapshots: Mapping[str, Snapshot]

    def best(self, workload: str) -> float:
        """Return the median rate of the best chromosome."""
        return max(median(cell.rates) for cell in self.cells[workload].values())

    def rate(self, workload: str, chromosome: Chromosome) -> float:
        """Return the chromosome's median rate."""
        return median(self.cells[workload][key(chromosome)].rates)

    def score(self, workload: str, chromosome: Chromosome, rng: Random) -> Scored:
        """Return one of the runs measured, as an evaluation."""
        cell = self.cells[workload][key(chromosome)]
        at = rng.randrange(len(cell.rates))
        metrics = {**cell.figures[at], **self.snapshots[workload].metrics()}
        return Scored(chromosome, cell.rates[at], metrics)


def key(chromosome: Chromosome) -> str:
    """Return a name for the chromosome."""
    return json.dumps(dict(chromosome), sort_keys=True)


def space(schedulers: Sequence[str], default: Mapping[str, Any]) -> Space:
    """Return what is tuned: scheduler, window, and the largest request."""
    windows, largest = (4, 16, 64, 128, 256, 1024), (16, 128, 1024)
    return Space(
        (
            Gene(
                name="scheduler",
                kind="categorical",
                choices=tuple(schedulers),
                default=default["scheduler"],
                knob=f"{_QUEUE}scheduler",
            ),
            Gene(
                name="read_ahead_kb",
                kind="integer",
                choices=windows,
                default=_next(windows, default["read_ahead_kb"]),
                knob=f"{_QUEUE}read_ahead_kb",
            ),
            Gene(
                name="max_sectors_kb",
                kind="integer",
                choices=largest,
                default=_next(largest, default["max_sectors_kb"]),
                knob=f"{_QUEUE}max_sectors_kb",
            ),
        )
    )


def converge(table: Table, over: Space, recipe: str, seed: int) -> dict[str, list[int]]:
    """Return the evaluations that each phase of two passes took, by workload; pass after pass.

    A phase that never converges counts with all of its evaluations.
    """
    engine = make_engine(load_recipe(recipe), over, seed)
    rng = Random(seed)
    taken: dict[str, list[int]] = {name: [] for name in WORKLOADS}
    for workload in [*WORKLOADS, *WORKLOADS]:
        evaluations, converged = 0, False
        for _ in range(PHASE_GENERATIONS):
            asked = engine.ask()
            rates = sorted((table.rate(workload, one) for one in asked), reverse=True)
            better = fmean(rates[: (len(rates) + 1) // 2])
            converged = converged or better >= CONVERGED * table.best(workload)
            evaluations += 0 if converged else len(asked)
            engine.tell([table.score(workload, one, rng) for one in asked])
        taken[workload].append(evaluations)
    return taken


def summary(table: Table, over: Space) -> dict[str, Any]:
    """Return evaluations until convergence by workload, means over the seeds, and the reduction.

    As in the paper: the second pass with fingerprints, whose genes are known by then, against
    the run without.
    """
    runs = {
        recipe: [converge(table, over, recipe, seed) for seed in range(SEEDS)]
        for recipe in ("genetic-library", "fingerprinting")
    }
    rows = {}
    for name in WORKLOADS:
        without, first, second = (
            fmean(run[name][number] for run in runs[recipe])
            for recipe, number in (
                ("genetic-library", 1),
                ("fingerprinting", 0),
                ("fingerprinting", 1),
            )
        )
        rates = [median(cell.rates) for cell in table.cells[name].values()]
        rows[name] = {
            "without": without,
            "first_pass": first,
            "second_pass": second,
            "reduction": 1 - second / without if without else None,
            "paper_reduction": PAPER[name],
            "fingerprint": str(table.snapshots[name].fingerprint()),
            # Where the worst is nearly as good as the best there is nothing to converge to.
            "worst_of_best": min(rates) / max(rates),
        }
    return rows


def measure(bench: WorkloadBench, disk: str, repeats: int) -> tuple[Space, dict[str, Any]]:
    """Measure every chromosome under every workload, in random order; return the table as data."""
    over = _probed_space(bench, disk)
    jobs = [(name, one) for name in WORKLOADS for one in over.enumerate() for _ in range(repeats)]
    Random(_TABLE_SEED).shuffle(jobs)
    cells: dict[str, dict[str, list[Any]]] = {name: {} for name in WORKLOADS}
    for number, (name, chromosome) in enumerate(jobs, 1):
        done = bench.run(over.settings(chromosome, [disk]), WORKLOADS[name])
        if done is not None:
            cells[name].setdefault(key(chromosome), []).append(vars(done))
        print(f"{number}/{len(jobs)}", flush=True)
    snapshots = {name: _snapshot(bench, disk, workload) for name, workload in WORKLOADS.items()}
    return over, {"cells": cells, "snapshots": snapshots}


def read_table(data: Mapping[str, Any]) -> Table:
    """Return the table in what :func:`measure` returned."""
    cells = {
        name: {
            chromosome: Cell(
                [run["transferred_bytes"] / run["seconds"] for run in runs],
                [_figures(run) for run in runs],
            )
            for chromosome, runs in of.items()
        }
        for name, of in data["cells"].items()
    }
    return Table(cells, {name: Snapshot(**sums) for name, sums in data["snapshots"].items()})


def _figures(run: Mapping[str, float]) -> dict[str, float]:
    """Return what the recipe's phenotypes look at."""
    return {
        "ios": run["requests"],
        "sectors": run["transferred_bytes"] / 512,
        "queue_ms": run["latency_s"] * run["requests"] * 1000,
        "seconds": run["seconds"],
    }


def _snapshot(bench: WorkloadBench, disk: str, workload: Workload) -> dict[str, int]:
    """Return the sums over the bios of the workload, as the default has them."""
    total = Snapshot()
    with watching(LocalTarget(), WatchOptions(period_s=1, disks=[disk])) as watch:
        bench.run([], workload)
        for fact in watch.stop():
            if fact.key == "period":
                total += Snapshot(**parse_period(fact).sums)
    return vars(total)


def _probed_space(bench: WorkloadBench, disk: str) -> Space:
    names = ("scheduler", "read_ahead_kb", "max_sectors_kb")
    knobs = {name: f"{_QUEUE}{name}".replace("{disk}", disk) for name in names}
    probed = bench.trials.probe(list(knobs.values()))
    offered = probed[knobs["scheduler"]]
    default: dict[str, Any] = {name: int(probed[knobs[name]]) for name in names[1:]}
    default["scheduler"] = offered.partition("[")[2].partition("]")[0]
    return space(sorted(offered.replace("[", "").replace("]", "").split()), default)


def _next(choices: Sequence[int], value: int) -> int:
    return min(choices, key=lambda choice: abs(choice - value))


def main() -> None:
    """Measure unless there is a table, count, and write what came of it."""
    args = _arguments()
    if args.table:
        data = json.loads(args.table.read_text())["table"]
    else:
        with (
            orderly_exit(),
            loop_disk(FILE_MIB, BYTES_PER_SECOND, REQUESTS_PER_SECOND) as disk,
            workload_bench(disk, FILE_MIB, args.seconds, args.contended) as bench,
        ):
            over, data = measure(bench, disk.name, args.repeats)
            data["default"] = over.default()
            data["schedulers"] = list(over.genes[0].choices)
            data["kernel"] = os.uname().release
    over = space(data["schedulers"], data["default"])
    document = {
        "schema": 1,
        "bytes_per_second": BYTES_PER_SECOND,
        "requests_per_second": REQUESTS_PER_SECOND,
        "seeds": SEEDS,
        "phase_generations": PHASE_GENERATIONS,
        "converged": CONVERGED,
        "workloads": summary(read_table(data), over),
        "table": data,
    }
    args.output.write_text(json.dumps(document, indent=1) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--table", type=Path, help="count again on what this file has measured")
    parser.add_argument("--contended", action="store_true", help="keep runs that others disturbed")
    parser.add_argument("-o", "--output", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
