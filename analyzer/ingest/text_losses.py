"""What a text trace says of lost events, in the words of the program that printed it."""

from __future__ import annotations

import re

from foreread.analyzer.ingest.losses import UNKNOWN_CPU
from foreread.analyzer.ingest.text_lines import Text

# trace_pipe: print_lost_events, kernel/trace/trace.c; trace-cmd report: trace-read.c
# After a time in brackets: ftrace_dump_on_oops, in a console's log.
_LOST = re.compile(
    rb"^(?:[^\n\]]{0,64}\])?[ \t]*CPU:(\d{1,5}) \[(?:LOST )?(?:(\d{1,18}) )?EVENTS(?: DROPPED)?\]",
    re.M,
)
_WRITTEN = re.compile(rb"^# entries-in-buffer/entries-written: (\d{1,18})/(\d{1,18})\b", re.M)
# perf script --show-lost-events, and what it prints at its end (tools/perf/util/session.c)
_PERF_LOST = re.compile(rb"\[(\d{1,5})\][^\[\n]{0,200}PERF_RECORD_LOST lost (\d{1,18})")
_PERF_SAMPLES = re.compile(rb"PERF_RECORD_LOST_SAMPLES lost (\d{1,18})")
_PERF_CHUNKS = re.compile(rb"\blost (\d{1,18}) (?:chunks|samples)!")
_PERF_SHARE = re.compile(rb"\bProcessed (\d{1,18}) samples and lost (\d{1,3})\.(\d{2})%!")
_LINE = re.compile(rb"^[^#\n]", re.M)
_REPORT = re.compile(rb"^cpus=\d", re.M)  # trace-cmd report names gaps in the buffers


def text_losses(text: Text) -> tuple[dict[int, int], str]:
    """Return the lost events by CPU, and why others would not show (empty: they would)."""
    lost: dict[int, int] = {}
    for pattern in (_LOST, _PERF_LOST):
        for cpu, count in pattern.findall(text):
            lost[int(cpu)] = lost.get(int(cpu), 0) + int(count or 1)
    written = _WRITTEN.findall(text)
    reported = sum(lost.values())
    others = (
        sum(max(int(all_) - int(kept), 0) for kept, all_ in written),
        sum(map(int, _PERF_SAMPLES.findall(text))),
        sum(map(int, _PERF_CHUNKS.findall(text))),
        sum(_lost_of(*map(int, match)) for match in _PERF_SHARE.findall(text)),
    )
    if max(others) > reported:  # each counts the same ones, or some more
        lost[UNKNOWN_CPU] = max(others) - reported
    if not lost and written and sum(int(kept) for kept, _ in written) > _lines(text):
        return lost, "the text has fewer lines than its head counts entries"
    counts = bool(written) or _REPORT.search(text) is not None
    return lost, "" if counts or lost else "this text does not count them"


def _lines(text: Text) -> int:
    """Return the number of lines without comments."""
    return sum(1 for _ in _LINE.finditer(text))


def _lost_of(processed: int, percent: int, hundredths: int) -> int:
    """Return the samples that were lost, from their share of the processed and the lost ones."""
    lost = 100 * percent + hundredths
    return processed * lost // max(10_000 - lost, 1)
