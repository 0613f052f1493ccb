"""One trial: settings in force, background load running, caches cold, one start-up measured.

A trial is valid only if nothing else influenced it. So settings are read back, the load is checked
before and after the start, and unrequested activity (other processes' reads, a busy processor)
makes a trial ``contended``. A bench is a machine with a shell that makes trials
(tracer.remote.trials): this machine or a target.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol, Self, get_args

from foreread.boards.base.units import KIB
from foreread.boards.device import SECTOR_BYTES, Disk
from foreread.tracer.error import RecordError
from foreread.tracer.runs.options import Ended, EndedBy, RunOptions
from foreread.tracer.trials.beside import Later, Preload, Replayer
from foreread.tracer.trials.changed import Change, ChangedKnobError
from foreread.tracer.trials.counters import Counters

Kind = Literal["idle", "reader", "writer", "memory"]
Status = Literal["ok", "warm", "contended", "failed", "hung", "refused"]
LOOK_S = 0.3  # duration of the check before the start (measure.sh), while only the load runs
_WRITTEN_MIB = 4  # by the writer, between two truncations of its file
_LEFT_MIB = 8  # of the memory, which is more than most boards need to keep working
# Reads by others that make a trial contended: more than this share of the start's reads, and at
# least so many bytes.
_FOREIGN_SHARE, _FOREIGN_BYTES = 0.2, 1 << 20
_LOOK_SECTORS = 256
BY_LOAD = {"reader": "read", "writer": "written"}  # what a load does to the disk
_IDLE_CPUS = 0.5
_STALLED_SHARE = 0.1
_TRIES = 4  # of a trial whose settings another program changes
_CALM_S = 1.0  # before the next one: such a program may set several knobs, one after another


@dataclass(frozen=True)
class Scenario:
    """The background load during the start.

    ``reader``: reads the file ``path`` from its beginning to its end, again and again; without
    one the disk itself, past the page cache. ``writer``: writes and syncs a file of ``mib`` in
    the folder ``path``, by default at the top of the disk's file system. ``memory``: a process
    holds all memory except ``mib``, so that other pages are swapped or read again.
    """

    kind: Kind = "idle"
    path: str = ""
    mib: int = 0

    @property
    def text(self) -> str:
        """The scenario as ``parse`` reads it; two of one text are the same."""
        rest = str(self.mib) if self.kind == "memory" else self.path
        return f"{self.kind}:{rest}" if rest else self.kind

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``KIND[:PATH]`` or ``memory[:MIB]``; raises RecordError."""
        kind, _, rest = text.partition(":")
        if kind not in get_args(Kind) or (kind == "idle" and rest):
            raise RecordError(
                f"unknown scenario {text!r}",
                "use idle, reader, reader:FILE, writer, writer:FOLDER, memory or memory:MIB",
            )
        if kind == "memory":
            if rest and not (rest.isascii() and rest.isdigit() and 0 < int(rest) < 1 << 30):
                raise RecordError(f"{rest!r} is not a number of MiB", "write for example memory:16")
            return cls("memory", mib=int(rest or _LEFT_MIB))
        if rest and not (rest.startswith("/") and rest.isprintable()):
            raise RecordError(f"{rest!r} is not an absolute path", f"write {kind}:/PATH")
        return cls(kind, rest, _WRITTEN_MIB if kind == "writer" else 0)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Trial:
    """Settings as (knob, value), written in that order, and the scenario.

    ``replays``: the options' replayer reads its list during the start. ``later`` are settings that
    change during the start. ``preloads``: the command has the options' preloaded library.
    """

    settings: tuple[tuple[str, str], ...] = ()
    scenario: Scenario = field(default_factory=Scenario)
    replays: bool = False
    later: tuple[Later, ...] = ()
    preloads: bool = False


@dataclass(frozen=True)
class Outcome:
    """The result of a trial.

    ``seconds`` is None unless a start was measured. ``in_force`` are the values that the knobs
    had, read back, also if the kernel adjusted a value; ``refused`` says why a value was refused,
    or why an accepted value was no longer in force when all were set. ``counters`` are the
    machine's counters over the start (tracer.trials.counters). ``changed``: what other programs did
    to the settings, which makes it invalid; ``repeated`` says so of the trials before it that were
    discarded. ``unloaded``: why the load did not last until the end, and what to do. ``killed``:
    which limit of TrialOptions ended the start: ``seconds`` and ``counters`` are those until then,
    if they are known.
    """

    status: Status
    seconds: float | None = None
    in_force: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    cold: bool = False
    counters: Mapping[str, float] = field(default_factory=dict)
    by: EndedBy | None = None
    ended: Ended | None = None
    notes: tuple[str, ...] = ()
    changed: tuple[Change, ...] = ()
    repeated: tuple[str, ...] = ()
    unloaded: tuple[str, str] | None = None
    killed: Literal["memory", "time"] | None = None


@dataclass(frozen=True)
class TrialOptions:
    """The start-up that every trial measures.

    ``devices`` name the disks that are tuned and whose counters are read; by default those of
    the executable and of ``paths``. A trial that has not ended after ``limit_s`` is ``hung``; with
    None there is no limit. ``bios``: sum up the bios of each, as counters ``io_*``
    (remote/bios.py). Without ``vmstat`` the counters of /proc/vmstat, which take time to bring
    here, are left out. ``replayer``: what trials that replay a list run; ``preload``: the library
    of trials that preload one. ``memory_kib``: each start runs in a control group with so much
    memory. The bench ends a start after ``most_s``, which then counts as ``killed``, as does one
    that the limit of its memory kills.
    """

    run: RunOptions
    devices: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()
    wait_s: float = 0.0
    limit_s: float | None = 600.0
    bios: bool = False
    vmstat: bool = True
    replayer: Replayer | None = None
    memory_kib: int | None = None
    most_s: float | None = None
    preload: Preload | None = None


class TrialBench(Protocol):
    """A place where trials are made; each trial restores what it has changed."""

    kernel: str
    page_bytes: int
    machine: str  # as uname has it
    model: str  # of the CPU, or of the board
    disks: list[str]  # those that are tuned
    known: list[Disk]  # what they are
    windows: list[str]  # the read_ahead_kb files that govern reads from them
    mounted: str  # where the file system is mounted whose options are tuned, "" if there is none
    notes: list[str]

    def probe(self, knobs: Sequence[str]) -> dict[str, str]:
        """Return the value of each knob that can be read; ``knobs`` may be patterns of paths.

        A pattern of tunables (``…/queue/iosched/*``) finds the tunables of every scheduler that its
        disk offers: each is chosen once, then the one in force again. Each alternative of a mount
        option is tried as well; the accepted ones are listed in the format of a scheduler's file.
        """

    def check_load(self, scenario: Scenario) -> None:
        """Run the load of a scenario until it is seen to be effective; raises RecordError."""

    def announce(self, trials: Sequence[Trial]) -> None:
        """Announce the next trials, in this order, so that the bench may begin them early."""

    def run(self, trial: Trial) -> Outcome:
        """Make one trial; again, a few times, if another program changes its settings meanwhile.

        Raises RecordError for an error that repeating cannot fix, ChangedKnobError among them, and
        TargetError when the target was lost: then the bench is unusable.
        """


def check_loads(bench: TrialBench, scenarios: Iterable[Scenario]) -> None:
    """Raise RecordError, before the first run, for a load that does not run on the bench."""
    for scenario in scenarios:
        if scenario.kind != "idle":
            bench.check_load(scenario)


OpenTrials = Callable[[TrialOptions], AbstractContextManager[TrialBench]]


@dataclass(frozen=True)
class Seen:
    """Counters of a trial: during the check before its start, and during the start.

    ``own_bytes`` were read by the command and the load; None if the kernel does not count them.
    """

    look: Counters
    start: Counters
    own_bytes: int | None


def judged(outcome: Outcome, scenario: Scenario, seen: Seen) -> Outcome:
    """Return the outcome of a measured start with its counters and its status.

    Raises KeyboardInterrupt for one that Ctrl-C has ended.
    """
    if outcome.by == "signal":
        raise KeyboardInterrupt
    notes, status = contention(scenario, seen), outcome.status
    if status == "ok" and outcome.ended and outcome.ended.exit_status != 0:
        status = "failed"
    elif status == "ok" and notes:
        status = "contended"
    return replace(
        outcome, status=status, counters=dict(seen.start), notes=(*outcome.notes, *notes)
    )


def unless_changed(make: Callable[[], Outcome]) -> Outcome:
    """Return the outcome of a trial during which no other program changed its settings.

    Raises ChangedKnobError if there is none in a few tries.
    """
    notes: list[str] = []
    for tried in range(1, _TRIES + 1):
        outcome = make()
        if not outcome.changed:
            return replace(outcome, repeated=tuple(dict.fromkeys(notes)))
        notes += [f"{change}: the run was repeated" for change in outcome.changed]
        notes += [note for note in outcome.notes if "not restored" in note]
        if tried < _TRIES:
            time.sleep(_CALM_S)
    raise ChangedKnobError(outcome.changed[0], _TRIES)


def check_run(outcome: Outcome) -> float:
    """Return the seconds of a valid run.

    Raises RecordError for any other: further runs would fail in the same way.
    """
    if outcome.status == "refused":
        knob, why = next(iter(outcome.refused.items()))
        raise RecordError(
            f"{knob} cannot be set: {why}", "run as root, on a disk whose window can be written"
        )
    if outcome.status == "warm":
        raise RecordError(
            outcome.notes[-1],
            "stop the processes that read files, or continue anyway with --allow-warm",
        )
    if outcome.unloaded is not None:
        why, remedy = outcome.unloaded
        raise RecordError(f"the runs were stopped: {why}", remedy)
    if outcome.status in ("failed", "hung") or outcome.seconds is None:
        raise RecordError(
            f"the runs were stopped: {outcome.notes[0]}",
            "run the command by hand and make it succeed; if it does not exit by itself, end its "
            "runs with --until-idle MS, --until-output REGEX or --duration S",
        )
    return outcome.seconds


def displaced(accepted: Mapping[str, str], in_force: Mapping[str, str]) -> dict[str, str]:
    """Return, by knob, why accepted settings are not in force.

    If the kernel adjusted a value when it was written, that is only a note: many values are
    rounded.
    """
    return {
        knob: f"another setting made it {in_force[knob]}"
        for knob, value in accepted.items()
        if in_force.get(knob, value) != value
    }


def apart_notes(why: str) -> list[str]:
    """Return a note if a load is not in the start's control group."""
    return [f"the scenario's load is not limited as the start is: {why}"] if why else []


def contention(scenario: Scenario, seen: Seen) -> list[str]:
    """Return notes on unrequested activity that influenced the measurement."""
    notes = []
    if scenario.kind != "memory":
        for verb in ("read", "written"):
            sectors = seen.look.get(f"disk.{verb}_sectors", 0)
            if sectors > _LOOK_SECTORS and BY_LOAD.get(scenario.kind) != verb:
                kib = sectors * SECTOR_BYTES / KIB
                notes.append(f"others had {kib:.0f} KiB {verb} just before the start")
        stalled = seen.look.get("pressure.memory.some", 0)
        if stalled > _STALLED_SHARE * LOOK_S:
            notes.append("other processes were short of memory just before the start")
        notes += _foreign(seen)
    idle = seen.look.get("cpu.idle")
    if scenario.kind == "idle" and idle is not None and idle < _IDLE_CPUS * LOOK_S:
        notes.append("the CPUs were busy just before the start")
    return notes


def _foreign(seen: Seen) -> list[str]:
    """Return a note if others have read much from the disks during the start."""
    if seen.own_bytes is None:
        return []
    read = seen.start.get("disk.read_sectors", 0) * SECTOR_BYTES
    foreign = read - seen.own_bytes
    if foreign <= max(_FOREIGN_BYTES, _FOREIGN_SHARE * read):
        return []
    return [f"other processes read {foreign / (1 << 20):.1f} MiB from the disk during the start"]
