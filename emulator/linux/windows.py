"""The kernel's readahead under many windows, in C; windows run in parallel threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from emulator import _linux
from emulator.fixed import EmulationError
from emulator.linux.operations import FILE, MAPPING, OPERATION, Machine, Program
from emulator.linux.requests import EXTENT, Limits
from emulator.linux.rules import Rules

MAX_WINDOW: int = _linux.MAX_WINDOW
# struct lx_insert: ``run`` as in Outcome.inserts.
INSERT = np.dtype([("file", "u4"), ("index", "u8"), ("order", "u4"), ("run", "u4")], align=True)


@dataclass(frozen=True, eq=False)
class Emulated:
    """Counts by group of files (rows) and window (columns), int64.

    ``requests`` reach the device, ``pages`` are read from it.
    """

    requests: npt.NDArray[np.int64]
    pages: npt.NDArray[np.int64]


class Emulation:
    """A program on files whose place is known, ready for any window.

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
        extents = np.sort(extents, order=["file", "at"])
        arrays = {
            "operations": (program.operations, OPERATION),
            "mappings": (program.mappings, MAPPING),
            "handles": (program.handles, np.dtype("u4")),
            "files": (program.files, FILE),
            "extents": (extents, EXTENT),
            "group": (group, np.dtype("u4")),
        }
        for name, (array, dtype) in arrays.items():
            if array.dtype != dtype or array.ndim != 1:
                raise EmulationError(
                    f"{name}: expected a one-dimensional array of {dtype}", "pass the right kind"
                )
        emulate: Callable[..., bytes] = _linux.emulate
        self._emulate = partial(
            emulate,
            *(np.ascontiguousarray(array) for array, _ in arrays.values()),
            np.array([int(value) for value in astuple(rules)], np.int32),
            np.array([*astuple(machine), *astuple(limits)], np.int64),
        )
        self._groups = int(group.max()) + 1 if len(group) else 0

    def counts(self, windows: Sequence[int]) -> Emulated:
        """Return the counts under each of ``windows`` (pages)."""
        counts = np.zeros((2, len(windows), self._groups), np.int64)
        with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
            jobs = [
                pool.submit(self._run, counts[0, at], counts[1, at], window, False)
                for at, window in enumerate(windows)
            ]
            for job in jobs:
                job.result()
        return Emulated(counts[0].T.copy(), counts[1].T.copy())

    def inserts(self, window: int) -> npt.NDArray[np.void]:
        """Return the folios (INSERT) that enter the page cache under one window, in order."""
        unused = np.zeros((2, self._groups), np.int64)
        return np.frombuffer(self._run(unused[0], unused[1], window, True), INSERT)

    def _run(
        self,
        requests: npt.NDArray[np.int64],
        pages: npt.NDArray[np.int64],
        window: int,
        log: bool,
    ) -> bytes:
        try:
            return self._emulate(requests, pages, window, log)
        except ValueError as error:
            message, *remedy = error.args
            raise EmulationError(message, remedy[0] if remedy else "record again") from error
