"""From a capture or a foreign trace file to a Recording."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shlex import quote

from foreread.analyzer.ingest import accesses as acc
from foreread.analyzer.ingest.allowance import grant
from foreread.analyzer.ingest.archive import expanded, is_compressed, unpacked
from foreread.analyzer.ingest.arguments import (
    Pids,
    StrPath,
    checked_page_size,
    checked_path,
    checked_pids,
)
from foreread.analyzer.ingest.detect import open_trace
from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.isolated import call
from foreread.analyzer.ingest.needed import INSERTS, NEEDED, listed
from foreread.analyzer.ingest.recording import Recording, Trace, TraceError
from foreread.analyzer.ingest.tables import Kind, Table
from foreread.boards.base.scratch import scratch_folder
from foreread.tracer.formats import capture as capture_format
from foreread.tracer.formats.archive import is_archive
from foreread.tracer.formats.capture import NO_METADATA
from foreread.tracer.formats.limits import MOST_FILES_BYTES

# A good files.json becomes 3.5 times its size in objects, a quarter of the share for a trace.
_TRACE_PER_FILES = 4
_TRACE_FILES = ("perf.data", "trace.dat")  # tracefs pages are the directory itself


def load(
    path: StrPath,
    pids: Pids = "tree",
    *,
    page_size: int | None = None,
    inodes: StrPath | None = None,
) -> Recording:
    """Read a capture (directory or tar archive) or a foreign trace file, to be emulated.

    ``pids`` chooses whose touches count: the command's process tree (everything, if the file
    does not name the command), all, or the given threads. ``page_size``: of the traced kernel in
    bytes, for a trace that does not name it. ``inodes``: a list of the board's files
    (inode_list.py), for a trace of another tool. Raises TraceError, also for a trace without
    page-cache inserts and for arguments of another type, and CaptureError.
    """
    recording = load_any(path, pids, page_size=page_size, inodes=inodes)
    _check_usable(recording)
    return recording


def load_any(
    path: StrPath,
    pids: Pids = "tree",
    *,
    page_size: int | None = None,
    inodes: StrPath | None = None,
) -> Recording:
    """Read like ``load``, but also a trace from which nothing can be emulated.

    A process of its own reads it, with limits on memory and time (``isolated.py``).
    """
    checked, chosen, size = checked_path(path), checked_pids(pids), checked_page_size(page_size)
    list_path = None if inodes is None else checked_path(inodes)
    if not checked.exists():
        raise TraceError(f"{checked} does not exist", "give a capture or a trace file")
    if list_path is not None and not list_path.exists():
        from foreread.analyzer.ingest.inode_list import FORM  # noqa: PLC0415  (few starts have a list)

        raise TraceError(f"{list_path} does not exist", f"make it on the board: {FORM}")
    # Here, so that it is removed also when that process crashes.
    with scratch_folder("load") as scratch:
        recording: Recording = call(read, checked, chosen, scratch, size, list_path)
    return replace(recording, path=str(checked))


def read(
    path: Path,
    pids: Pids,
    scratch: str,
    page_size: int | None = None,
    inodes: Path | None = None,
) -> Recording:
    """Read in this process; an archive is unpacked below ``scratch``."""
    if path.is_file() and is_archive(path):
        with unpacked(path, scratch) as directory:
            return read(directory, pids, scratch, page_size, inodes)
    if path.is_file() and is_compressed(path):
        with expanded(path, scratch) as file:
            return _read_foreign(file, pids, page_size, inodes)
    if path.is_dir() and not _is_bare_trace(path):
        if inodes is not None:
            raise TraceError(
                f"{path} is a capture, which has its files", "leave out the list of inodes"
            )
        grant(_bytes_of(path / capture_format.FILES) // _TRACE_PER_FILES)
        capture, files = capture_format.read(path)
        trace = open_recorded(path / capture_format.TRACE)
        recording = interpret(trace, capture, files, pids, page_size)
        return replace(recording, probe=capture.disk)
    return _read_foreign(path, pids, page_size, inodes)


def _read_foreign(path: Path, pids: Pids, page_size: int | None, inodes: Path | None) -> Recording:
    """Read a trace of another tool."""
    trace = open_trace(path, page_size)
    if inodes is None:
        return interpret(trace, NO_METADATA, [], pids, page_size)
    from foreread.analyzer.ingest.inode_list import read_inodes  # noqa: PLC0415  (few starts have a list)

    inode_list = read_inodes(inodes, trace)
    trace = replace(trace, notes=(*trace.notes, *inode_list.notes))
    return interpret(trace, NO_METADATA, [*inode_list.entries.values()], pids, page_size)


def _bytes_of(path: Path) -> int:
    """Return the size of a file that is read whole; 0 where it would be refused."""
    size = path.stat().st_size if path.is_file() else 0
    return size if size <= MOST_FILES_BYTES else 0


def _is_bare_trace(directory: Path) -> bool:
    """Return whether this is a directory of ring-buffer pages rather than a capture."""
    if (directory / capture_format.METADATA).exists():
        return False
    return not (directory / capture_format.TRACE).is_dir()  # tracefs has a file of this name


def _check_usable(recording: Recording) -> None:
    """Raise TraceError, naming event, kernel and remedy, if nothing can be emulated."""
    trace = recording.trace
    if recording.capture.is_load:
        path = quote(str(recording.path))
        raise TraceError(
            f"{recording.path} holds a load, and no start",
            f"predict a recorded start beside it: foreread predict CAPTURE --load {path}; "
            f"foreread show {path} lists its programs",
        )
    if (trace.events["kind"] == Kind.INSERT).any():
        return
    where = f" (kernel {recording.kernel})" if recording.kernel else ""
    others = "" if INSERTS in trace.event_names else f"; it knows: {_some(trace.event_names)}"
    raise TraceError(
        f"the trace has no event {INSERTS}{where}: it was not recorded, or nothing "
        f"was read into the page cache{others}",
        "record with foreread record -o CAPTURE -- COMMAND, or drop the caches and record "
        f"{listed(NEEDED)} with another recorder (Linux 3.10 or later)",
    )


def _some(names: frozenset[str]) -> str:
    shown = sorted(names)[:6]
    return ", ".join(shown) + (" …" if len(names) > len(shown) else "") if shown else "none"


def open_recorded(directory: Path) -> Trace:
    """Open what a back-end left in a capture's trace directory."""
    files = [directory / name for name in _TRACE_FILES]
    return open_trace(next((file for file in files if file.exists()), directory))


def events_of(directory: Path) -> Table:
    """Return the events in a capture's trace directory."""
    return open_recorded(directory).events


def inodes_in(events: Table) -> set[tuple[int, int]]:
    """Return the (dev_t, inode) pairs of all page-cache events."""
    pages = events.take(events["kind"] <= Kind.RA_SYNC)
    first, _ = acc.group_pairs(pages["dev"], pages["ino"])
    return set(zip(pages["dev"][first].tolist(), pages["ino"][first].tolist(), strict=True))
