"""Tables as planes of bytes, which compress well, and what a reader needs to undo that.

A column of rows of n bytes becomes the first bytes of all rows, then the second ones, and so on;
integers that rise slowly are stored as differences. ``unpack`` of emulator/wasm/shim.c undoes it.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

_SAMPLE = 1 << 16  # rows, to see whether differences compress better

# Bytes of rows, bytes of a record, and of each column: offset, size, is_delta, place of its planes.
Directory = dict[str, dict[str, Any]]


def packed(tables: Mapping[str, npt.NDArray[Any]]) -> tuple[Directory, bytes]:
    """Return the planes of all tables, and the directory of them."""
    directory: Directory = {}
    planes: list[bytes] = []
    at = 0
    for name, table in tables.items():
        columns = []
        for offset, column in _columns(table):
            is_delta, plane = _planes(column)
            columns.append([offset, column.dtype.itemsize, int(is_delta), at])
            planes.append(plane)
            at += len(plane)
        directory[name] = {
            "rows": len(table),
            "stride": table.dtype.itemsize,
            "columns": columns,
        }
    return directory, b"".join(planes)


def _columns(table: npt.NDArray[Any]) -> list[tuple[int, npt.NDArray[Any]]]:
    """Return the offset in a record and the values of each column."""
    if table.dtype.fields is None:
        return [(0, table)]
    return [(int(field[1]), table[name]) for name, field in table.dtype.fields.items()]


def _planes(column: npt.NDArray[Any]) -> tuple[bool, bytes]:
    """Return the planes of a column, and whether they are of differences."""
    plain = np.ascontiguousarray(column)
    if plain.dtype.kind == "f":
        return False, _transposed(plain)
    unsigned = plain.view(f"u{plain.dtype.itemsize}")
    deltas = np.diff(unsigned, prepend=unsigned.dtype.type(0))
    is_delta = _cost(deltas) < _cost(unsigned)
    return is_delta, _transposed(deltas if is_delta else unsigned)


def _cost(values: npt.NDArray[Any]) -> int:
    return len(zlib.compress(_transposed(values[:_SAMPLE]), 1))


def _transposed(values: npt.NDArray[Any]) -> bytes:
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return little.view("u1").reshape(len(values), values.dtype.itemsize).T.tobytes()
