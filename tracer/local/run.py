"""One cold run of a command: hold it, drop the caches and prove it, release, watch and end it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from foreread.boards.base.brief import brief
from foreread.boards.mounts import read_mounts
from foreread.tracer.error import RecordError
from foreread.tracer.formats.capture import Cold
from foreread.tracer.interrupts import uninterrupted
from foreread.tracer.local import cold
from foreread.tracer.local.command import (
    Ended,
    HeldCommand,
    Streams,
    adopting_orphans,
    children,
    descendants,
    find_executable,
    terminate,
)
from foreread.tracer.local.disk.groups import GroupWatch
from foreread.tracer.local.ending import EndedBy, Ending, Over, Watch
from foreread.tracer.local.residency import Inode, Runs


@dataclass(frozen=True, repr=False)
class RunOptions:
    """What to run, and what ends the run.

    ``command`` is found through PATH and runs in ``cwd`` as ``user`` (foreread's own by
    default). Processes that remain at the end of the run are ended, by SIGTERM and after
    ``grace_s`` by SIGKILL, unless ``keep_running``. A run whose caches were not proven cold is
    refused unless ``allow_warm``.
    """

    __repr__ = brief

    command: list[str]
    ending: Ending = field(default_factory=Ending)
    cwd: str | os.PathLike[str] | None = None
    user: str | None = None
    streams: Streams = field(default_factory=Streams)
    keep_running: bool = False
    allow_warm: bool = False
    grace_s: float = 5.0

    def executable(self) -> Path:
        """Return the file that will be executed; RecordError if there is none."""
        if not self.command:
            raise RecordError("no command was given", "add -- COMMAND [ARGUMENT ...]")
        self.ending.check()
        return find_executable(self.command[0], self.directory())

    def directory(self) -> Path:
        """Return the absolute working directory of the command."""
        return Path(self.cwd or ".").absolute()


@dataclass(frozen=True)
class Run:
    """The result of a run; times are CLOCK_MONOTONIC.

    ``ended`` is None if the command's first process still ran when the run ended.
    ``mapped`` are the files that its living processes mapped then: path by (dev, ino);
    ``cached`` are the pages that were in the page cache when it began. ``group`` is the cgroup
    whose limits held for its reads, empty if that is foreread's own or was not watched.
    """

    pid: int
    start_ns: int
    over: Over
    ended: Ended | None
    cold: Cold
    mapped: dict[Inode, str]
    cached: dict[Inode, Runs]
    notes: list[str]
    group: str = ""

    @property
    def seconds(self) -> float:
        """Return the time from exec to the end of the run."""
        return (self.over.end_ns - self.start_ns) / 1e9


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
            found = _cold(options, executable)
            groups = GroupWatch(held.pid) if watch_group else None
            begin()
            return _released(options, held, watch, found, end, groups)
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
    found: tuple[Cold, dict[Inode, Runs]],
    end: Callable[[], object],
    groups: GroupWatch | None,
) -> Run:
    cold.drop()  # inodes that the proof looked up, pages that starting the recorder read
    not_ours = children()
    keep = False
    try:
        with groups or nullcontext():
            over = watch.run(held)
        ended = held.poll()
        end()
        living = descendants(held.pid, not_ours)
        run = Run(
            pid=held.pid,
            start_ns=held.start_ns,
            over=over,
            ended=ended,
            cold=found[0],
            mapped=cold.mapped_files(living),
            cached=found[1],
            notes=[*exit_notes(ended), *living_notes(over.by, len(living), options)],
            group=groups.found if groups else "",
        )
        keep = options.keep_running
        return run
    finally:
        if held.released and not keep:
            with uninterrupted():
                terminate(held.pid, not_ours, options.grace_s)
                held.poll()


def exit_notes(ended: Ended | None) -> list[str]:
    """Return a note if the command failed."""
    if ended is None or ended.exit_status == 0:
        return []
    if ended.signal is not None:
        return [f"the command was ended by signal {ended.signal} ({_signal_name(ended.signal)})"]
    return [f"the command failed with exit status {ended.exit_status}"]


def living_notes(by: EndedBy, living: int, options: RunOptions) -> list[str]:
    """Return a note if so many processes of the command outlived the first one."""
    if by != "exit" or not living:
        return []
    fate = "they were left running" if options.keep_running else "they were terminated"
    return [
        f"the command's first process exited while {living} of its processes still ran "
        f"({fate}): to record until a daemon is up, end by idleness, output or duration"
    ]


def _signal_name(number: int) -> str:
    return signal.strsignal(number) or str(number)
