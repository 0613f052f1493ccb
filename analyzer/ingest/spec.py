"""The events that are decoded, and the column that each of their fields fills.

Fields are found by name in the trace's own format descriptions, since layouts differ between
kernels (3.10 to 6.19). A field marked optional is one that some kernels lack without loss of
meaning; any other missing field is an error, never a zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from foreread.analyzer.ingest.tables import Kind


@dataclass(frozen=True)
class EventSpec:
    """One event: its kind, and field names by column of the EVENTS schema.

    ``fields`` maps columns ``dev``, ``ino``, ``index``, ``value`` to numeric fields and
    ``flags`` to the rwbs string field. ``optional`` columns stay 0 where the field is absent.
    """

    kind: Kind
    fields: dict[str, str]
    optional: frozenset[str] = field(default_factory=frozenset)


_PAGE = {"dev": "s_dev", "ino": "i_ino", "index": "index"}
_WAKING = EventSpec(Kind.WAKING, {"index": "common_flags", "value": "pid"})
_BLOCK = {"dev": "dev", "index": "sector", "value": "nr_sector", "flags": "rwbs"}

EVENT_SPECS: dict[str, EventSpec] = {
    # order: absent up to 5.15 (one event per page)
    "filemap:mm_filemap_add_to_page_cache": EventSpec(
        Kind.INSERT, {**_PAGE, "value": "order"}, frozenset({"value"})
    ),
    "filemap:mm_filemap_delete_from_page_cache": EventSpec(
        Kind.DELETE, {**_PAGE, "value": "order"}, frozenset({"value"})
    ),
    "filemap:mm_filemap_fault": EventSpec(Kind.FAULT, _PAGE),
    "filemap:mm_filemap_get_pages": EventSpec(Kind.GET_PAGES, {**_PAGE, "value": "last_index"}),
    "filemap:mm_filemap_map_pages": EventSpec(Kind.MAP_PAGES, {**_PAGE, "value": "last_index"}),
    "readahead:page_cache_ra_unbounded": EventSpec(
        Kind.RA_UNBOUNDED, {**_PAGE, "value": "nr_to_read"}
    ),
    "readahead:page_cache_sync_ra": EventSpec(Kind.RA_SYNC, {**_PAGE, "value": "req_count"}),
    "block:block_bio_queue": EventSpec(Kind.BIO_QUEUE, _BLOCK),
    "block:block_rq_issue": EventSpec(Kind.RQ_ISSUE, _BLOCK),
    "block:block_rq_complete": EventSpec(Kind.RQ_COMPLETE, _BLOCK),
    "sched:sched_process_fork": EventSpec(Kind.FORK, {"value": "child_pid"}),
    "sched:sched_process_exec": EventSpec(Kind.EXEC, {"value": "old_pid"}),
    "sched:sched_process_exit": EventSpec(Kind.EXIT, {}),
    "sched:sched_switch": EventSpec(Kind.SWITCH, {"index": "prev_state", "value": "next_pid"}),
    "sched:sched_waking": _WAKING,
    "sched:sched_wakeup": _WAKING,
    # tracer/probes/definitions.py
    "foreread:file_fault": EventSpec(
        Kind.PROBED_FAULT, {"dev": "dev", "ino": "ino", "index": "index"}
    ),
    "foreread:file_read": EventSpec(
        Kind.PROBED_READ, {"dev": "dev", "ino": "ino", "index": "pos", "value": "count"}
    ),
}
