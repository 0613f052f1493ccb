"""Choose the reader of a file by its content, never by its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from analyzer.ingest import blktrace, perfdata, perfetto, text, tracedat, tracefs, tracing_data
from analyzer.ingest.recording import Trace, TraceError
from boards.bounded import open_regular
from tracer.formats.limits import LimitError

_HEAD_BYTES = 1 << 16
# What may stand before the first line of a text: the viewer in a web page of systrace has 1 to 5
# MB, a log of a whole boot less.
_BEFORE_TEXT_BYTES = 16 << 20
_ACCEPTED = (
    "give a perf.data, a trace.dat (version 6 or 7), tracefs text (trace, trace_pipe, trace-cmd "
    "report, perf script), a Perfetto trace, a blktrace file, or a directory of ring-buffer pages "
    "with their formats"
)
_PERF_MAGICS = (b"PERFILE2", b"2ELIFREP")  # tools/perf/util/header.c, either byte order
_BINARY = (*_PERF_MAGICS, tracing_data.MAGIC)
_OTHER_MAGICS = {
    b"\x1f\x8b": "gzip data: unpack it first",
    b"\xfd7zXZ": "xz data: unpack it first",
    b"\x28\xb5\x2f\xfd": "zstd data: unpack it first",
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"\x7fELF": "a program or core dump",
    b"PERFFILE": "a perf.data of a perf older than 2.6.37",
}


def open_trace(path: Path, page_size: int | None = None) -> Trace:
    """Decode a trace of any kind that can be read.

    ``page_size`` is that of the traced kernel in bytes, for a text. Every error names the file.
    Raises LimitError, and TraceError when it is none of them (the message says what was found),
    cannot be read, or is damaged.
    """
    try:
        reader = _reader(path)
        return text.read(path, page_size) if reader is text.read else reader(path)
    except (TraceError, LimitError) as error:
        if str(path) in str(error):
            raise
        raise type(error)(f"{path}: {error}", error.remedy) from error
    except OSError as error:
        raise TraceError(
            f"{path}: {error.strerror or error}", "give a trace that exists and can be read"
        ) from error


def _reader(path: Path) -> Callable[[Path], Trace]:
    if path.is_dir():
        return tracefs.read
    if path.exists() and not path.is_file():
        raise TraceError(f"{path} is neither a file nor a directory", _ACCEPTED)
    with open_regular(path) as file:
        head = file.read(_HEAD_BYTES)
        if not head.startswith(_BINARY) and b"\0" not in head:
            head += file.read(_BEFORE_TEXT_BYTES)
    if head.startswith(_PERF_MAGICS):
        return perfdata.read
    if head.startswith(tracing_data.MAGIC):
        return tracedat.read
    if blktrace.is_blktrace(head):
        return blktrace.read
    if text.looks_like_text(head):
        return text.read
    if perfetto.is_perfetto(head):
        return perfetto.read
    raise TraceError(f"{path} is not a trace: {_what(head)}", _ACCEPTED)


def _what(head: bytes) -> str:
    """Return the apparent type of a file that is not a trace."""
    if not head:
        return "it is empty"
    for magic, what in _OTHER_MAGICS.items():
        if head.startswith(magic):
            return what
    if b"\0" in head:
        return f"binary data that begins with {head[:8].hex(' ')}"
    return "text without a line of a trace"
