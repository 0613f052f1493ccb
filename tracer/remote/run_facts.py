"""What the target's recorder says of a run, read strictly: RecordError for what does not fit."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

from tracer.backends.base import RecordError
from tracer.capture import Cold
from tracer.cold import parse_mapping
from tracer.command import Ended
from tracer.ending import EndedBy
from tracer.journal import Restored
from tracer.remote.job import Fact

_REASONS: tuple[EndedBy, ...] = ("exit", "signal", "duration", "idle", "output")
_MARK = re.compile(r"(?:.*\s)?(\d{1,12})\.(\d{6}): [^:]*: (start|end)\s*", re.ASCII)
_CENTISECOND_NS = 10_000_000
_MARK_NS = 500  # marks are rounded to microseconds
_LARGEST_PID = 1 << 22
_SIGNALLED = 128


@dataclass(frozen=True)
class RunFacts:
    """One run on a target; times are those of the trace's clock.

    ``windows`` are those in force, by knob; ``formats`` the texts by path below tracefs' events,
    ``stats`` by CPU.
    """

    pid: int
    by: EndedBy
    ended: Ended | None
    living: int
    start_ns: int
    end_ns: int
    clock: str
    probe_group: str
    cold: Cold
    events: list[str]
    missing: list[str]
    windows: dict[str, int]
    mapped: dict[tuple[str, int], str]
    formats: dict[str, str]
    stats: dict[int, str]
    restored: list[Restored]
    notes: list[str]

    @classmethod
    def parse(cls, facts: list[Fact], page_size: int, allowed_kib: int) -> RunFacts:
        """Read the answer to ``result``."""
        lines: defaultdict[str, list[str]] = defaultdict(list)
        for fact in facts:
            lines[fact.key].append(fact.value)
        try:
            return cls._parse(lines, page_size, allowed_kib)
        except (ValueError, LookupError, TypeError) as error:
            raise RecordError(
                f"the target's description of the run makes no sense ({error})",
                "record again; see whether the target's memory is full",
            ) from error

    @classmethod
    def _parse(cls, lines: dict[str, list[str]], page_size: int, allowed_kib: int) -> RunFacts:
        pid, by, ended, idle_ns, living = _run(lines["run"][0])
        marks = dict(mark for line in reversed(lines["mark"]) if (mark := _mark(line)))
        start_ns, end_ns = marks["start"] - _MARK_NS, marks["end"] - idle_ns
        stats = {int(cpu): text for cpu, text in _texts(lines["stats"], " ").items()}
        if not stats or not 0 <= start_ns <= end_ns:
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
            clock=lines["clock"][0],
            probe_group="".join(lines["probe"]),
            cold=_cold(lines["cold"][0], page_size, allowed_kib),
            events=lines["event"],
            missing=lines["missing"],
            windows={
                **{knob: int(old) for knob, old, _ in unset},
                **{knob: int(taken) for knob, _, taken in windows},
            },
            mapped=dict(filter(None, map(parse_mapping, lines["map"]))),
            formats=_texts(lines["format"], ":"),
            stats=stats,
            restored=[Restored(*x.split("\t")) for x in lines["leftover"] + lines["restored"]],
            notes=[
                *lines["note"],
                *(f"{knob} cannot be set ({why}): it stayed at {old}" for knob, old, why in unset),
            ],
        )


def _run(line: str) -> tuple[int, EndedBy, Ended | None, int, int]:
    """Return pid, reason, how the command ended, ns since the last read, living processes."""
    pid, reason, status, idle_cs, living = line.split(" ")
    by = next(one for one in _REASONS if one == reason)
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
        f"{pinned} are mapped by running processes or lie in memory (/proc/meminfo: which "
        f"files these are cannot be told there); {unexplained} others, {allowed} allowed",
        resident_pages=min(after, pinned),
        resident=[],
    )
