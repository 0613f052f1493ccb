"""The memory of a run, from files of the kernel that were read before and after it.

This machine (tracer/local/memory.py) and the shell of a target (tracer/remote/memory.sh) read the
same files; what they say is untrusted, so a line that no kernel writes is skipped.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from foreread.boards.base.units import KIB, size_text, size_word
from foreread.tracer.error import RecordError
from foreread.tracer.formats.memory import (
    MOST_SAMPLES,
    Memory,
    MemoryGroup,
    Swap,
    Watermarks,
)
from foreread.tracer.memory import available_kib, meminfo
from foreread.tracer.runs.options import Ended, RunOptions

# Counters of reclaim in /proc/vmstat and in a group's memory.stat, by the beginning of their names.
COUNTERS = ("workingset_", "pgscan", "pgsteal", "pswp", "oom_kill", "pgmajfault")
LIMITS = (
    "memory.limit_in_bytes",
    "memory.memsw.limit_in_bytes",
    "memory.max",
    "memory.high",
    "memory.swap.max",
)
SIZES_MIB = (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
_COUNTER = re.compile(
    rf"^((?:{'|'.join(COUNTERS)})\w{{0,60}}) (\d{{1,18}})$", re.ASCII | re.MULTILINE
)
_MARK = re.compile(r"^ *(min|low|high) +(\d{1,15})$", re.ASCII | re.MULTILINE)
_SWAP = re.compile(r"^(/\S+)\s+(partition|file)\s+(\d{1,15})\s", re.ASCII | re.MULTILINE)
_NUMBER = re.compile(r"\d{1,18}", re.ASCII)
_NO_LIMIT = 1 << 42  # LONG_MAX pages (PAGE_COUNTER_MAX) are more, also of a 32-bit kernel

Sample = tuple[int, int]  # ms since exec, KiB


@dataclass
class GroupFacts:
    """The group for memory that the command was in, and the values of LIMITS in it and above it."""

    path: str
    version: Literal[1, 2]
    limits: list[tuple[str, str]] = field(default_factory=list)
    before: str = ""  # memory.stat when the command was first seen in it
    after: str = ""
    made: bool = False
    peak: str = ""
    used: list[Sample] = field(default_factory=list)


@dataclass
class MemoryFacts:
    """The texts of files: ``before`` and ``after`` the run, by name.

    Names are meminfo, swaps, zoneinfo, min_free, lru_gen and vmstat. ``own`` are samples of the
    memory of the command's processes. ``kills``: how many processes of the run's group the
    kernel has killed for want of memory; None if it does not count them.
    """

    before: dict[str, str] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    group: GroupFacts | None = None
    own: list[Sample] = field(default_factory=list)
    kills: int | None = None


def memory_of(facts: MemoryFacts) -> Memory | None:
    """Return what a capture says of the run's memory; None if nothing was noted."""
    memory = meminfo(facts.before.get("meminfo", ""))
    if not {"MemAvailable", "MemFree"} & memory.keys():
        return None
    min_free = facts.before.get("min_free", "").strip()
    return Memory(
        available_kib=available_kib({"MemFree": 0, "Cached": 0, **memory}),
        swaps=_swaps(facts.before.get("swaps", "")),
        watermarks=_watermarks(facts.before.get("zoneinfo", "")),
        min_free_kib=int(min_free) if _NUMBER.fullmatch(min_free) else None,
        multi_gen_lru=_is_on(facts.before.get("lru_gen", "")),
        group=_group(facts.group),
        counters=_increase(facts.before.get("vmstat", ""), facts.after.get("vmstat", "")),
        own=_thinned(facts.own),
    )


def parse_facts(lines: Iterable[str]) -> MemoryFacts:
    """Return the facts in the lines ``WHEN NAME LINE`` of a target's shell; raises ValueError."""
    facts, group = MemoryFacts(), None
    limits: list[tuple[str, str]] = []
    used: list[Sample] = []
    texts: dict[str, dict[str, str]] = {"before": facts.before, "after": facts.after}
    for line in lines:
        when, name, value = line.split(" ", 2)
        if when in ("own", "used"):
            (facts.own if when == "own" else used).append((int(name), int(value)))
        elif when == "limit":
            limits.append((name, value))
        else:
            texts[when][name] = f"{texts[when].get(name, '')}{value}\n"
    if "kills" in facts.after:
        facts.kills = sum(map(int, facts.after.pop("kills").split()))
    if group_line := facts.after.pop("group", "").rstrip("\n"):
        version, path = group_line.split(" ", 1)
        group = GroupFacts(path, 1 if version == "1" else 2, limits)
        group.before, group.after = facts.before.pop("stat", ""), facts.after.pop("stat", "")
        group.peak, group.used = facts.after.pop("peak", ""), used
        group.made = bool(group.peak or used)
    facts.group = group
    return facts


def memory_settings(memory_kib: int | None, watched: bool) -> dict[str, str]:
    """Return the variables of memory.sh: the limit of a run's group, and whether it is watched."""
    limit = "" if memory_kib is None else str(memory_kib)
    return {"memory_kib": limit, "watched_memory": "yes" if watched else ""}


def check_memory(memory_kib: int | None, run: RunOptions) -> None:
    """Raise RecordError for a run that cannot have a group of its own."""
    if memory_kib is not None and run.keep_running:
        raise RecordError(
            "a command that keeps running would lose its control group",
            "remove --keep-running, or --memory",
        )


def was_killed(ended: Ended | None, kills: int | None) -> bool:
    """Return whether the limit of its group has killed a command or a process of it.

    ``kills``: as MemoryFacts has it; kernels before 4.13 do not count them.
    """
    if kills is None:
        return ended is not None and ended.signal == signal.SIGKILL
    return kills > 0


def killed_error(memory_kib: int) -> RecordError:
    """Return the error about a command that the limit of its memory has killed."""
    size = size_word(memory_kib)
    return RecordError(
        f"the command was killed for want of memory: {size} are less than it needs",
        f"try the next larger size: --memory {size_word(next_kib(memory_kib))}",
    )


def check_holds_program(memory_kib: int | None, of: Memory | None) -> None:
    """Raise RecordError if so much is less than a command itself took in a recorded run."""
    own_kib = None if of is None else of.own_peak_kib
    if memory_kib is not None and own_kib is not None and own_kib >= memory_kib:
        raise RecordError(
            f"without its files the program took {size_text(own_kib * KIB)} in the recorded run: "
            f"with {size_word(memory_kib)} the kernel would kill it",
            f"try a larger size: --memory {size_word(next_kib(own_kib))}; or add --force",
        )


def next_kib(memory_kib: int) -> int:
    """Return the next larger usual size of memory."""
    return next((mib * KIB for mib in SIZES_MIB if mib * KIB > memory_kib), 2 * memory_kib)


def _swaps(text: str) -> list[Swap]:
    return [
        Swap(kind="zram" if path.startswith("/dev/zram") else kind, size_kib=int(kib))
        for path, kind, kib in _SWAP.findall(text)
    ]


def _watermarks(zoneinfo: str) -> Watermarks | None:
    pages = {"min": 0, "low": 0, "high": 0}
    marks = _MARK.findall(zoneinfo)
    for name, number in marks:
        pages[name] += int(number)
    return Watermarks(**pages) if marks else None


def _is_on(text: str) -> bool:
    """Return whether the multi-generational LRU is on: kernels without it have no such file."""
    try:
        return int(text.strip() or "0", 0) & 1 == 1
    except ValueError:
        return text.strip().lower() == "y"


def _increase(before: str, after: str) -> dict[str, int]:
    """Return the increase of each counter of reclaim that is in both texts."""
    first = {name: int(number) for name, number in _COUNTER.findall(before)}
    last = {name: int(number) for name, number in _COUNTER.findall(after)}
    return {name: max(0, last[name] - old) for name, old in first.items() if name in last}


def _group(facts: GroupFacts | None) -> MemoryGroup | None:
    if facts is None:
        return None
    limit = _tightest(facts.limits, "memory.limit_in_bytes", "memory.max")
    both = _tightest(facts.limits, "memory.memsw.limit_in_bytes")
    swap = _tightest(facts.limits, "memory.swap.max")
    if both is not None and limit is not None:
        swap = max(0, both - limit)
    peak = facts.peak.strip()
    return MemoryGroup(
        path=facts.path,
        version=facts.version,
        made=facts.made,
        limit_kib=limit,
        high_kib=_tightest(facts.limits, "memory.high"),
        swap_kib=swap,
        peak_kib=int(peak) // KIB if _NUMBER.fullmatch(peak) else None,
        own=_thinned(facts.used),
        counters=_increase(facts.before, facts.after),
    )


def _tightest(limits: Sequence[tuple[str, str]], *files: str) -> int | None:
    """Return the smallest of these limits in KiB; None if there is none.

    Version 1 has a number of more bytes than any machine has where there is none, version 2 "max".
    """
    numbers = [int(value) for file, value in limits if file in files and _NUMBER.fullmatch(value)]
    return min((number // KIB for number in numbers if number < _NO_LIMIT), default=None)


def _thinned(samples: Sequence[Sample]) -> list[Sample]:
    """Return at most MOST_SAMPLES of the samples, the largest ones of several in a row."""
    step = -(-len(samples) // MOST_SAMPLES) or 1
    if step == 1:
        return list(samples)
    parts = (samples[at : at + step] for at in range(0, len(samples), step))
    return [(part[0][0], max(kib for _, kib in part)) for part in parts]
