"""The steps of a recording: run, read the trace, name the files, probe the disk."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from foreread.analyzer.ingest.seen import SeenTrace
from foreread.boards.base.scratch import scratch_folder
from foreread.tracer.formats.capture import Capture
from foreread.tracer.formats.seen import Seen
from foreread.tracer.machines import TracedRun


def recorded(running: AbstractContextManager[TracedRun], probe_disk: bool = True) -> Capture:
    """Make a run, complete its capture, and return that; the trace is decoded once.

    Raises what the run does: RecordError, TargetError.
    """
    with running as run:
        trace = SeenTrace(run.trace)
        seen = trace.seen(run.pids, reads=probe_disk)
        run.name_files(seen)
        if probe_disk:
            _probe_disk(run, trace, seen)
    return run.capture


def recorded_load(running: AbstractContextManager[TracedRun]) -> Capture:
    """Record a load, whose trace is not read, and return its capture. Raises as ``recorded``."""
    with running as run:
        run.name_files(Seen())
    return run.capture


def _probe_disk(run: TracedRun, trace: SeenTrace, seen: Seen) -> None:
    with scratch_folder() as scratch:
        probe = run.probe_disk(seen, Path(scratch))
        if probe is None:
            return
        try:
            rows = SeenTrace(probe.trace).timed(probe.dev)
            own = trace.timed(probe.dev)
        except (ValueError, LookupError, KeyboardInterrupt) as error:
            probe.fail(error)
        else:
            probe.store(own, rows)
