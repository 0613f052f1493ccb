"""Pages that a run brought in, as golden files have them: by inode, in [first, count] of runs.

python tests/support/golden_pages.py CAPTURE prints those of a capture as JSON.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.recording import Recording

Pages = dict[str, list[list[int]]]


def brought(recording: Recording) -> Pages:
    """Return the pages that the command of a recording brought in, within its files."""
    assert recording.inserts is not None and recording.threads is not None
    data = recording.inserts.data
    columns = (data[name].tolist() for name in ("pid", "ino", "index", "value"))
    own = (row for row in zip(*columns, strict=True) if row[0] in recording.threads)
    return within(recording, ((ino, index, order) for _, ino, index, order in own))


def within(recording: Recording, folios: Iterable[tuple[int, int, int]]) -> Pages:
    """Return the pages of (inode, first page, order) that lie within a recording's files."""
    sizes = dict(
        zip(recording.files["ino"].tolist(), recording.files["size_bytes"].tolist(), strict=True)
    )
    pages = defaultdict(set)
    for ino, first, order in folios:
        end = -(-sizes.get(ino, 0) // recording.page_size)
        pages[ino].update(page for page in range(first, first + (1 << order)) if page < end)
    return {str(ino): _runs(sorted(found)) for ino, found in sorted(pages.items()) if found}


def _runs(pages: list[int]) -> list[list[int]]:
    runs = groupby(enumerate(pages), lambda one: one[1] - one[0])
    return [[found[0][1], len(found)] for _, group in runs for found in [list(group)]]


if __name__ == "__main__":
    print(json.dumps(brought(load(Path(sys.argv[1])))))
