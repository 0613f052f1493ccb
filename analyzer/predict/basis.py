"""Which verdicts an input supports: the one place that withholds one for lack of evidence.

docs/reference/inputs.md shows the table of LACKS (docs/tools/lists.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from foreread.analyzer.ingest.losses import lost_events, uncounted
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Rwbs
from foreread.analyzer.ingest.unsure import unsure_pages
from foreread.analyzer.predict.prediction import Verdict
from foreread.analyzer.predict.remedy import record_again
from foreread.boards.base.counted import plural

# Of all events. Up to this share, bursts removed from three whole captures changed the seconds of
# five windows by 0.5 to 1.1 times the share (rms); beyond it the effect is unknown.
MOST_LOST = 0.05
MOST_UNSURE = 0.05  # of the accessed pages; more of them would decide which window is best


class Answer(StrEnum):
    """What a verdict says: no window can gain anything, or which one is best by a criterion."""

    NONE = "none"
    SECONDS = "seconds"
    CRITERION = "criterion"


_ALL = frozenset(Answer)


@dataclass(frozen=True)
class Lack:
    """Evidence that an input may lack.

    ``why`` returns it as a clause, None if the input has it. ``withheld`` are the answers that it
    does not support; ``name`` and ``example`` are for the table.
    """

    name: str
    example: str
    withheld: frozenset[Answer]
    why: Callable[[Recording], str | None]


def _read_ahead(recording: Recording) -> str | None:
    return "readahead was on during the recording" if recording.contaminated else None


def lost_share(recording: Recording) -> float:
    """Return the lost events as a share of all."""
    lost = lost_events(recording) or 0
    return lost / (lost + recording.trace.events.rows) if lost else 0.0


def _many_lost(recording: Recording) -> str | None:
    return some_lost(recording) if lost_share(recording) > MOST_LOST else None


def some_lost(recording: Recording) -> str | None:
    """Return how many events were lost, as a clause; None if none were."""
    lost = lost_events(recording)
    if lost is None:
        return f"how many events were lost is unknown: {uncounted(recording)}"
    if not lost:
        return None
    share = f"{lost_share(recording):.2g} of all"
    return f"at least {plural(lost, 'event', 'was')} lost ({share}): pages and requests are missing"


def unread_share(recording: Recording) -> float:
    """Return the lines of needed events that could not be read, as a share of all."""
    unread = recording.trace.unread
    return unread / (unread + recording.trace.events.rows) if unread else 0.0


def _many_unread(recording: Recording) -> str | None:
    return some_unread(recording) if unread_share(recording) > MOST_LOST else None


def some_unread(recording: Recording) -> str | None:
    """Return the share of needed events that could not be read, as a clause; None if all were.

    The trace's notes have their number and names.
    """
    if not recording.trace.unread:
        return None
    return (
        f"events that could not be read are {unread_share(recording):.2g} of those needed: pages "
        "and requests may be missing"
    )


def _many_unsure(recording: Recording) -> str | None:
    pages = sum(unsure_pages(recording).values())
    return _some_unsure(recording) if pages > MOST_UNSURE * recording.accesses.rows else None


def _some_unsure(recording: Recording) -> str | None:
    pages = sum(unsure_pages(recording).values())
    return f"{plural(pages, 'page')} may have been written, not read" if pages else None


def _without_ends(recording: Recording) -> str | None:
    requests = recording.requests
    reads = (requests["flags"] & Rwbs.READ) > 0
    if requests.rows and (requests["complete_ns"][reads] > 0).any():
        return None
    return "no request of the recording has an end"


LACKS = (
    Lack(
        "a window of 0 during the recording",
        "a trace at the board's own window; `record --read-ahead-kb 128`",
        _ALL,
        _read_ahead,
    ),
    Lack(
        "the queued reads of more than 5 % of the pages",
        "a trace without `block:block_bio_queue`; files of NFS or FUSE in a trace of another tool",
        _ALL,
        _many_unsure,
    ),
    Lack(
        "the queued reads of some pages",
        "the same, for a few pages",
        frozenset({Answer.NONE}),
        _some_unsure,
    ),
    Lack(
        "more than 5 % of the events",
        "a ring buffer that was overwritten",
        _ALL,
        _many_lost,
    ),
    Lack(
        "some events, or the count of lost ones",
        "text of `perf script`; a text that was cut out",
        frozenset({Answer.NONE}),
        some_lost,
    ),
    Lack(
        "more than 5 % of the lines of needed events",
        "a text in a form that foreread does not read; `show` has one of the lines",
        _ALL,
        _many_unread,
    ),
    Lack(
        "some lines of needed events",
        "the same, for a few lines",
        frozenset({Answer.NONE}),
        some_unread,
    ),
    Lack(
        "the ends of requests",
        "a recording that follows one process; no `block:block_rq_complete`",
        frozenset({Answer.SECONDS}),
        _without_ends,
    ),
)


def lacks_of(recording: Recording) -> list[tuple[Lack, str]]:
    """Return the evidence that a recording lacks, with the reason as a clause, in their order."""
    return [(lack, why) for lack in LACKS if (why := lack.why(recording)) is not None]


def lacking(recording: Recording, answer: Answer) -> Iterator[str]:
    """Yield what a recording lacks for an answer, the first reason first."""
    return (why for lack, why in lacks_of(recording) if answer in lack.withheld)


def supported(verdict: Verdict, recording: Recording, lacks: Sequence[tuple[Lack, str]]) -> Verdict:
    """Return a verdict, or "measure" with the reason if the recording does not support it.

    ``lacks`` is the evidence that the recording lacks.
    """
    if verdict.action == "measure":
        return verdict
    answer = Answer(verdict.by or Answer.NONE)
    why = next((why for lack, why in lacks if answer in lack.withheld), None)
    if why is None:
        return verdict
    claim = verdict.why if answer == Answer.NONE else "no window is recommended"
    again = record_again(recording)
    return Verdict("measure", None, f"{claim.partition(':')[0]}, but {why}", remedy=again)
