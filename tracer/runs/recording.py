"""How to record a run, and the notes on a recording: on this machine and on targets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from foreread.boards.base.counted import plural
from foreread.boards.base.silent import silent
from foreread.tracer.backends.base import WANTED_EVENTS
from foreread.tracer.formats.capture import FileEntry, dev_text
from foreread.tracer.formats.limits import LimitError
from foreread.tracer.formats.scenario import IDLE
from foreread.tracer.formats.seen import Seen
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.residency import Inode

_BUFFER_KIB = 32 << 10  # per CPU: a start-up of 0.5 million events fits without draining
_ALL_BUFFERS_KIB = 512 << 10


@dataclass(frozen=True)
class RecordOptions:
    """How to record ``run``.

    ``read_ahead_kb`` is in force on every mounted disk during the run (and on those named in
    ``devices``); anything but 0 makes a contaminated capture. ``buffer_kib`` per CPU is chosen
    by the machine's memory if None. ``probes``: use kernel probes for accesses for which an older
    kernel has no events (on a target). ``touches``: at a window of 0 on a compressed file system,
    see the touches of mapped pages, too. ``wait_s``: how long to wait for another foreread.
    ``foreread`` is the version and ``words`` are the command-line options that the capture names.
    ``search_s`` is how long paths are looked up after the run, None for as long as usual. ``tell``
    is called with each step. ``note_mapped``: on a target, find out which pages its processes
    have mapped and so keep in the cache, which takes seconds on a slow board. ``scenario`` is the
    load beside the run. ``is_load``: the machine is recorded as it is while ``run`` sleeps, with
    its windows and its caches. The first of ``events`` is indispensable. ``memory_kib``: the
    command runs in a control group with so much memory.
    """

    run: RunOptions
    read_ahead_kb: int = 0
    touches: bool = True
    devices: tuple[str, ...] = ()
    events: tuple[str, ...] = WANTED_EVENTS
    buffer_kib: int | None = None
    probes: bool = False
    wait_s: float = 0.0
    foreread: str = ""
    words: tuple[str, ...] = ()
    search_s: float | None = None
    tell: Callable[[str], None] = silent
    note_mapped: bool = True
    scenario: str = IDLE
    is_load: bool = False
    memory_kib: int | None = None


def inodes_to_find(seen: Seen, mapped: Iterable[Inode], notes: list[str]) -> set[Inode]:
    """Return the files in the trace and those mapped at the end; a note if it cannot be read."""
    if seen.error is not None:
        notes.append(unread_note(seen.error))
    return {*mapped, *((dev_text(dev), ino) for dev, ino in seen.inodes)}


def unread_note(error: ValueError) -> str:
    """Return the note about a trace just recorded that cannot be read."""
    if isinstance(error, LimitError):
        return f"this capture cannot be loaded: {error}; {error.remedy}"
    return f"the trace could not be read to look for its files: {error}"


def looking_up(files: int, limit_s: float) -> str:
    """Return the step of looking up paths, with the time that it takes at most."""
    return f"looking up the paths of {plural(files, 'file')}, {limit_s:.0f} s at most"


def search_cut(files: Sequence[FileEntry], limit_s: float) -> str:
    """Return the note on a search that ended before all paths were found."""
    missing = sum(file.path is None for file in files)
    longer = max(10 * round(limit_s), 60)
    return (
        f"the search for the paths of files was cut after {limit_s:.0f} s or by Ctrl-C: "
        f"{plural(missing, 'file', 'has')} no path; to search longer, record again "
        f"with --search {longer}"
    )


def lost_notes(lost: dict[int, int]) -> list[str]:
    """Return a note if events were lost on any CPU."""
    events = sum(lost.values())
    remedy = "record again with a larger --buffer-kib"
    return [f"{plural(events, 'event', 'was')} lost: {remedy}"] if events else []


def default_buffer_kib(available_kib: int, cpus: int) -> int:
    """Return the KiB per CPU for a large start-up, at most a tenth of the available memory."""
    share_kib = min(available_kib // 10, _ALL_BUFFERS_KIB) // cpus
    return max(1024, min(_BUFFER_KIB, share_kib))
