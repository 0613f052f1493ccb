"""Analyses what a store does not have: lists, sends out batches, and stores what comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from foreread.analyzer.error import ArgumentError
from foreread.analyzer.fleet.batch import Batch, key_of
from foreread.analyzer.fleet.document import FleetAnalysed, FleetLeft
from foreread.analyzer.fleet.engines import Engine, Outcome
from foreread.analyzer.fleet.fetch import fetched
from foreread.analyzer.fleet.known import KnownKeys
from foreread.analyzer.fleet.listing import Found, Listing, source_key, stamped
from foreread.analyzer.fleet.place import is_far, open_place
from foreread.analyzer.fleet.question import FleetQuestion
from foreread.analyzer.fleet.store import Store
from foreread.boards.base.scratch import scratch_folder
from foreread.boards.base.silent import silent

BATCH = 64  # captures: half a minute of work, one start of the child, one file a partition
_FIRST = 4  # captures of the first batches
_MOST_LEFT = 100  # that are named
Progress = Callable[[int, int], None]


@dataclass
class Tally:
    """What was done so far."""

    stored_before: int = 0
    analysed: int = 0
    errors: int = 0
    copies: int = 0
    left: int = 0
    left_some: list[FleetLeft] = field(default_factory=list)
    cpu_seconds: float = 0.0

    def leave(self, source: str, why: str) -> None:
        """Note what is not in the store, and why."""
        self.left += 1
        if len(self.left_some) < _MOST_LEFT:
            self.left_some.append(FleetLeft(source=source, why=why))


def analyse(
    sources: Sequence[str],
    store: Store,
    question: FleetQuestion,
    engine: Engine,
    batch: int = BATCH,
    progress: Progress = silent,
) -> FleetAnalysed:
    """Add the captures at ``sources`` to the store that it does not have.

    ``progress`` hears how many captures were added, and how many were listed. This process alone
    writes to the store: whatever happens to workers, a capture is added once.

    Raises FleetError for a source, store or cluster that cannot be used; what was analysed before
    is in the store.
    """
    if batch < 1:
        raise ArgumentError(f"a batch of {batch} captures", "give a number from 1")
    began, tally, known_keys = time.monotonic(), Tally(), store.known()
    listing = Listing(tally.leave)
    entries = (entry for source in sources for entry in listing.captures(source))
    missing = _missing(entries, known_keys, question, tally)
    for outcome in engine.outcomes(_batches(missing, engine, batch, question)):
        _store(outcome, store, known_keys, tally)
        progress(tally.analysed, listing.listed)
    return FleetAnalysed(
        store=store.place.address,
        listed=listing.listed,
        stored_before=tally.stored_before,
        analysed=tally.analysed,
        errors=tally.errors,
        copies=tally.copies,
        other_files=listing.others,
        left=tally.left,
        left_some=tally.left_some,
        workers=engine.workers,
        seconds=round(time.monotonic() - began, 3),
        cpu_seconds=round(tally.cpu_seconds, 3),
    )


def _batches(
    entries: Iterator[Found], engine: Engine, most: int, question: FleetQuestion
) -> Iterator[Batch]:
    """Yield batches in rounds, one for each worker: they grow, and the last are as long as another.

    So each worker gets some of a few captures, and at the end none waits for the others.
    """
    size = min(_FIRST, most)
    while some := tuple(islice(entries, size * (workers := max(engine.workers, 1)))):
        each = -(-len(some) // workers)
        for at in range(0, len(some), each):
            yield Batch(some[at : at + each], question)
        size = min(2 * size, most)


def _missing(
    entries: Iterator[Found], known_keys: KnownKeys, question: FleetQuestion, tally: Tally
) -> Iterator[Found]:
    """Yield the captures that are not in the store, by their stamps and, if near, their content."""
    with scratch_folder("fleet") as scratch:
        for entry in entries:
            try:
                stamped_entry = entry if entry.stamp else stamped(entry)
                if _is_known(stamped_entry, known_keys, question, scratch):
                    tally.stored_before += 1
                else:
                    yield stamped_entry
            except Exception as error:
                if not is_far(error):
                    raise
                tally.leave(entry.address, str(error) or type(error).__name__)


def _is_known(entry: Found, known_keys: KnownKeys, question: FleetQuestion, scratch: str) -> bool:
    if source_key(entry, *question.parts()) in known_keys:
        return True
    near = open_place(entry.address).is_local or not entry.stamp
    if not near or known_keys.is_empty:
        return False
    with fetched(entry, scratch) as capture:
        return key_of(capture.content, question) in known_keys


def _store(outcome: Outcome, store: Store, known_keys: KnownKeys, tally: Tally) -> None:
    if outcome.done is None:
        for entry in outcome.batch.captures:
            tally.leave(entry.address, outcome.lost)
        return
    for address, why in outcome.done.unreachable:
        tally.leave(address, why)
    new = {
        analysis.key: analysis
        for analysis in outcome.done.analysed
        if analysis.key not in known_keys
    }
    tally.copies += len(outcome.done.analysed) - len(new)
    store.write(list(new.values()))
    for analysis in new.values():
        known_keys.add((analysis.key, analysis.source_key))
        tally.analysed += 1
        tally.errors += analysis.rows.rows[0].get("error") is not None
        tally.cpu_seconds += analysis.rows.rows[0].get("cpu_seconds") or 0.0
