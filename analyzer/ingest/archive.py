"""Captures packed as tar archives, which may come from anybody."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from analyzer.ingest.recording import TraceError
from boards.bounded import UnboundedError
from tracer.formats import archive as tar
from tracer.formats.capture import METADATA, CaptureError
from tracer.formats.limits import LimitError

_NAMED = (TraceError, CaptureError, LimitError, UnboundedError)


@contextmanager
def unpacked(archive: Path, scratch: str) -> Iterator[Path]:
    """Unpack what a capture consists of below ``scratch``; return the first capture's directory.

    Errors that the block raises about a file in it name the archive and the member. Raises what
    ``unpack`` does.
    """
    with _named(archive, scratch):
        yield unpack(archive, Path(scratch))


def unpack(archive: Path, scratch: Path) -> Path:
    """Unpack what a capture consists of below ``scratch``; return the first capture's directory.

    Raises LimitError for an archive that holds more than is read, TraceError for one that is
    damaged or holds no capture.
    """
    try:
        tar.unpack(archive, scratch)
    except CaptureError as error:
        raise TraceError(str(error), error.remedy) from error
    found = sorted(scratch.rglob(METADATA)) or sorted(scratch.rglob("header_page"))
    if not found:
        raise TraceError(f"{archive} contains no {METADATA}", "pack the capture's directory")
    return found[0].parent


@contextmanager
def _named(archive: Path, scratch: str) -> Iterator[None]:
    """Name archive and member where an error names a file of the temporary folder."""
    try:
        yield
    except _NAMED as error:
        text = str(error)
        if scratch not in text:
            raise
        raise type(error)(text.replace(f"{scratch}/", f"{archive}: "), error.remedy) from error
    except OSError as error:
        if error.filename is not None and str(error.filename).startswith(f"{scratch}/"):
            error.filename = f"{archive}: {str(error.filename)[len(scratch) + 1 :]}"
        raise
