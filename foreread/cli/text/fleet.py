"""What ``foreread fleet analyse`` prints."""

from __future__ import annotations

from collections.abc import Iterator

from foreread.analyzer.fleet.document import FleetAnalysed
from foreread.boards.base.counted import plural
from foreread.boards.base.printable import printable

_SHOWN = 10  # captures that are left


def analysed_text(analysed: FleetAnalysed) -> str:
    """Return the numbers of captures that were added to the store, and that are missing."""
    return "\n".join(printable(line) for line in _lines(analysed))


def _lines(analysed: FleetAnalysed) -> Iterator[str]:
    yield (
        f"{plural(analysed.listed, 'capture')} listed, {analysed.stored_before:,} in the store "
        f"before, {analysed.analysed:,} added{_rate(analysed)}"
    )
    if analysed.errors:
        yield f"{plural(analysed.errors, 'added capture')} could not be analysed: see the report"
    if analysed.copies:
        yield f"{plural(analysed.copies, 'capture')} left out: copies of other ones"
    if analysed.other_files:
        yield f"{plural(analysed.other_files, 'other file')} left out"
    if analysed.left:
        yield f"not in the store: {analysed.left:,}"
        for capture in analysed.left_some[:_SHOWN]:
            yield f"  {capture.source}: {capture.why}"
        yield "to try these again, repeat the command"
    elif not analysed.listed:
        yield "nothing to report: repeat the command with a capture, or with a folder of captures"
    else:
        yield f"the report: foreread fleet report {analysed.store} -o DIR"


def _rate(analysed: FleetAnalysed) -> str:
    """Return how fast captures were added, if any were."""
    if not analysed.analysed or not analysed.seconds:
        return ""
    rate = analysed.analysed / analysed.seconds
    return (
        f" in {analysed.seconds:.1f} s ({rate:.2f} a second, {plural(analysed.workers, 'worker')})"
    )
