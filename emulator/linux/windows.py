"""The kernel's readahead under many windows, in C; windows run in parallel threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from foreread.emulator import _linux
from foreread.emulator.fixed import EmulationError
from foreread.emulator.linux.operations import FILE, MAPPING, OPERATION, Machine, Program
from foreread.emulator.linux.parallel import in_threads
from foreread.emulator.linux.requests import EXTENT, Limits, in_order
from foreread.emulator.linux.rules import Rules, names_in_c

MAX_WINDOW: int = _linux.MAX_WINDOW
# struct lx_insert: ``run`` as in Outcome.inserts; ``operation`` is the row that it was read for,
# ``cause`` the rule (Cause) that reads it.
INSERT = np.dtype(
    [
        ("file", "u4"),
        ("index", "u8"),
        ("order", "u4"),
        ("run", "u4"),
        ("operation", "u4"),
        ("cause", "u4"),
    ],
    align=True,
)
_NUMBERS = [number.name for number in (*fields(Machine), *fields(Limits))]
# The core sees numbers only: a core with other records, or other names in another order, would
# compute something else.
if (
    getattr(_linux, "INSERT_BYTES", 0) != INSERT.itemsize
    or getattr(_linux, "RULES", "") != names_in_c()
    or getattr(_linux, "NUMBERS", "").split() != _NUMBERS
):
    raise ImportError("the emulator's C core was built from other sources: run `make setup`")


@dataclass(frozen=True, eq=False)
class Emulated:
    """Counts by group of files (rows) and window (columns), int64.

    ``requests`` reach the device, ``pages`` are read from it.
    """

    requests: npt.NDArray[np.int64]
    pages: npt.NDArray[np.int64]


class Emulation:
    """A program on files at known places, ready for any window.

    ``extents`` (EXTENT) may come in any order; ``group`` (u4) is the row of the counts that each
    file adds to. Raises EmulationError for arrays of other kinds; an emulation does so for
    rows, pages or limits out of range.
    """

    def __init__(
        self,
        program: Program,
        rules: Rules,
        machine: Machine,
        limits: Limits,
        extents: npt.NDArray[np.void],
        group: npt.NDArray[np.uint32],
    ) -> None:
        if group.dtype != np.uint32 or group.ndim != 1:
            raise _wrong("group", np.dtype("u4"))
        operations, *others = tables(program, rules, machine, limits, extents)
        emulate: Callable[..., bytes] = _linux.emulate
        others.append(np.ascontiguousarray(group))
        self._in_time = partial(emulate, operations, *others)
        # Without a limit of memory files do not act upon each other: file by file needs little, and
        # stays in the processor's cache.
        if not machine.cache_pages:
            operations = operations[np.argsort(program.file_of_operations(), kind="stable")]
        self._counting = partial(emulate, operations, *others)
        self._groups = int(group.max()) + 1 if len(group) else 0

    def counts(self, windows: Sequence[int]) -> Emulated:
        """Return the counts under each of ``windows`` (pages)."""
        rows = in_threads(self._counts, list(windows))
        counts = np.array(rows, np.int64).reshape(len(rows), 2, self._groups)
        return Emulated(counts[:, 0].T.copy(), counts[:, 1].T.copy())

    def inserts(self, window: int) -> npt.NDArray[np.void]:
        """Return the folios (INSERT) that enter the page cache under one window, in order."""
        requests, pages = np.zeros((2, self._groups), np.int64)
        return np.frombuffer(self._run(self._in_time, [window], requests, pages, True), INSERT)

    def _counts(self, windows: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return requests and pages by group, of each window."""
        counts = np.zeros((2, len(windows), self._groups), np.int64)
        if len(windows):
            self._run(self._counting, windows, counts[0].ravel(), counts[1].ravel(), False)
        return counts.swapaxes(0, 1)

    @staticmethod
    def _run(
        emulate: Callable[..., bytes],
        windows: Sequence[int],
        requests: npt.NDArray[np.int64],
        pages: npt.NDArray[np.int64],
        log: bool,
    ) -> bytes:
        with errors():
            return emulate(np.array(windows, np.int64), requests, pages, log)


def tables(
    program: Program,
    rules: Rules,
    machine: Machine,
    limits: Limits,
    extents: npt.NDArray[np.void],
) -> list[npt.NDArray[Any]]:
    """Return the first arguments of the core's functions, checked; operations come first."""
    arrays = {
        "operations": (program.operations, OPERATION),
        "mappings": (program.mappings, MAPPING),
        "handles": (program.handles, np.dtype("u4")),
        "files": (program.files, FILE),
        "extents": (in_order(extents), EXTENT),
    }
    for name, (array, dtype) in arrays.items():
        if array.dtype != dtype or array.ndim != 1:
            raise _wrong(name, dtype)
    rule_values = np.array(rules.numbers(), np.int32)
    numbers = np.array([*_values(machine), *_values(limits)], np.int64)
    return [*(np.ascontiguousarray(array) for array, _ in arrays.values()), rule_values, numbers]


def _values(numbers: Rules | Machine | Limits) -> list[int]:
    """Return the fields in their order; ``astuple`` would copy each of them deeply."""
    return [getattr(numbers, field.name) for field in fields(numbers)]


def _wrong(name: str, dtype: np.dtype[Any]) -> EmulationError:
    return EmulationError(
        f"{name}: expected a one-dimensional array of {dtype}", "pass the right kind"
    )


@contextmanager
def errors() -> Iterator[None]:
    """Turn the core's errors into EmulationError."""
    try:
        yield
    except ValueError as error:
        message, *remedy = error.args
        raise EmulationError(message, remedy[0] if remedy else "record again") from error
