"""What the target's recorder says of a run, read strictly: RecordError for what does not fit."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

from tracer.capture import Cold
from tracer.cold import parse_mapping
from tracer.command import Ended
from tracer.ending import EndedBy
from tracer.journal import Restored
from tracer.remote.job import Fact, making_sense
from tracer.remote.machine import Machine

_REASONS: tuple[EndedBy, ...] = ("exit", "signal", "duration", "idle", "output")
_MARK = re.compile(r"(?:.*\s)?(\d{1,12})\.(\d{6}): [^:]*: (start|end)\s*", re.ASCII)
_CENTISECOND_NS = 10_000_000
_MARK_NS = 500  # marks are rounded to microseconds
_COARSE = "times are to a hundredth of a second (/proc/uptime): the kernel has no trace instances"
_LARGEST_PID = 1 << 22
_SIGNALLED = 128


@dataclass(frozen=True)
class RunFacts:
    """One run on a target; times are those of a trace's clock, CLOCK_MONOTONIC if it has that.

    ``windows`` are those in force, ``before`` those as found, by knob; ``reads`` the requests
    and sectors that a sweep's disks have read in the run.
    """

    pid: int
    by: EndedBy
    ended: Ended | None
    living: int
    start_ns: int
    end_ns: int
    cold: Cold
    windows: dict[str, int]
    before: dict[str, int]
    reads: tuple[int, int]
    mapped: dict[tuple[str, int], str]
    restored: list[Restored]
    notes: list[str]

    @classmethod
    def parse(cls, facts: list[Fact], machine: Machine) -> RunFacts:
        """Read the answer to ``result``; raises RecordError."""
        with making_sense("how the run went"):
            return cls._parse(_by_key(facts), machine)

    @classmethod
    def _parse(cls, lines: dict[str, list[str]], machine: Machine) -> RunFacts:
        pid, by, ended, idle_ns, living = _run(lines["run"][0])
        start_ns, marked_end_ns = _times(lines)
        end_ns = marked_end_ns - idle_ns
        if not 0 <= start_ns <= end_ns:
            raise ValueError("it is not whole")
        unset = [line.split("\t") for line in lines["unset"]]
        windows = [line.split("\t") for line in lines["knob"]]
        return cls(
            pid=pid,
            by=by,
            ended=ended,
            living=living,
            start_ns=start_ns,
            end_ns=end_ns,
            cold=_cold(lines["cold"][0], machine.page_size, machine.allowed_kib),
            windows={
                **{knob: int(old) for knob, old, _ in unset},
                **{knob: int(taken) for knob, _, taken in windows},
            },
            before={knob: int(old) for knob, old, _ in [*unset, *windows]},
            reads=_reads(lines["before"], lines["after"]),
            mapped=dict(filter(None, map(parse_mapping, lines["map"]))),
            restored=[Restored(*x.split("\t")) for x in lines["leftover"] + lines["restored"]],
            notes=[
                *lines["note"],
                *([_COARSE] if lines["uptime"] else []),
                *(f"{knob} cannot be set ({why}): it stayed at {old}" for knob, old, why in unset),
            ],
        )


@dataclass(frozen=True)
class TraceFacts:
    """What was traced: ``formats`` by path below tracefs' events, ``stats`` by CPU."""

    clock: str
    probe_group: str
    events: list[str]
    missing: list[str]
    formats: dict[str, str]
    stats: dict[int, str]

    @classmethod
    def parse(cls, facts: list[Fact]) -> TraceFacts:
        """Read the answer to ``result``; raises RecordError."""
        lines = _by_key(facts)
        with making_sense("how the run went"):
            stats = {int(cpu): text for cpu, text in _texts(lines["stats"], " ").items()}
            if not stats:
                raise ValueError("it is not whole")
            return cls(
                clock=lines["clock"][0],
                probe_group="".join(lines["probe"]),
                events=lines["event"],
                missing=lines["missing"],
                formats=_texts(lines["format"], ":"),
                stats=stats,
            )


def _by_key(facts: list[Fact]) -> defaultdict[str, list[str]]:
    lines: defaultdict[str, list[str]] = defaultdict(list)
    for fact in facts:
        lines[fact.key].append(fact.value)
    return lines


def _times(lines: dict[str, list[str]]) -> tuple[int, int]:
    """Return when the run began and ended, in ns."""
    if lines["uptime"]:
        uptimes = dict(line.split(" ") for line in lines["uptime"])
        return _CENTISECOND_NS * int(uptimes["start"]), _CENTISECOND_NS * int(uptimes["end"])
    marks = dict(mark for line in reversed(lines["mark"]) if (mark := _mark(line)))
    return marks["start"] - _MARK_NS, marks["end"]


def _reads(before: list[str], after: list[str]) -> tuple[int, int]:
    """Return requests and sectors between two countings of some disks."""
    counts = [[[int(n) for n in line.split(" ")] for line in lines] for lines in (before, after)]
    requests, sectors = (
        sum(disk[at] for disk in counts[1]) - sum(disk[at] for disk in counts[0]) for at in (0, 1)
    )
    return requests, sectors


def _run(line: str) -> tuple[int, EndedBy, Ended | None, int, int]:
    """Return pid, reason, how the command ended, ns since the last read, living processes."""
    pid, reason, status, idle_cs, living = line.split(" ")
    by = _REASONS[_REASONS.index(reason)]
    if not 0 < int(pid) <= _LARGEST_PID:
        raise ValueError(f"no process has the number {pid}")
    return int(pid), by, _ended(status), int(idle_cs) * _CENTISECOND_NS, int(living)


def _ended(status: str) -> Ended | None:
    if status == "-":
        return None
    number = int(status)
    killed = number > _SIGNALLED
    return Ended(None, number - _SIGNALLED) if killed else Ended(number, None)


def _texts(lines: list[str], separator: str) -> dict[str, str]:
    """Return the texts that lines of ``NAME SEPARATOR LINE`` make, by name."""
    texts: dict[str, str] = {}
    for name, _, line in (x.partition(separator) for x in lines):
        texts[name] = texts.get(name, "") + line + "\n"
    return texts


def _mark(line: str) -> tuple[str, int] | None:
    """Return name and time (ns) of a line of the instance of marks."""
    match = _MARK.fullmatch(line)
    return (match[3], (int(match[1]) * 1_000_000 + int(match[2])) * 1000) if match else None


def _cold(value: str, page_size: int, allowed_kib: int) -> Cold:
    before, after, pinned = (int(kib) * 1024 // page_size for kib in value.split(" "))
    unexplained = max(0, after - pinned)
    allowed = allowed_kib * 1024 // page_size
    return Cold(
        proven=unexplained <= allowed,
        how=f"drop_caches=3 on the target: {before} pages cached before, {after} after, of which "
        f"{pinned} are mapped by running processes or lie in memory (/proc/meminfo); "
        f"{unexplained} others, {allowed} allowed",
        resident_pages=min(after, pinned),
        resident=[],
    )
