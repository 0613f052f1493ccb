"""Captures packed as tar archives, and compressed traces, which may come from anybody."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from foreread.analyzer.ingest.recording import TraceError
from foreread.boards.base.bounded import UnboundedError, open_regular
from foreread.tracer.formats import archive as tar
from foreread.tracer.formats.capture import METADATA, CaptureError
from foreread.tracer.formats.decompressed import DAMAGE, MAGICS, Decompressed
from foreread.tracer.formats.limits import MOST_TRACE_BYTES, RECORD_LESS, LimitError, check_size

_PIECE = 1 << 20
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
    places = sorted(scratch.rglob(METADATA)) or sorted(scratch.rglob("header_page"))
    if not places:
        raise TraceError(
            f"{archive} contains no {METADATA}",
            "pack the capture's directory; of another tool's trace, unpack it and give the trace",
        )
    return places[0].parent


def is_compressed(path: Path) -> bool:
    """Return whether the file is compressed with gzip, bzip2 or xz."""
    with open_regular(path) as file:
        return file.read(max(map(len, MAGICS))).startswith(MAGICS)


@contextmanager
def expanded(path: Path, scratch: str) -> Iterator[Path]:
    """Decompress a file below ``scratch``; errors that the block raises about it name ``path``.

    Raises LimitError for one that is too large, TraceError for one that is damaged.
    """
    target = Path(scratch) / (path.stem if path.suffix else "trace")
    with _named(path, scratch):
        try:
            with open_regular(path) as file, target.open("xb") as expansion:
                source = Decompressed(file)
                while piece := source.read(_PIECE):
                    expansion.write(piece)
                    check_size("it", source.offset, MOST_TRACE_BYTES, RECORD_LESS)
        except LimitError as error:
            raise LimitError(f"{path}, expanded: {error}", error.remedy) from None
        except DAMAGE as error:
            raise TraceError(f"{path} is damaged: {error}", "copy it again") from error
        yield target


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
