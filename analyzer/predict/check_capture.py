"""Findings in a single capture that make its seconds uncertain or unusable."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.ingest.recording import Recording
from analyzer.ingest.tables import Kind
from analyzer.predict.checks import Finding
from analyzer.program.steps import Steps

_EXIT = "sched:sched_process_exit"
# In parts of the run: the latest acceptable start of a thread with unknown parent.
MOST_UNLINKED = 0.01


def capture_findings(recording: Recording, steps: Steps) -> Iterator[Finding]:
    """Yield the findings of one capture and of the steps that its threads were turned into."""
    yield from _end_missing(recording)
    yield from _unlinked(steps)


def _end_missing(recording: Recording) -> Iterator[Finding]:
    """The command exited, but the trace does not contain its exit: the end was not recorded.

    A thread that ran when the trace ended would count as computing until the end of the run.
    """
    capture, events = recording.capture, recording.trace.events
    if capture is None or capture.ended_by != "exit" or not events.rows:
        return
    exits = events["pid"][events["kind"] == Kind.EXIT]
    if _EXIT not in recording.trace.event_names or capture.pid in exits:
        return
    run_s = (capture.end_ns - capture.start_ns) / 1e9
    last_s = (int(events["time_ns"].max()) - capture.start_ns) / 1e9
    yield Finding(
        f"the trace does not hold the end of the command (it ends {last_s:.1f} s into a run of "
        f"{run_s:.1f} s)",
        unusable=True,
    )


def _unlinked(steps: Steps) -> Iterator[Finding]:
    """A thread with unknown parent would sleep from the start until its recorded time."""
    share = steps.unlinked_ns / steps.total_ns if steps.total_ns else 0.0
    if share > MOST_UNLINKED:
        yield Finding(
            f"a thread starts {steps.unlinked_ns / 1e9:.2f} s into the run, and the capture does "
            "not show what started it: with another window it would start at another time",
            unusable=True,
        )
