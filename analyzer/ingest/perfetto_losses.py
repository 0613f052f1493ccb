"""What a Perfetto trace says of lost events: of the kernel's buffers, and of its own.

protos/perfetto/trace/ftrace/ftrace_stats.proto, ftrace_event_bundle.proto and
perfetto/common/trace_stats.proto of Perfetto 59.
"""

from __future__ import annotations

from typing import Any

from foreread.analyzer.ingest.losses import UNKNOWN_CPU
from foreread.analyzer.ingest.ring import most_lost

_START, _END = 1, 2  # FtraceStats.Phase
_BY_KERNEL = ("overrun", "commit_overrun", "dropped_events")
_BY_SERVICE = ("chunks_overwritten", "chunks_discarded", "trace_writer_packet_loss")


class PerfettoLosses:
    """Collects the losses from the packets of a trace."""

    def __init__(self) -> None:
        self._at: dict[int, dict[int, int]] = {_START: {}, _END: {}}
        self._marked: dict[int, int] = {}
        self._by_service = 0

    def add_stats(self, stats: Any) -> None:
        """Take FtraceStats: the kernel's counts of one phase, by CPU."""
        if stats.phase in self._at:
            for counts in stats.cpu_stats:
                self._at[stats.phase][counts.cpu] = sum(
                    getattr(counts, name) for name in _BY_KERNEL
                )

    def add_bundle(self, bundle: Any) -> None:
        """Take the marks of a bundle: each is a gap of unknown size."""
        gaps = int(bundle.lost_events) + len(bundle.error)
        if gaps:
            self._marked[bundle.cpu] = self._marked.get(bundle.cpu, 0) + gaps

    def add_service(self, stats: Any) -> None:
        """Take TraceStats: chunks that the service overwrote; each held an event at least."""
        lost = sum(getattr(buffer, name) for buffer in stats.buffer_stats for name in _BY_SERVICE)
        self._by_service = max(self._by_service, lost)

    def lost(self) -> dict[int, int]:
        """Return the lost events by CPU, at least."""
        start, end = self._at[_START], self._at[_END]
        during = {cpu: max(count - start.get(cpu, 0), 0) for cpu, count in end.items()}
        by_service = {UNKNOWN_CPU: self._by_service}
        return most_lost(during, self._marked) | (by_service if self._by_service else {})

    def uncounted(self) -> str:
        """Return why other losses would not show; empty if they would."""
        return "" if self._at[_END] else "the trace has no ftrace_stats of its end"
