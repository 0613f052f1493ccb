"""What a text trace says of lost events, in the words of the program that printed it."""

from __future__ import annotations

import re

from analyzer.ingest.losses import UNKNOWN_CPU
from analyzer.ingest.text_lines import Text

# trace_pipe: print_lost_events, kernel/trace/trace.c; trace-cmd report: trace-read.c
_LOST = re.compile(rb"^[ \t]*CPU:(\d{1,5}) \[(?:LOST )?(?:(\d{1,18}) )?EVENTS(?: DROPPED)?\]", re.M)
_WRITTEN = re.compile(rb"^# entries-in-buffer/entries-written: (\d{1,18})/(\d{1,18})\b", re.M)
# perf script --show-lost-events, and what it prints at its end (tools/perf/util/session.c)
_PERF_LOST = re.compile(rb"\[(\d{1,5})\][^\[\n]{0,200}PERF_RECORD_LOST lost (\d{1,18})")
_PERF_SAMPLES = re.compile(rb"PERF_RECORD_LOST_SAMPLES lost (\d{1,18})")
_PERF_CHUNKS = re.compile(rb"\blost (\d{1,18}) (?:chunks|samples)!")
_REPORT = re.compile(rb"^cpus=\d", re.M)  # trace-cmd report names gaps in the buffers


def text_losses(text: Text) -> tuple[dict[int, int], str]:
    """Return the lost events by CPU, and why others would not show (empty: they would)."""
    lost: dict[int, int] = {}
    for pattern in (_LOST, _PERF_LOST):
        for cpu, count in pattern.findall(text):
            lost[int(cpu)] = lost.get(int(cpu), 0) + int(count or 1)
    written = _WRITTEN.findall(text)
    known = sum(lost.values())
    others = (
        sum(max(int(all_) - int(kept), 0) for kept, all_ in written),
        sum(map(int, _PERF_SAMPLES.findall(text))),
        sum(map(int, _PERF_CHUNKS.findall(text))),
    )
    if max(others) > known:  # each counts the same ones, or some more
        lost[UNKNOWN_CPU] = max(others) - known
    counts = bool(written) or _REPORT.search(text) is not None
    return lost, "" if counts or lost else "this text does not count them"
