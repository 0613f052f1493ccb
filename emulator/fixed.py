"""The fixed-window model of readahead, for all windows in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from foreread.emulator import _fixed
from foreread.emulator.error import EmulatorError

Isa = Literal["auto", "baseline", "avx2"]
MAX_WINDOW: int = _fixed.MAX_WINDOW


class EmulationError(EmulatorError, ValueError):
    """Invalid accesses or windows; ``remedy`` says what to do."""


@dataclass(frozen=True, eq=False)
class FixedWindow:
    """Counts by window; the arrays are int64 and of one length.

    ``windows`` are in pages (Rws), from 0; ``requests`` is F; ``loaded`` counts the distinct
    pages loaded; ``tap`` the distinct pages accessed (Tap).
    """

    windows: npt.NDArray[np.int64]
    requests: npt.NDArray[np.int64]
    loaded: npt.NDArray[np.int64]
    tap: int

    @property
    def wasted(self) -> npt.NDArray[np.int64]:
        """Pages really loaded and never accessed: G, exact."""
        return self.loaded - self.tap

    @property
    def wasted_formula(self) -> npt.NDArray[np.int64]:
        """G as published, F·(w+1) − Tap (Linux Symposium 2010, equation 3)."""
        return self.requests * (self.windows + 1) - self.tap


def fixed_window(
    file: npt.NDArray[np.uint32],
    page: npt.NDArray[np.uint64],
    file_pages: npt.NDArray[np.int64],
    *,
    max_window: int = 1023,
    isa: Isa = "auto",
) -> FixedWindow:
    """Emulate a readahead window of every size from 0 to ``max_window`` pages.

    The cache is infinite. The touch of a page p that is not loaded is one request: it loads
    p..p+w, clipped at the end of the file, and pages already loaded are not loaded again.

    ``file`` (rows of ``file_pages``) and ``page`` (page indexes) are the accesses in time
    order, of one length; only the first touch of a page counts. ``file_pages`` are lengths in
    pages, -1 where unknown: no clip. A page touched beyond its file's length (the file shrank
    after it was read, or its size was taken before it grew) proves a longer file, which is then
    assumed to end after the last page touched. ``isa`` picks the instruction set.

    Arrays must be contiguous, aligned and of the dtypes above. Extra memory is at most 32 bytes
    an access, 8 a file, and 4·(max_window + 1)² bytes if touches nest as deep as they can.

    Raises TypeError for other arrays, EmulationError for a file row or window out of range.
    Source: Gorelkina et al., Linux Symposium 2010, section 2.3.
    """
    if not 0 <= max_window <= MAX_WINDOW:
        raise EmulationError(
            f"the largest window, {max_window} pages, is out of range",
            f"choose a largest window between 0 and {MAX_WINDOW} pages",
        )
    requests, loaded = np.empty((2, max_window + 1), np.int64)
    try:
        tap = _fixed.fixed_window(file, page, file_pages, requests, loaded, isa)
    except ValueError as error:
        raise EmulationError(*_texts(error)) from error
    return FixedWindow(np.arange(max_window + 1, dtype=np.int64), requests, loaded, tap)


def _texts(error: ValueError) -> tuple[str, str]:
    message, *remedy = error.args
    return message, remedy[0] if remedy else "pass contiguous arrays of one length"
