"""Offers for what should not be read at all: paths that are not there, and pages read twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from foreread.analyzer.advise.again import DROPPED
from foreread.analyzer.advise.bench import Bench
from foreread.analyzer.advise.metadata import (
    OPENS,
    metadata_steps,
    missing_paths,
    steps_within,
    without_reads,
)
from foreread.analyzer.advise.offer import Offer
from foreread.analyzer.advise.situation import Situation
from foreread.analyzer.advise.variant import Variant
from foreread.boards.base.counted import plural
from foreread.emulator.linux.steps import AHEAD


def lookups(situation: Situation) -> Iterator[Offer]:
    """Yield the offer to avoid the metadata reads of paths that do not exist."""
    missing = missing_paths(situation.recording)
    if not missing.number:
        return
    calls = ", ".join(f"{number:,} {name}" for name, number in missing.calls.items())
    yield Offer(
        "metadata",
        "metadata",
        f"no search for {plural(missing.number, 'path')} that do not exist ({calls})",
        _found_at_once,
        (
            "strace -f -e trace=%file -Z COMMAND  # lists them",
            "shorten the search: RUNPATH, LD_LIBRARY_PATH, PYTHONPATH, XDG_DATA_DIRS, ld.so.cache",
        ),
        "packaging",
        "a path that another start needs must stay",
    )


def _found_at_once(variant: Variant) -> Variant:
    spans = missing_paths(variant.start.recording).spans
    return without_reads(variant, steps_within(variant, spans))


def second_reads(situation: Situation) -> Iterator[Offer]:
    """Yield the offer to keep pages that had left the page cache when they were read again."""
    again = situation.again
    if not len(again.reads):
        return
    by_pid = {variant.start.recording.path: variant for variant in situation.first}
    yield Offer(
        "again",
        "again",
        f"read nothing twice: {again.named(situation.recording)}",
        partial(_first_only, first=by_pid),
        (DROPPED,),
        "a change in the application",
        "pages that stay in the cache need memory",
    )


def _first_only(variant: Variant, first: dict[str | None, Variant]) -> Variant:
    first_reads = first[variant.start.recording.path]
    return replace(first_reads, window=variant.window)


def unseen_lookups(bench: Bench) -> Iterator[str]:
    """Yield what the capture cannot show of metadata, and the most that it can cost."""
    situation = bench.situation
    missing = missing_paths(situation.recording)
    rows = metadata_steps(situation.present[0])
    if not len(rows):
        return
    without = without_reads(situation.present[0], rows).cost().seconds
    most = max(situation.present[0].cost().seconds - without, 0.0)
    ahead = situation.present[0].run.steps["meta"][rows] & AHEAD > 0
    reads = plural(int((~ahead).sum()), "read")
    yield (
        f"metadata: the start waits for {reads} of it, at most {most:.3f} s, which a window does "
        "not change"
    )
    if missing.unseen:
        opens = "" if any(name in missing.seen for name in OPENS) else "open(2), "
        yield (
            f"the capture has no {opens}stat(2), access(2) and readlink(2): paths that are looked "
            "for with these and do not exist are not counted; strace -f -c -e trace=%file COMMAND "
            "counts them"
        )
