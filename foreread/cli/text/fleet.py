"""What ``foreread fleet analyse`` prints."""

from __future__ import annotations

from collections.abc import Iterator

from foreread.analyzer.fleet.document import FleetAnalysed
from foreread.boards.base.counted import plural
from foreread.boards.base.printable import printable

_SHOWN = 10  # captures that are left


def analysed_text(found: FleetAnalysed) -> str:
    """Return what was added to the store, and what is missing."""
    return "\n".join(printable(line) for line in _lines(found))


def _lines(found: FleetAnalysed) -> Iterator[str]:
    yield (
        f"{plural(found.listed, 'capture')} listed, {found.stored_before:,} in the store before, "
        f"{found.analysed:,} added{_rate(found)}"
    )
    if found.errors:
        yield f"{plural(found.errors, 'added capture')} could not be analysed: see the report"
    if found.copies:
        yield f"{plural(found.copies, 'capture')} left out: copies of other ones"
    if found.other_files:
        yield f"{plural(found.other_files, 'other file')} left out"
    if found.left:
        yield f"not in the store: {found.left:,}"
        for one in found.left_some[:_SHOWN]:
            yield f"  {one.source}: {one.why}"
        yield "to try these again, repeat the command"
    elif not found.listed:
        yield "nothing to report: repeat the command with a capture, or with a folder of captures"
    else:
        yield f"the report: foreread fleet report {found.store} -o DIR"


def _rate(found: FleetAnalysed) -> str:
    """Return how fast captures were added, if any were."""
    if not found.analysed or not found.seconds:
        return ""
    rate = found.analysed / found.seconds
    return f" in {found.seconds:.1f} s ({rate:.2f} a second, {plural(found.workers, 'worker')})"
