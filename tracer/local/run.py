"""One cold run of a command: hold it, drop the caches and prove it, release, watch and end it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from foreread.boards.base.interrupts import uninterrupted
from foreread.boards.mounts import read_mounts
from foreread.tracer.error import RecordError
from foreread.tracer.formats.capture import Cold
from foreread.tracer.local import cold, repeat
from foreread.tracer.local.command import (
    HeldCommand,
    adopting_orphans,
    children,
    descendants,
    terminate,
)
from foreread.tracer.local.ending import Watch
from foreread.tracer.local.groups import GroupWatch
from foreread.tracer.local.memory import MemoryWatch
from foreread.tracer.local.watching import Watcher, Watching
from foreread.tracer.runs.memory import memory_of
from foreread.tracer.runs.options import RunOptions, exit_notes, living_notes
from foreread.tracer.runs.residency import Inode, Runs
from foreread.tracer.runs.result import RunResult


@dataclass(frozen=True, kw_only=True)
class Run(RunResult):
    """A run on this machine; times are CLOCK_MONOTONIC.

    ``cached`` are the pages that were in the page cache when it began. ``group`` is the cgroup
    that limited its reads, empty for foreread's own, or if it was not watched.
    """

    cached: dict[Inode, Runs]
    group: str = ""


def run_cold(
    options: RunOptions,
    begin: Callable[[], object],
    end: Callable[[], object],
    watch_group: bool = False,
) -> Run:
    """Make one cold run; ``begin`` is called before it, ``end`` as soon as it has ended.

    ``watch_group``: see which cgroup the command joins. ``end`` sees the processes that still run;
    they are ended afterwards, and also when anything fails. Raises RecordError.
    """
    executable = options.executable()
    watch = Watch(options.ending, options.streams)
    try:
        with (
            adopting_orphans(),
            HeldCommand(
                options.command,
                executable,
                options.directory(),
                options.user,
                watch.streams,
                mark=not options.keep_running,
            ) as held,
        ):
            watch.started()
            cold_start = _cold(options, executable)
            groups = GroupWatch(held.pid, "blkio") if watch_group else None
            begin()
            return _released(options, held, watch, cold_start, end, groups)
    finally:
        watch.close()


def _cold(options: RunOptions, executable: Path) -> tuple[Cold, dict[Inode, Runs]]:
    proof, cached = cold.drop_and_prove([executable], read_mounts())
    if not proof.proven and not options.allow_warm:
        raise RecordError(
            f"the caches cannot be made cold ({proof.how})",
            "stop the processes that read files, or continue anyway with --allow-warm",
        )
    return proof, cached


def _released(
    options: RunOptions,
    held: HeldCommand,
    watch: Watch,
    cold_start: tuple[Cold, dict[Inode, Runs]],
    end: Callable[[], object],
    groups: GroupWatch | None,
) -> Run:
    proof, cached = cold_start
    cold.drop()  # inodes that the proof looked up, pages that starting the recorder read
    not_ours = children()
    keep = False
    memory = MemoryWatch(held.pid)
    watchers: list[Watcher] = [memory, *([groups] if groups else [])]
    try:
        memory.begin()
        with Watching(watchers):
            over = watch.run(held)
        ended = held.poll()
        end()
        living = descendants(held.pid, not_ours)
        memory_facts = memory.facts(living)
        run = Run(
            pid=held.pid,
            by=over.by,
            ended=ended,
            start_ns=held.start_ns,
            end_ns=over.end_ns,
            cold=proof,
            mapped=cold.mapped_files(living),
            cached=cached,
            environment=repeat.environment(),
            cgroups=repeat.cgroups(),
            memory=memory_of(memory_facts),
            notes=[*exit_notes(ended), *living_notes(over.by, len(living), options)],
            group=groups.group if groups else "",
        )
        keep = options.keep_running
        return run
    finally:
        if held.released and not keep:
            with uninterrupted():
                terminate(held.pid, not_ours, options.grace_s)
                held.poll()
