"""Campaigns for tests: a small measured space, an engine that searches at random, specs."""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from dataclasses import replace

from foreread.analyzer.tuner.engine import Scored
from foreread.analyzer.tuner.space.genes import Chromosome, Gene, Space
from foreread.analyzer.tuner.store.records import Board, Spec
from studies.tuning.landscape import Row, Table

WINDOW = Gene(name="window", kind="power2", lowest=4, highest=512, default=128)
SCHEDULER = Gene(name="scheduler", kind="categorical", choices=("none", "bfq"), default="none")
IDLE = Gene(
    name="slice_idle", kind="integer", highest=3, default=3, requires={"scheduler": ("bfq",)}
)
SPACE = Space((WINDOW, SCHEDULER, IDLE))
BEST = {"window": 32, "scheduler": "bfq", "slice_idle": 1}


class RandomSearch:
    """Asks for what it was not asked before, some at a time, and once more for the best."""

    def __init__(self, seed: int, space: Space = SPACE, batch: int = 4) -> None:
        self.received: list[Scored] = []
        self._rng = random.Random(seed)
        self._left = list(space.enumerate())
        self._batch = batch

    def ask(self) -> list[Chromosome]:
        if not self._left:
            return []
        self._rng.shuffle(self._left)
        taken, self._left = self._left[: self._batch], self._left[self._batch :]
        best = max(self.received, key=lambda one: one.fitness, default=None)
        return [*taken, *([best.chromosome] if best else [])]

    def tell(self, scored: Sequence[Scored]) -> None:
        self.received.extend(scored)


def seconds_of(chromosome: Chromosome, scenario: str) -> float:
    """Return what a start-up takes at a point, before any noise."""
    window = int(chromosome["window"])
    seconds = 2.0 + abs(window.bit_length() - 6) * 0.3
    if scenario == "reader":
        idle = chromosome["slice_idle"]
        seconds += 3.0 if idle == "none" else abs(int(idle) - 1) * 0.2
    return seconds


def table(scenarios: Sequence[str] = ("idle", "reader"), noise: float = 0.01) -> Table:
    """Return the measured space, three repeats a point."""
    rows = []
    for chromosome in SPACE.enumerate():
        values = {}
        for scenario in scenarios:
            rng = random.Random(zlib.crc32(f"{chromosome}{scenario}".encode()))
            true = seconds_of(chromosome, scenario)
            values[scenario] = [true * rng.gauss(1, noise) for _ in range(3)]
        rows.append(Row(list(chromosome.values()), values))
    return Table(scenarios=list(scenarios), genes=list(SPACE.genes), rows=rows)


def spec(**changes: object) -> Spec:
    """Return the spec of a campaign over the measured space."""
    made = Spec(
        board=Board("testboard", "6.1.0", 4096, ("sda",)),
        scenarios=("idle", "reader"),
        default=SPACE.default(),
        seed=7,
        command=("true", "a b"),
        foreread="0",
    )
    return replace(made, **changes)
