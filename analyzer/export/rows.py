"""Events as rows with names in place of numbers, for tables: CSV and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from foreread.analyzer.export.events import Exported, Track, what
from foreread.analyzer.ingest.tables import Array, MissingLibrary
from foreread.tracer.formats.capture import dev_text

COLUMNS = (
    "run",
    "track",
    "start_ns",
    "duration_ns",
    "thread",
    "file",
    "page",
    "pages",
    "disk",
    "sector",
    "sectors",
    "what",
)
# A spreadsheet interprets a cell with this beginning as a formula (OWASP, CSV injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_of(exported: Exported) -> bytes:
    """Return CSV in UTF-8: a header, then a line for each event; missing values are empty.

    A name that a spreadsheet would interpret as a formula has an apostrophe before it.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(zip(*(_cells(exported, name) for name in COLUMNS), strict=True))
    return text.getvalue().encode()


def parquet_of(exported: Exported) -> bytes:
    """Return a Parquet file of the same columns; null where there is no value.

    Raises MissingLibrary without pyarrow.
    """
    arrow, parquet = _arrow()
    columns = {name: _arrow_column(arrow, exported, name) for name in COLUMNS}
    table = arrow.table(columns, metadata={"notes": "\n".join(exported.notes)})
    out = io.BytesIO()
    parquet.write_table(table, out, compression="zstd")
    return out.getvalue()


def _arrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingLibrary(
            "Parquet needs pyarrow, which is not installed", "pip install 'foreread[arrow]'"
        ) from error


def _texts(exported: Exported, name: str) -> tuple[list[str], Array] | None:
    """Return the distinct texts of a column, and the index of each event's text (-1: none)."""
    events = exported.events
    match name:
        case "run":
            return list(exported.runs), events["run"].astype(np.int32)
        case "track":
            return [track.name.lower() for track in Track], events["track"].astype(np.int32)
        case "file":
            return list(exported.files), events["file"]
        case "disk":
            devs, row = np.unique(events["dev"], return_inverse=True)
            names = [dev_text(dev) for dev in devs.tolist()]
            none = events["track"] != Track.REQUESTS
            return names, np.where(none, -1, row).astype(np.int32)
        case "what":
            both = events["track"].astype(np.int64) << 16 | events["detail"]
            kinds, row = np.unique(both, return_inverse=True)
            names = [what(kind >> 16, kind & 0xFFFF) for kind in kinds.tolist()]
            return names, row.astype(np.int32)
    return None


def _numbers(exported: Exported, name: str) -> tuple[Array, Array]:
    """Return a column of numbers, and the rows without a value."""
    values = exported.events[name]
    if name in ("pages", "sectors"):
        place = "page" if name == "pages" else "sector"
        return values, np.asarray(exported.events[place] < 0)
    if name == "start_ns":  # the trace of another tool may have events before the run
        return values, np.zeros(len(values), bool)
    return values, np.asarray(values < 0)


def _cells(exported: Exported, name: str) -> Iterator[object]:
    texts = _texts(exported, name)
    if texts is not None:
        names, row = [*map(_inert, texts[0])], texts[1]
        return ("" if at < 0 else names[at] for at in row.tolist())
    values, none = _numbers(exported, name)
    return ("" if no else value for value, no in zip(values.tolist(), none.tolist(), strict=True))


def _inert(text: str) -> str:
    """Return a text that a spreadsheet does not interpret as a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _arrow_column(arrow: Any, exported: Exported, name: str) -> Any:
    texts = _texts(exported, name)
    if texts is not None:
        names, row = texts
        indices = arrow.array(row, arrow.int32(), mask=row < 0)
        return arrow.DictionaryArray.from_arrays(indices, arrow.array(names, arrow.string()))
    values, none = _numbers(exported, name)
    return arrow.array(values, mask=none)
