"""A measured table of a whole space, on which engines compete: an evaluator without a machine.

Every evaluation is one of the repeats measured at that point, drawn by the seed. The true value of
a point is the median of its repeats; the optimum is the best of all points.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from statistics import fmean, median
from typing import Annotated

import msgspec

from foreread.analyzer.tuner.evaluation import LARGEST, Attempt, chromosome_of, key_of
from foreread.analyzer.tuner.space.genes import Chromosome, Gene, GeneError, Space, Whole, Word
from foreread.analyzer.tuner.store.records import Objective
from studies.error import StudyError

SCHEMA = 1
Value = Annotated[float, msgspec.Meta(gt=0, le=LARGEST)]
Values = Annotated[list[Value], msgspec.Meta(min_length=1)]


class LandscapeError(StudyError, ValueError):
    """A landscape file that cannot be used; ``remedy`` says what to do."""

    def __init__(self, message: str, remedy: str = "give a landscape that was measured") -> None:
        super().__init__(message, remedy)


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One point: its alleles in the order of the genes, and its repeats by scenario."""

    alleles: list[Whole | Word]
    values: dict[str, Values]


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All points that were measured, and how."""

    schema: int = SCHEMA
    foreread: str = ""
    created: str = ""
    board: str = ""
    kernel: str = ""
    command: list[str] = []
    notes: list[str] = []
    objective: Objective = "seconds"
    scenarios: Annotated[list[str], msgspec.Meta(min_length=1)]
    genes: Annotated[list[Gene], msgspec.Meta(min_length=1)]
    rows: Annotated[list[Row], msgspec.Meta(min_length=1)]


class Landscape:
    """An evaluator over a table; ``table`` must be sound, or LandscapeError is raised."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.space = _space_of(table)
        self._seed = 0
        self._points = _points_of(table, self.space)
        self._sign = 1.0 if table.objective == "seconds" else -1.0
        self._costs = {key: self._mean_cost(values) for key, values in self._points.items()}
        self.optimum = chromosome_of(min(self._costs, key=self._costs.__getitem__))

    @property
    def scenarios(self) -> list[str]:
        """The scenarios that count together."""
        return self.table.scenarios

    @property
    def objective(self) -> Objective:
        """What the values are."""
        return self.table.objective

    @property
    def points(self) -> int:
        """Number of points that were measured."""
        return len(self._points)

    def reseed(self, seed: int) -> None:
        """Take the seed of the next draw."""
        self._seed = seed

    def evaluate(self, chromosome: Chromosome, scenario: str) -> Attempt:
        """Draw one of the point's repeats; the same one for the same seed."""
        key = key_of(chromosome)
        if key not in self._points:
            return Attempt("invalid", notes=("this point was not measured",))
        draw = random.Random(f"{self._seed}/{scenario}/{key}")
        return Attempt("ok", draw.choice(self._points[key][scenario]))

    def regret(self, chromosome: Chromosome) -> float:
        """Return how much worse a point is than the optimum: 0.02 is 2 % more seconds.

        By medians, and the geometric mean over scenarios.
        """
        return math.expm1(self._costs[key_of(chromosome)] - self._costs[key_of(self.optimum)])

    def medians(self, chromosome: Chromosome) -> dict[str, float]:
        """Return the measurement of a point: the median of its repeats by scenario."""
        return {name: median(values) for name, values in self._points[key_of(chromosome)].items()}

    def _mean_cost(self, values: dict[str, list[float]]) -> float:
        return self._sign * fmean(math.log(median(repeats)) for repeats in values.values())


def read_landscape(path: Path) -> Landscape:
    """Return the landscape in ``path``; raises LandscapeError."""
    if path.exists() and not path.is_file():  # a device or pipe might never end
        raise LandscapeError(f"{path} is not a landscape: it is not a file")
    try:
        table = msgspec.convert(json.loads(path.read_bytes()), type=Table)
        if table.schema != SCHEMA:
            raise LandscapeError(
                f"{path} has schema {table.schema}, this foreread reads {SCHEMA}", "update foreread"
            )
        return Landscape(table)
    except LandscapeError:
        raise
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise LandscapeError(f"{path} is not a landscape: {error}") from error


def write_table(path: Path, table: Table) -> None:
    """Write ``table`` as JSON, atomically, one row a line."""
    document = msgspec.to_builtins(table)
    rows = ",\n  ".join(json.dumps(row) for row in document.pop("rows"))
    text = json.dumps(document, indent=1).rstrip("}\n") + f',\n "rows": [\n  {rows}\n ]\n}}\n'
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text)
    temporary.replace(path)


def _space_of(table: Table) -> Space:
    try:
        return Space(tuple(table.genes))
    except GeneError as error:
        raise LandscapeError(str(error), error.remedy) from error


def _points_of(table: Table, space: Space) -> dict[str, dict[str, list[float]]]:
    points: dict[str, dict[str, list[float]]] = {}
    for number, row in enumerate(table.rows, 1):
        if len(row.alleles) != len(space.names):
            raise LandscapeError(f"row {number} has not one allele for each gene")
        chromosome = dict(zip(space.names, row.alleles, strict=True))
        key = key_of(chromosome)
        if not space.valid(chromosome) or key in points:
            raise LandscapeError(f"row {number} is not a valid point, or is there twice")
        if list(row.values) != table.scenarios:
            raise LandscapeError(f"row {number} has not the scenarios {', '.join(table.scenarios)}")
        points[key] = row.values
    if key_of(space.default()) not in points:
        raise LandscapeError("the default was not measured", "measure it, too")
    return points
