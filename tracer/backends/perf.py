"""The perf back-end: ``perf record -a`` on the wanted tracepoints, with MMAP2 and comm records."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from foreread.boards.base.units import kib_to_pages
from foreread.tracer.backends.base import Recorded
from foreread.tracer.backends.recorder import Recorder
from foreread.tracer.backends.supervised import Supervised
from foreread.tracer.backends.tool import help_of, output_of

_ISSUE, _COMPLETE = "block:block_rq_issue", "block:block_rq_complete"


@dataclass
class Stats:
    """The counts of ``perf report --stats`` for a recording, by event ("system:name")."""

    samples: dict[str, int] = field(default_factory=dict)
    lost_samples: int = 0  # PERF_RECORD_LOST_SAMPLES: every lost event (perf 6.1 and kernel 6.0)
    lost_records: int = 0  # PERF_RECORD_LOST: one for each gap


class PerfBackend(Recorder):
    """Records with perf, system-wide, into ``perf.data``."""

    name = program = "perf"
    package = "perf (Debian: linux-perf)"
    file = "perf.data"

    def _begin(
        self, recording: Supervised, place: Path, events: list[str], buffer_kib: int
    ) -> None:
        recording.start(record_command(events, buffer_kib, recording.scratch / self.file))

    def _judge(self, file: Path) -> Recorded:
        stats = read_stats(file)
        return Recorded(count_lost(file, stats), missing_completions(stats.samples))


def record_command(events: list[str], buffer_kib: int, output: Path) -> list[str]:
    """Return the ``perf record`` command line, ready for a workload to be appended."""
    command = ["perf", "record", "--all-cpus", "--clockid", "mono", "--count", "1"]
    command += ["--mmap-pages", str(buffer_pages(buffer_kib)), "--no-buildid", "--no-buildid-cache"]
    if "bpf-event" in help_of("perf", "record"):  # else perf 5.1 and later needs a second to end
        command.append("--no-bpf-event")
    for event in events:
        command += ["--event", event]
    return [*command, "--output", str(output), "--"]


def buffer_pages(buffer_kib: int) -> int:
    """Return the pages that hold ``buffer_kib``, rounded up to the power of two perf needs."""
    pages = max(1, kib_to_pages(buffer_kib, os.sysconf("SC_PAGE_SIZE")))
    return 1 << (pages - 1).bit_length()


def read_stats(perf_data: Path) -> Stats:
    """Return the counts of ``perf report --stats`` for ``perf_data``."""
    return parse_stats(output_of(["perf", "report", "--stats", "--input", str(perf_data)]))


def parse_stats(text: str) -> Stats:
    """Return the counts in the output of ``perf report --stats`` (perf 4.x to 6.x)."""
    stats, event = Stats(), ""
    for line in text.splitlines():
        if heading := re.match(r"(\S+) stats:", line):
            event = heading[1]
        elif count := re.match(r"\s+(\w+) events:\s+(\d+)", line):
            kind, number = count[1], int(count[2])
            if kind == "SAMPLE" and ":" in event:
                stats.samples[event] = number
            elif kind == "LOST_SAMPLES" and ":" in event:
                stats.lost_samples += number
            elif kind == "LOST" and ":" not in event:
                stats.lost_records = number
    return stats


def count_lost(perf_data: Path, stats: Stats) -> dict[int, int]:
    """Return CPU -> lost events; -1 is the CPU of losses that perf does not place.

    ``perf script --show-lost-events`` places losses but prints every event: it is called only if
    there are losses.
    """
    if not stats.lost_records and not stats.lost_samples:
        return {}
    command = ["perf", "script", "--show-lost-events", "--fields", "comm,tid,cpu,time,event"]
    lost = parse_lost(output_of([*command, "--input", str(perf_data)]))
    unplaced = stats.lost_samples - sum(lost.values())
    return lost | {-1: unplaced} if unplaced > 0 else lost


def parse_lost(text: str) -> dict[int, int]:
    """Return CPU -> lost events from ``perf script --show-lost-events``."""
    lost: dict[int, int] = {}
    for match in re.finditer(r"\[(\d+)\][^\[\n]*PERF_RECORD_LOST lost (\d+)", text):
        cpu = int(match[1])
        lost[cpu] = lost.get(cpu, 0) + int(match[2])
    return lost


def missing_completions(samples: dict[str, int]) -> list[str]:
    """Return a note if perf saw far fewer requests complete than issued."""
    issued, completed = samples.get(_ISSUE, 0), samples.get(_COMPLETE, 0)
    # A few requests are in flight when recording begins or ends.
    if (_COMPLETE not in samples and issued == 0) or completed >= 0.99 * issued - 64:
        return []
    return [
        f"{issued - completed} of {issued} completions of block requests are missing: this kernel "
        "gives perf no samples of interrupts that arrive while a CPU idles. Pages and requests "
        "are complete, but the device's times cannot be learnt from this capture: record with "
        "back-end tracefs or trace-cmd for those"
    ]
