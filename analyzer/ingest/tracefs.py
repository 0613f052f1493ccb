"""Reader of raw ring-buffer pages with their formats, the output of the tracefs back-end.

Two layouts are accepted: ``header_page``, ``events/SYSTEM/NAME/format``, ``cpuN.raw`` and
``stats/cpuN`` (a capture's ``trace/``), and files copied out of tracefs as they are named there:
``events/header_page``, ``per_cpu/cpuN/trace_pipe_raw``, ``per_cpu/cpuN/stats``.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection
from pathlib import Path
from typing import BinaryIO

import numpy as np

from foreread.analyzer.ingest.allowance import grant
from foreread.analyzer.ingest.formats import ByteOrder, Formats
from foreread.analyzer.ingest.losses import missing_cpus, numbers
from foreread.analyzer.ingest.recording import Trace, TraceError
from foreread.analyzer.ingest.ring import (
    Layout,
    RingBuffers,
    Stream,
    gap_notes,
    lost_in_stats,
    most_lost,
    page_size,
)
from foreread.boards.base.bounded import open_regular, read_bounded
from foreread.tracer.formats.limits import (
    MOST_FORMAT_BYTES,
    MOST_FORMATS_BYTES,
    MOST_TEXT_BYTES,
    MOST_TRACE_BYTES,
    RECORD_LESS,
    check_cpus,
    check_formats,
    check_size,
)

_PAGES = (("cpu*.raw", r"cpu(\d{1,5})\.raw"), ("per_cpu/cpu*/trace_pipe_raw", r"cpu(\d{1,5})"))
_HEADER_PAGES = ("header_page", "events/header_page")
_COMMIT_OFFSET = 8
_COMMIT_MASK = ~(3 << 30)  # without the flags of missed events
_COPY_AGAIN = "copy the directory again, or record with foreread record"


def read(directory: Path) -> Trace:
    """Decode a directory of ring-buffer pages.

    Its byte order shows in the pages. Raises TraceError for a directory that lacks pages,
    header_page or formats, or whose pages are damaged; OSError if it cannot be read.
    """
    pages = _pages(directory)
    layout = Layout.parse(_header_page(directory))
    data, streams, notes, cut = _load(pages, layout)
    texts = _formats(directory)
    formats = Formats(texts, byte_order=_byte_order(data, streams), long_size=layout.commit_size)
    rings = RingBuffers(data, streams, formats)
    events, loss = rings.events()
    counted = _stats(directory)
    return Trace(
        format="tracefs pages",
        events=events,
        page_size=page_size(texts),
        lost=most_lost(counted, loss.lost, dict.fromkeys(cut, 1)),
        uncounted=_uncounted(pages, counted),
        event_names=formats.names,
        notes=(*notes, *gap_notes(loss)),
        read_fields=rings.reader_of_fields(),
    )


def is_pages(directory: Path) -> bool:
    """Return whether this is a directory of ring-buffer pages, complete or not."""
    return bool(_files_by_cpu(directory))


def _pages(directory: Path) -> dict[int, Path]:
    """Return the files of pages by CPU."""
    files = _files_by_cpu(directory)
    if not files:
        raise TraceError(
            f"{directory} holds no pages of a ring buffer (cpuN.raw or "
            "per_cpu/cpuN/trace_pipe_raw)",
            _COPY_AGAIN,
        )
    check_cpus(len(files), str(directory))
    return files


def _files_by_cpu(directory: Path) -> dict[int, Path]:
    for pattern, name in _PAGES:
        files: dict[int, Path] = {}
        for path in sorted(directory.glob(pattern)):
            match = re.fullmatch(name, path.name if path.suffix else path.parent.name)
            if match and path.is_file():
                files[int(match[1])] = path
        if files:
            return files
    return {}


def _header_page(directory: Path) -> bytes:
    for name in _HEADER_PAGES:
        if (directory / name).is_file():
            return read_bounded(directory / name, MOST_TEXT_BYTES, _COPY_AGAIN)
    raise TraceError(f"{directory} lacks header_page", _COPY_AGAIN)


def _formats(directory: Path) -> dict[str, bytes]:
    paths = [path for path in sorted(directory.glob("events/*/*/format")) if path.is_file()]
    check_formats(len(paths), str(directory))
    texts, left = {}, MOST_FORMATS_BYTES
    for path in paths:
        text = read_bounded(path, min(MOST_FORMAT_BYTES, left), _COPY_AGAIN)
        texts[f"{path.parent.parent.name}:{path.parent.name}"] = text
        left -= len(text)
    if not texts:
        raise TraceError(f"{directory} has no formats (events/SYSTEM/NAME/format)", _COPY_AGAIN)
    return texts


def _load(
    pages: dict[int, Path], layout: Layout
) -> tuple[memoryview, list[Stream], list[str], list[int]]:
    """Read all files into one block; a sub-buffer that was cut off is left out, with a note.

    Returns the block, the streams in it, the notes and the CPUs whose files were cut off.
    """
    notes, streams, cut, offset = [], [], [], 0
    for cpu, path in pages.items():
        size = path.stat().st_size
        check_size(f"{path} with the pages before it", offset + size, MOST_TRACE_BYTES, RECORD_LESS)
        whole = size - size % layout.subbuf_size
        if cpu > np.iinfo(np.uint16).max:
            raise TraceError(f"there is no CPU {cpu}", _COPY_AGAIN)
        if whole != size:
            notes.append(f"{path.name} of CPU {cpu} ends inside a sub-buffer: its rest is left out")
            cut.append(cpu)
        streams.append(Stream.plain(cpu, offset, whole, layout))
        offset += whole
    grant(offset)
    data = memoryview(np.empty(offset, np.uint8).data)
    for stream, path in zip(streams, pages.values(), strict=True):
        with open_regular(path) as file:
            if not _fill(file, data[stream.offset : stream.offset + stream.size]):
                raise TraceError(f"{path} shrank while it was read", _COPY_AGAIN)
    return data, streams, notes, cut


def _fill(file: BinaryIO, target: memoryview) -> bool:
    """Read as many bytes as the target has; False if the file has fewer."""
    while len(target) and (read := os.readv(file.fileno(), [target])):
        target = target[read:]
    return not len(target)


def _byte_order(data: memoryview, streams: list[Stream]) -> ByteOrder:
    """Return the byte order in which the commit words are small numbers, as they must be."""
    for stream in streams:
        layout = stream.layout
        for subbuf in range(stream.offset, stream.offset + stream.size, layout.subbuf_size):
            start = subbuf + _COMMIT_OFFSET
            commit = data[start : start + layout.commit_size]
            if any(commit):
                fits = int.from_bytes(commit, "little") & _COMMIT_MASK <= layout.subbuf_size
                return "little" if fits else "big"
    return sys.byteorder


def _uncounted(pages: Collection[int], counted: Collection[int]) -> str:
    """Return why losses would not show: CPUs without pages, or without statistics."""
    without = missing_cpus(pages)
    if without:
        return f"the pages of CPU {numbers(without)} are missing"
    without = sorted({*pages} - {*counted})
    return f"CPU {numbers(without)} has no statistics" if without else ""


def _stats(directory: Path) -> dict[int, int]:
    """Return the lost events by CPU, as far as statistics were saved."""
    files = [*directory.glob("stats/cpu*"), *directory.glob("per_cpu/cpu*/stats")]
    lost = {}
    for path in files:
        name = path.parent.name if path.name == "stats" else path.name
        if re.fullmatch(r"cpu\d{1,5}", name) and path.is_file():
            text = read_bounded(path, MOST_TEXT_BYTES, _COPY_AGAIN)
            lost[int(name[3:])] = lost_in_stats(text.decode(errors="replace"))
    return lost
