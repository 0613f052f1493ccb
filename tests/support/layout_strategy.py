"""Hypothesis strategies: where files and their compressed blocks are on their device."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from program_strategy import SIZES
from programs import PAGE

from foreread.emulator.linux.requests import EXTENT


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


@st.composite
def block_layouts(draw: st.DrawFn, sizes: list[int], block_pages: int) -> np.ndarray:
    """Draw extents of some compressed blocks of the files, longer than the longest request, too."""
    rows = []
    for file, size in enumerate(sizes):
        each = block_pages * PAGE // 512
        blocks = -(-SIZES[size] // (block_pages * PAGE))
        numbers = draw(st.lists(st.integers(0, blocks - 1), max_size=8, unique=True))
        for number in sorted(numbers):
            sectors = draw(st.sampled_from([1, 8, 100, 255, 256, 264, 1000, 100_000]))
            sector = draw(st.sampled_from([0, 8, 1 << 30]))
            rows.append((file, number * each, sector, sectors, draw(st.sampled_from([1, 1, 0]))))
    return np.array(rows, EXTENT)
