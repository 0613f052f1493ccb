"""Hypothesis strategy: where files are on their device."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from program_strategy import SIZES

from emulator.linux.requests import EXTENT


@st.composite
def layouts(draw: st.DrawFn, sizes: list[int]) -> np.ndarray:
    """Draw extents of some of the files: pieces in any order, with holes and unwritten ones."""
    rows = []
    for file, size in enumerate(sizes):
        at = 0
        end = -(-SIZES[size] // 512)
        while draw(st.booleans()) and at < end and len(rows) < 20:
            at += draw(st.sampled_from([0, 0, 0, 8, 256, 800]))
            length = draw(st.sampled_from([1, 8, 64, 256, 256, 1000, 100_000]))
            sector = draw(st.sampled_from([at, 1 << 30, 1 << 31]))
            rows.append((file, at, sector, length, draw(st.sampled_from([1, 1, 1, 0]))))
            at += length
    return np.array(rows, EXTENT)
