"""A capture packed as a tar archive, read as a stream within the limits of ``limits.py``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from foreread.boards.base.bounded import open_regular
from foreread.tracer.formats import limits
from foreread.tracer.formats.capture import DISK, FILES, METADATA, CaptureError
from foreread.tracer.formats.decompressed import DAMAGE, MAGICS, Decompressed
from foreread.tracer.formats.limits import LimitError, check_formats, check_size
from foreread.tracer.formats.tar_members import BLOCK, Member, TarReader, is_header

_MAGIC_AT = 257  # of the first member's header (tar(5): magic)
_DEEPEST = 32  # folders; events/SYSTEM/NAME is three below trace/
_UNPACK = "unpack it with tar and give the capture's directory"

# What is read of a capture, by the name of the file, and most of each.
_READ = {
    METADATA: limits.MOST_METADATA_BYTES,
    FILES: limits.MOST_FILES_BYTES,
    DISK: limits.MOST_DISK_BYTES,
    "format": limits.MOST_FORMAT_BYTES,
    "header_page": limits.MOST_TEXT_BYTES,
    "header_event": limits.MOST_TEXT_BYTES,
    "stats": limits.MOST_TEXT_BYTES,
    "trace_pipe_raw": limits.MOST_TRACE_BYTES,
    "trace.dat": limits.MOST_TRACE_BYTES,
    "perf.data": limits.MOST_TRACE_BYTES,
}
_OF_A_CPU = re.compile(r"cpu\d{1,5}(\.raw)?")


def is_archive(path: Path) -> bool:
    """Return whether the file is a tar archive, compressed or not, damaged or not."""
    with open_regular(path) as file:
        head = file.read(BLOCK)
        if not head.startswith(MAGICS):
            return is_header(head) or head[_MAGIC_AT : _MAGIC_AT + 5] == b"ustar"
        file.seek(0)
        try:
            return is_header(Decompressed(file).read(BLOCK))
        except (LimitError, *DAMAGE):
            return True


def unpack(archive: Path, scratch: Path) -> None:
    """Unpack the regular files that a capture consists of, below ``scratch`` only.

    Raises LimitError for an archive that holds more than is read, CaptureError for a damaged one.
    """
    # Thousands of small files are written when the whole archive has proved to be within limits.
    small: dict[tuple[str, ...], bytes] = {}
    left = limits.MOST_FORMATS_BYTES
    with _named(archive), open_regular(archive) as file:
        reader = TarReader(file)
        for member in reader:
            parts = _wanted(member)
            if parts and member.size > limits.MOST_FORMAT_BYTES:
                with _created(scratch, parts).open("wb", buffering=0) as target:
                    for piece in reader.pieces():
                        target.write(piece)
            elif parts:
                left -= member.size
                check_size("the sum of its small members", -left, 0, _UNPACK)
                small[parts] = b"".join(reader.pieces())
    check_formats(len(small), str(archive))
    for parts, content in small.items():
        _created(scratch, parts).write_bytes(content)


def check(archive: Path) -> None:
    """Read an archive to its end; raises as ``unpack`` does."""
    with _named(archive), open_regular(archive) as file:
        for member in TarReader(file):
            _wanted(member)


def _wanted(member: Member) -> tuple[str, ...]:
    """Return the parts of the name of a member that is read, nothing for another one.

    Raises LimitError if it is larger than is read of it. Members of other names have the limit of a
    trace: they are decompressed to get past them.
    """
    parts = tuple(part for part in member.name.split("/") if part not in ("", "."))
    name = parts[-1] if parts else ""
    is_listed = name in _READ or _OF_A_CPU.fullmatch(name) is not None
    check_size(f"member {member.name}", member.size, _most(parts), _UNPACK)
    safe = ".." not in parts and not member.name.startswith("/") and "\0" not in member.name
    return parts if member.is_file and is_listed and safe and len(parts) <= _DEEPEST else ()


def _most(parts: tuple[str, ...]) -> int:
    if parts[-2:-1] == ("stats",):
        return limits.MOST_TEXT_BYTES
    return _READ.get(parts[-1] if parts else "", limits.MOST_TRACE_BYTES)


def _created(scratch: Path, parts: tuple[str, ...]) -> Path:
    """Return the path of a new file, in folders that are made."""
    target = scratch.joinpath(*parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


@contextmanager
def _named(archive: Path) -> Iterator[None]:
    """Name the archive in what the block raises."""
    try:
        yield
    except LimitError as error:
        raise LimitError(f"{archive}: {error}", error.remedy) from None
    except CaptureError:
        raise
    except DAMAGE as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise  # the archive itself, or a full disk
        raise CaptureError(
            f"{archive}: {error}", "the archive is damaged: copy it again"
        ) from error
