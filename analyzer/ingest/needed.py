"""The events that a trace of another tool needs, and how each tool records one more."""

from __future__ import annotations

from collections.abc import Sequence

INSERTS = "filemap:mm_filemap_add_to_page_cache"
QUEUED_READS = "block:block_bio_queue"
NEEDED = (INSERTS, QUEUED_READS, "block:block_rq_issue", "block:block_rq_complete")

# By the beginning of Trace.format; the last one is for any other.
_HOW = {
    "perf": "perf record -e {event}",
    "trace.dat": "trace-cmd record -e {event}",
    "Perfetto": "add {system}/{name} to ftrace_events",
    "": "echo 1 > /sys/kernel/tracing/events/{system}/{name}/enable",
}


def listed(events: Sequence[str], separator: str = ":") -> str:
    """Return events in words, with ``separator`` between system and name."""
    *first, last = (event.replace(":", separator) for event in events)
    return f"{', '.join(first)} and {last}" if first else last


def how_to_record(event: str, form: str) -> str:
    """Return what records ``event`` (system:name), too, with the tool of a trace's format."""
    system, _, name = event.partition(":")
    how = next(how for tool, how in _HOW.items() if form.startswith(tool))
    return how.format(event=event, system=system, name=name)
