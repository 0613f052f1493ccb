"""Recordings whose files have names, without a probe of the disk."""

from __future__ import annotations

from foreread.recording.steps import recorded
from foreread.tracer.backends.tracefs import TracefsBackend
from foreread.tracer.formats.seen import Seen
from foreread.tracer.local.record import run_here
from foreread.tracer.remote.record import run_on


def record_named(options, output):
    """Record on this machine."""
    running = run_here(options, TracefsBackend(), output, probe_disk=False)
    return recorded(running, probe_disk=False)


def record_named_on(target, options, output):
    """Record on a target."""
    return recorded(run_on(target, options, output), probe_disk=False)


def record_inodes(running, inodes_of=None):
    """Record what ``running`` runs, and name the inodes that ``inodes_of`` its trace returns."""
    with running as run:
        run.name_files(Seen(inodes_of(run.trace)) if inodes_of else Seen())
    return run.capture
