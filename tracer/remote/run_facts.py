"""The facts of a run from the target's recorder; RecordError for anything invalid."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import get_args

from foreread.boards.base.counted import plural
from foreread.boards.base.units import kib_to_pages
from foreread.tracer.formats.capture import Cold
from foreread.tracer.remote.bios import parse_sums
from foreread.tracer.remote.job import Fact, making_sense
from foreread.tracer.remote.machine import Machine
from foreread.tracer.runs.cold import judged, parse_mapping
from foreread.tracer.runs.memory import memory_of, parse_facts
from foreread.tracer.runs.options import Ended, EndedBy
from foreread.tracer.runs.restored import Restored
from foreread.tracer.runs.result import RunResult
from foreread.tracer.trials.changed import Change
from foreread.tracer.trials.counters import Counters, change, parse_counters
from foreread.tracer.trials.trial import Seen

_REASONS: tuple[EndedBy, ...] = get_args(EndedBy)
_MARK = re.compile(r"(?:.*\s)?(\d{1,12})\.(\d{6}): [^:]*: (start|end)\s*", re.ASCII)
_CENTISECOND_NS = 10_000_000
_MARK_NS = 500  # marks are rounded to microseconds
_COARSE = "times have a resolution of 0.01 s (/proc/uptime): the kernel has no trace instances"
Lines = defaultdict[str, list[str]]
_LARGEST_PID = 1 << 22
_SIGNALLED = 128
_INODES = "/inode_readahead_blks"


@dataclass(frozen=True)
class Setting:
    """The outcome for the knobs.

    Values found; accepted, each when it was set; in force after all were set; reasons for those
    not in force; those that another program has changed since.
    """

    before: dict[str, str]
    accepted: dict[str, str]
    in_force: dict[str, str]
    refused: dict[str, str]
    restored: list[Restored]
    changed: list[Change]

    @classmethod
    def parse(cls, lines: Lines) -> Setting:
        """Read the facts of a run, by key; raises ValueError."""
        unset = [_three(line) for line in lines["unset"]]
        accepted = [_three(line) for line in lines["knob"]]
        return cls(
            before={knob: old for knob, old, _ in [*unset, *accepted]},
            accepted={knob: value for knob, _, value in accepted},
            in_force=dict(map(_two, lines["now"])),
            refused={knob: why for knob, _, why in unset},
            restored=[Restored(*_three(x)) for x in lines["leftover"] + lines["restored"]],
            changed=[Change(*_three(line)) for line in lines["moved"]],
        )

    @property
    def notes(self) -> list[str]:
        """Return a note for each knob that did not take its value.

        None for a file system that was unmounted meanwhile: its knob is gone.
        """
        return [
            f"{knob} cannot be set ({why})"
            + (f": it stayed at {self.before[knob]}" if self.before[knob] else "")
            for knob, why in self.refused.items()
            if self.before[knob] or not knob.endswith(_INODES)
        ]


@dataclass(frozen=True, kw_only=True)
class RunFacts(RunResult):
    """A run on a target; times are of a trace's clock, CLOCK_MONOTONIC if the kernel has it.

    ``living`` processes of the command outlived the first one. ``windows`` are in force,
    ``before`` were found, by knob; inode_readahead_blks among them. ``unloaded`` says why the load
    beside the run ended early, ``apart`` why it is not in the control group ``group``, which the
    command has joined; each empty if it did not happen. ``memory_kills``: as MemoryFacts has it.
    """

    living: int
    windows: dict[str, int]
    before: dict[str, int]
    restored: list[Restored]
    unloaded: str
    apart: str
    group: str
    memory_kills: int | None

    @classmethod
    def parse(cls, facts: list[Fact], machine: Machine) -> RunFacts:
        """Read the answer to ``result``; raises RecordError."""
        with making_sense("how the run went"):
            return cls._parse(by_key(facts), machine)

    @classmethod
    def _parse(cls, lines: Lines, machine: Machine) -> RunFacts:
        pid, by, ended, idle_ns, living = _run(lines["run"][0])
        start_ns, marked_end_ns = _times(lines)
        end_ns = marked_end_ns - idle_ns
        if not 0 <= start_ns <= end_ns:
            raise ValueError("it is incomplete")
        setting = Setting.parse(lines)
        memory = parse_facts(lines["memory"])
        return cls(
            pid=pid,
            by=by,
            ended=ended,
            living=living,
            start_ns=start_ns,
            end_ns=end_ns,
            cold=_caches(lines, machine),
            windows=_windows({**setting.before, **setting.in_force}),
            before=_windows(setting.before),
            mapped=dict(filter(None, map(parse_mapping, lines["map"]))),
            restored=setting.restored,
            notes=[
                *lines["note"],
                *([_COARSE] if lines["uptime"] else []),
                *setting.notes,
                *map(str, setting.changed),
            ],
            memory=memory_of(memory),
            memory_kills=memory.kills,
            unloaded=next((why.partition("|")[0] for why in lines["unloaded"]), ""),
            apart=next(iter(lines["apart"]), ""),
            group=next(iter(lines["group"]), ""),
        )


@dataclass(frozen=True)
class TraceFacts:
    """The trace's description: ``formats`` by path below tracefs' events, ``stats`` by CPU."""

    clock: str
    probe_group: str
    events: list[str]
    missing: list[str]
    formats: dict[str, str]
    stats: dict[int, str]

    @classmethod
    def parse(cls, facts: list[Fact]) -> TraceFacts:
        """Read the answer to ``result``; raises RecordError."""
        lines = by_key(facts)
        with making_sense("how the run went"):
            stats = {int(cpu): text for cpu, text in texts(lines["stats"], " ").items()}
            if not stats:
                raise ValueError("it is incomplete")
            return cls(
                clock=lines["clock"][0],
                probe_group="".join(lines["probe"]),
                events=lines["event"],
                missing=lines["missing"],
                formats=texts(lines["format"], ":"),
                stats=stats,
            )


def seen(lines: Lines) -> Seen:
    """Return the counters of a trial, and the bytes that the command and the load have read."""
    keys = ("look", "looked", "before", "after")
    look, looked, before, after = (_counters(lines[key]) for key in keys)
    read = dict.fromkeys(keys, 0)
    for line in lines["io"]:
        key, number = line.split(" ")
        read[key] += int(number)
    own = read["after"] - read["before"] if lines["io"] else None
    sums = [parse_sums(line) for line in lines["bios"]]
    bios = {f"io_{name}": float(number) for bio_sums in sums for name, number in bio_sums.items()}
    return Seen(change(look, looked), {**change(before, after), **bios}, own)


def _counters(lines: list[str]) -> Counters:
    texts: dict[str, str] = {}
    for name, _, line in (line_of.partition(" ") for line_of in lines):
        texts[name] = f"{texts.get(name, '')}{line}\n"
    return parse_counters(texts)


def _three(line: str) -> tuple[str, str, str]:
    knob, old, new = line.split("\t")
    return knob, old, new


def _two(line: str) -> tuple[str, str]:
    knob, value = line.split("\t")
    return knob, value


def _windows(values: dict[str, str]) -> dict[str, int]:
    names = ("/read_ahead_kb", _INODES)
    # A file system that was unmounted meanwhile has no value.
    return {k: int(v) for k, v in values.items() if v and k.endswith(names)}


def by_key(facts: list[Fact]) -> Lines:
    """Return the values of facts by their keys."""
    lines: Lines = defaultdict(list)
    for fact in facts:
        lines[fact.key].append(fact.value)
    return lines


def _times(lines: Lines) -> tuple[int, int]:
    """Return when the run began and ended, in ns."""
    if lines["uptime"]:
        uptimes = dict(line.split(" ") for line in lines["uptime"])
        return _CENTISECOND_NS * int(uptimes["start"]), _CENTISECOND_NS * int(uptimes["end"])
    marks = dict(mark for line in reversed(lines["mark"]) if (mark := _mark(line)))
    return marks["start"] - _MARK_NS, marks["end"]


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


def texts(lines: list[str], separator: str) -> dict[str, str]:
    """Return the texts that lines of ``NAME SEPARATOR LINE`` make, by name."""
    texts: dict[str, str] = {}
    for name, _, line in (x.partition(separator) for x in lines):
        texts[name] = texts.get(name, "") + line + "\n"
    return texts


def _mark(line: str) -> tuple[str, int] | None:
    """Return name and time (ns) of a line of the instance of marks."""
    match = _MARK.fullmatch(line)
    return (match[3], (int(match[1]) * 1_000_000 + int(match[2])) * 1000) if match else None


def _caches(lines: Lines, machine: Machine) -> Cold:
    """Return whether the caches were cold: by a restart, by a drop, or not at all."""
    if lines["restarted"]:
        return _restarted(lines["restarted"][0], machine.page_size)
    if lines["as_found"]:
        how = "the caches were left as they were"
        return Cold(proven=False, how=how, resident_pages=0, resident=[])
    return _cold(lines["cold"][0], machine.page_size, machine.allowed_kib)


def _cold(value: str, page_size: int, allowed_kib: int) -> Cold:
    before, after, pinned = (kib_to_pages(int(kib), page_size) for kib in value.split(" "))
    allowed = kib_to_pages(allowed_kib, page_size)
    kept = "mapped by running processes or lie in memory (/proc/meminfo)"
    proven, how = judged(" on the target", (before, after, pinned, allowed), kept)
    return Cold(proven=proven, how=how, resident_pages=min(after, pinned), resident=[])


def _restarted(value: str, page_size: int) -> Cold:
    """Return how a boot is cold: by the restart; what it had read before is always cached."""
    cached, pinned = (kib_to_pages(int(kib), page_size) for kib in value.split(" "))
    return Cold(
        proven=True,
        how=f"the target was restarted; {plural(cached, 'page')} that the boot and the recorder "
        "had read before the recording began stay cached, as in every boot; "
        f"{pinned} of them are mapped by running processes or lie in memory",
        resident_pages=cached,
        resident=[],
    )
