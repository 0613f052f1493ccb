"""Results as tables of numpy columns: predicted windows, measured runs, and the two compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch

import numpy as np

from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import TEXT, Array, Column, Schema, Table
from foreread.analyzer.predict.beside import Loads
from foreread.analyzer.predict.prediction import Curve, Prediction
from foreread.analyzer.predict.validate import Figures, Validation
from foreread.tracer.formats.sweep import Sweep

WINDOWS = Schema(
    "windows",
    (
        Column("read_ahead_kb", "i8", "KiB", "maximal readahead window"),
        Column("requests", "i8", "", "predicted reads that reach the disk (F)"),
        Column("pages", "i8", "pages", "predicted pages read"),
        Column("unused_pages", "i8", "pages", "of them never accessed (G)"),
        Column("c_opt", "f8", "", "F² + G² of the published fixed window"),
        Column("seconds", "f8", "s", "predicted start-up time; NaN if unknown"),
        Column("seconds_low", "f8", "s", "lower end of its band; NaN if unknown"),
        Column("seconds_high", "f8", "s", "upper end of its band; NaN if unknown"),
    ),
)

RUNS = Schema(
    "runs",
    (
        Column("read_ahead_kb", "i8", "KiB", "window of the run"),
        Column("run", "i8", "", "number of the run at this window, from 0"),
        Column("seconds", "f8", "s", "measured start-up time"),
        Column("requests", "i8", "", "reads that the disks served, metadata included"),
        Column("pages", "f8", "pages", "pages that the disks served, metadata included"),
    ),
)

LOADS = Schema(
    "loads",
    (
        Column("load", TEXT, "", "load beside the start; idle first"),
        Column("read_ahead_kb", "i8", "KiB", "maximal readahead window"),
        Column("seconds", "f8", "s", "predicted start-up time beside the load"),
        Column("seconds_low", "f8", "s", "lower end of its band"),
        Column("seconds_high", "f8", "s", "upper end of its band"),
    ),
)


class TableError(AnalyzerError, TypeError):
    """A result that is not a table."""


_SIDES = ("predicted", "measured", "error")
COMPARED = Schema(
    "compared",
    (
        Column("read_ahead_kb", "i8", "KiB", "measured window"),
        *(
            Column(f"{name}_{side}", "f8", "" if side == "error" else unit, f"{meaning}, {side}")
            for name, unit, meaning in (
                ("requests", "", "reads that reach the disk"),
                ("pages", "pages", "pages read"),
                ("seconds", "s", "start-up time"),
            )
            for side in _SIDES
        ),
    ),
)


@singledispatch
def table(of: object) -> Table:
    """Return a result as a table of numpy columns, which goes on to Arrow, pandas or polars.

    Args:
        of: a Prediction (its total) or one of its Curves: one row a window; its ``loads``: one row
            a load and window; a Sweep: one row a run; a Validation: one row a measured window; a
            Recording: its accesses.

    Raises:
        TableError: ``of`` is none of these.
    """
    raise TableError(
        f"{type(of).__name__} is not a table",
        "give a Prediction, a Curve, its loads, a Sweep, a Validation or a Recording",
    )


@table.register
def _of_prediction(of: Prediction) -> Table:
    return table(of.total)


@table.register
def _of_recording(of: Recording) -> Table:
    return of.accesses


@table.register
def _of_curve(of: Curve) -> Table:
    return table_of(
        WINDOWS,
        {
            "read_ahead_kb": of.read_ahead_kb,
            "requests": of.f,
            "pages": of.pages,
            "unused_pages": of.g,
            "c_opt": of.c_opt,
            "seconds": _known(of.seconds, of),
            "seconds_low": _known(of.seconds_low, of),
            "seconds_high": _known(of.seconds_high, of),
        },
    )


@table.register
def _of_loads(of: Loads) -> Table:
    rows = [
        (row.load, *figures)
        for row in of.rows
        for figures in zip(
            of.read_ahead_kb if row.predicted else (),
            row.seconds,
            row.seconds_low,
            row.seconds_high,
            strict=True,
        )
    ]
    columns = zip(*rows, strict=True) if rows else [()] * len(LOADS.columns)
    return table_of(LOADS, dict(zip((c.name for c in LOADS.columns), columns, strict=True)))


@table.register
def _of_sweep(of: Sweep) -> Table:
    rows = [
        (point.read_ahead_kb, run, *figures)
        for point in of.points
        for run, figures in enumerate(zip(point.seconds, point.requests, point.pages, strict=False))
    ]
    columns = zip(*rows, strict=True) if rows else [()] * len(RUNS.columns)
    return table_of(RUNS, dict(zip((c.name for c in RUNS.columns), columns, strict=True)))


@table.register
def _of_validation(of: Validation) -> Table:
    columns: dict[str, Sequence[float | None]] = {
        "read_ahead_kb": [point.read_ahead_kb for point in of.points]
    }
    for side in _SIDES:
        figures: list[Figures] = [getattr(point, side) for point in of.points]
        columns[f"requests_{side}"] = [row.f for row in figures]
        columns[f"pages_{side}"] = [row.pages for row in figures]
        columns[f"seconds_{side}"] = [row.seconds for row in figures]
    return table_of(COMPARED, columns)


def _known(column: Sequence[float | None] | None, of: Curve) -> Sequence[float | None]:
    return [None] * len(of.windows) if column is None else column


def table_of(schema: Schema, columns: Mapping[str, Sequence[float | str | None]]) -> Table:
    """Return a table whose columns are read-only copies of ``columns``."""
    return Table(schema, {c.name: _array(columns[c.name], c.dtype) for c in schema.columns})


def _array(values: Sequence[float | str | None], dtype: str) -> Array:
    """Return a read-only column; what is unknown is NaN."""
    array = np.array([np.nan if value is None else value for value in values], dtype)
    array.flags.writeable = False
    return array
