"""Lost events: how many a recording misses at least, and in which words all commands say so.

Every reader counts what its form counts (Trace.lost), and says why further losses would not show
(Trace.uncounted). A capture also has the recorder's own count.
"""

from __future__ import annotations

from collections.abc import Collection

from foreread.analyzer.ingest.recording import Recording
from foreread.boards.base.counted import first_of, plural

UNKNOWN_CPU = -1  # in counts by CPU
_SHOWN = 8
INCOMPLETE = "THE RESULT IS INCOMPLETE"


def lost_by_cpu(recording: Recording) -> dict[str, int]:
    """Return the lost events by CPU; the recorder and the trace may have counted the same."""
    by_trace = {str(cpu): count for cpu, count in sorted(recording.trace.lost.items())}
    by_recorder = recording.capture.lost or {}
    return max(by_trace, by_recorder, key=lambda counts: sum(counts.values()))


def lost_events(recording: Recording) -> int | None:
    """Return how many events were lost at least; None if none were, as far as is known."""
    lost = sum(lost_by_cpu(recording).values())
    return None if not lost and uncounted(recording) else lost


def uncounted(recording: Recording) -> str:
    """Return why losses would not show; empty if they would."""
    return recording.trace.uncounted if recording.capture.lost is None else ""


def losses_text(recording: Recording) -> str:
    """Return the lost events in words."""
    lost = lost_events(recording)
    if lost is None:
        return f"unknown: {uncounted(recording)}"
    return f"at least {plural(lost, 'event')}: {INCOMPLETE}" if lost else "0 events"


def numbers(cpus: Collection[int]) -> str:
    """Return numbers of CPUs in words: the first few."""
    return first_of([*map(str, cpus)], _SHOWN)


def missing_cpus(cpus: Collection[int]) -> list[int]:
    """Return the CPUs without data below the last one that has some."""
    return sorted({*range(max(cpus, default=0))} - {*cpus})
