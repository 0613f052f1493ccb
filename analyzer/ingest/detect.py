"""Choose the reader of a file or folder by its content, never by its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from foreread.analyzer.ingest import not_traces
from foreread.analyzer.ingest.recording import Trace, TraceError
from foreread.boards.base.bounded import open_regular
from foreread.tracer.formats.limits import LimitError

_Reader = Callable[[Path], Trace]


class _Format(Protocol):
    """The interface of each module of this package that reads a file of some format."""

    def begins(self, head: bytes) -> bool:
        """Return whether ``head`` begins a file of this format."""

    def read(self, path: Path, **options: Any) -> Trace:
        """Decode a file."""


_HEAD_BYTES = 1 << 16
# What may stand before the first line of a text: the viewer in a web page of systrace has 1 to 5
# MB, a log of a whole boot less.
_BEFORE_TEXT_BYTES = 16 << 20
_MOST_FILES = 64  # of a folder, looked at
_OF_BLKTRACE = re.compile(r"(.*)\.blktrace\.\d{1,5}")
# Modules, in the order in which they look at a file; one is imported when its turn comes.
_TEXTS = ("text", "blkparse")
_FORMATS = ("perfdata", "tracedat", "blktrace", *_TEXTS, "perfetto")


def open_trace(path: Path, page_size: int | None = None) -> Trace:
    """Decode a trace of any kind that can be read.

    ``page_size``: of the traced kernel in bytes, for a text. Every error names the file.
    Raises LimitError, and TraceError when it is of another kind (the message says of which),
    cannot be read, or is damaged.
    """
    try:
        return _reader(path, page_size)(path)
    except (TraceError, LimitError) as error:
        if str(path) in str(error):
            raise
        raise type(error)(f"{path}: {error}", error.remedy) from error
    except OSError as error:
        raise TraceError(
            f"{path}: {error.strerror or error}", "give a trace that exists and can be read"
        ) from error


def _reader(path: Path, page_size: int | None) -> _Reader:
    if path.is_dir():
        return _reader_of_folder(path)
    if path.exists() and not path.is_file():
        raise TraceError(f"{path} is neither a file nor a directory", not_traces.ACCEPTED)
    with open_regular(path) as file:
        head = file.read(_HEAD_BYTES)
        name = _format_of(head, _FORMATS)
        if name is None and b"\0" not in head:
            name = _format_of(head + file.read(_BEFORE_TEXT_BYTES), _TEXTS)
    if name is not None:
        read = _module(name).read
        return partial(read, page_size=page_size) if name == "text" else read
    from foreread.analyzer.ingest import perfdata  # noqa: PLC0415  (as all formats: only if it is needed)

    if perfdata.is_part(path):
        raise TraceError(
            f"{path} is a part of a perf.data directory", f"give the directory: {path.parent}"
        )
    what, remedy = not_traces.describe(head, path.stat().st_size)
    raise TraceError(f"{path} is not a trace: {what}", remedy)


def _module(name: str) -> _Format:
    module: _Format = import_module(f"foreread.analyzer.ingest.{name}")
    return module


def _format_of(beginning: bytes, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if _module(name).begins(beginning)), None)


def _reader_of_folder(folder: Path) -> _Reader:
    """Return the reader for the content of a folder."""
    from foreread.analyzer.ingest import tracefs  # noqa: PLC0415  (as all formats: only if it is needed)

    if tracefs.is_pages(folder):
        return tracefs.read
    from foreread.analyzer.ingest import blktrace, perfdata  # noqa: PLC0415

    if perfdata.is_directory(folder):
        return perfdata.read
    files = sorted(entry for entry in folder.iterdir() if entry.is_file())
    traces = {match[1]: file for file in files if (match := _OF_BLKTRACE.fullmatch(file.name))}
    if len(traces) == 1:
        return lambda _: blktrace.read(next(iter(traces.values())))
    if traces:
        raise TraceError(
            f"{folder} holds blktrace files of several disks: {', '.join(sorted(traces))}",
            f"give one of each disk: {next(iter(traces.values()))}",
        )
    readable = [file for file in files[:_MOST_FILES] if _is_trace(file)]
    if readable:
        raise TraceError(
            f"{folder} is a folder that holds {', '.join(file.name for file in readable[:6])}",
            f"give one of the traces in it: {readable[0]}",
        )
    what, remedy = not_traces.describe_folder(folder)
    raise TraceError(f"{folder} {what}", remedy)


def _is_trace(file: Path) -> bool:
    with open_regular(file) as opened:
        head = opened.read(_HEAD_BYTES)
    return _format_of(head, _FORMATS) is not None
