"""Offers of advice that the application itself gives about a file, just before it uses it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from foreread.analyzer.advise.early import Call, in_the_application, ranges_of
from foreread.analyzer.advise.early_source import names_of, source_of
from foreread.analyzer.advise.offer import Offer
from foreread.analyzer.advise.situation import Situation, files_of
from foreread.analyzer.advise.variant import Variant
from foreread.emulator.linux.operations import Op

MOST_FILES = 12


def early(situation: Situation) -> Iterator[Offer]:
    """Yield, for the files with most requests, advice with either call."""
    variant = situation.present[0]
    requests = situation.requests
    rows = np.argsort(-requests, kind="stable")[:MOST_FILES].tolist()
    for row in rows:
        path = situation.recording.paths[row]
        if path is None or requests[row] < 2:
            continue
        mapped = _is_mapped(variant, row)
        yield _offer(situation, row, path, "WILLNEED", mapped)
        if mapped:
            yield _offer(situation, row, path, "POPULATE", mapped)


def _is_mapped(variant: Variant, row: int) -> bool:
    program = variant.run.program
    own = program.file_of_operations() == row
    return bool((own & (program.operations["op"] == Op.FAULT)).any())


def _offer(situation: Situation, row: int, path: str, call: Call, mapped: bool) -> Offer:
    name = {
        (False, "WILLNEED"): "POSIX_FADV_WILLNEED",
        (True, "WILLNEED"): "MADV_WILLNEED",
        (True, "POPULATE"): "MADV_POPULATE_READ",
    }[mapped, call]
    page = situation.prediction.page_size
    most = situation.present[0].run.machine.io_pages * page
    rows = ranges_of(situation.present[0], [row], situation.gap)
    ranges = tuple((path, first * page, pages * page) for _, first, pages in rows)
    source, function = names_of(path)
    return Offer(
        "early",
        f"file {path}",
        f"{name} for {path} just before its first use",
        partial(_advised, path=path, call=call, gap=situation.gap),
        (f"cc -c {source}  # call {function}() just before the first use",),
        "a change in the application",
        "a file of another build needs other ranges; MADV_POPULATE_READ needs Linux 5.14"
        if call == "POPULATE"
        else "a file of another build needs other ranges",
        ranges=tuple(sorted(ranges)),
        lists={source: source_of(path, [(at, length) for _, at, length in ranges], call, most)},
    )


def _advised(variant: Variant, path: str, call: Call, gap: int) -> Variant:
    for row in files_of(variant.start.recording, [path]):
        variant = in_the_application(variant, row, call, gap) or variant
    return variant
