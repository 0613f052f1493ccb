"""Make a golden table from a perf.data file by perf's own decoder.

    perf script -s expected.py -i FILE.data > FILE.tsv

One line an event in perf's order: time_ns, cpu, event, pid, dev, ino, index, value, rwbs; "-" is
a column that the event does not fill. Shares no code with foreread.
"""

FIELDS = {
    "mm_filemap_add_to_page_cache": ("s_dev", "i_ino", "index", "order", None),
    "mm_filemap_delete_from_page_cache": ("s_dev", "i_ino", "index", "order", None),
    "mm_filemap_fault": ("s_dev", "i_ino", "index", None, None),
    "mm_filemap_get_pages": ("s_dev", "i_ino", "index", "last_index", None),
    "mm_filemap_map_pages": ("s_dev", "i_ino", "index", "last_index", None),
    "page_cache_ra_unbounded": ("s_dev", "i_ino", "index", "nr_to_read", None),
    "page_cache_sync_ra": ("s_dev", "i_ino", "index", "req_count", None),
    "block_bio_queue": ("dev", None, "sector", "nr_sector", "rwbs"),
    "block_rq_issue": ("dev", None, "sector", "nr_sector", "rwbs"),
    "block_rq_complete": ("dev", None, "sector", "nr_sector", "rwbs"),
    "sched_process_fork": (None, None, None, "child_pid", None),
    "sched_process_exec": (None, None, None, "old_pid", None),
    "sched_process_exit": (None, None, None, None, None),
}


def text(value):
    """perf hands a char array with leftovers after its NUL over as bytes."""
    return value.split(b"\0")[0].decode() if isinstance(value, bytearray) else value


def trace_unhandled(event_name, context, fields, sample):
    event = event_name.split("__", 1)[1]
    if event not in FIELDS:
        return
    wanted = ["-" if name is None else text(fields[name]) for name in FIELDS[event]]
    time_ns = fields["common_s"] * 1_000_000_000 + fields["common_ns"]
    print(time_ns, fields["common_cpu"], event, fields["common_pid"], *wanted, sep="\t")
