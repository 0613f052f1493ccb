"""Captures packed as tar archives, which may come from anybody."""

from __future__ import annotations

import lzma
import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath

from analyzer.ingest.recording import TraceError
from tracer.formats import capture as capture_format

_LIMIT_BYTES = 8 << 30  # unpacked; a capture of an hour stays far below
_LONGEST_END_BYTES = 64 << 20  # zeros after the last member; tar(1) writes 10 KiB
_MAGIC_AT = 257  # of the first member's header (tar(5): magic)
_COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ\0", b"BZh")
# lzma and zlib raise errors that are not OSError, and tarfile lets them through.
_DAMAGE = (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, OSError, ValueError)


def is_archive(path: Path) -> bool:
    """Return whether the file is a tar archive, compressed or not, damaged or not.

    tarfile.is_tarfile is not used for other files: it takes zeros for an empty archive, and
    searches a huge file of zeros for its end.
    """
    with path.open("rb") as file:
        head = file.read(_MAGIC_AT + 5)
    if not head.startswith(_COMPRESSED):
        return head[_MAGIC_AT:] == b"ustar"
    try:
        return tarfile.is_tarfile(path)
    except _DAMAGE:
        return True


def unpack(archive: Path, scratch: Path) -> Path:
    """Unpack regular files only, below ``scratch`` only; return the capture's directory.

    Raises TraceError for an archive that is damaged, too large, or holds no capture.
    """
    total = 0
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                name = PurePosixPath(member.name)
                if not member.isfile() or name.is_absolute() or ".." in name.parts:
                    continue
                total += member.size
                if total > _LIMIT_BYTES:
                    raise TraceError(
                        f"{archive} unpacks to more than 8 GiB",
                        "unpack it with tar and give the directory",
                    )
                target = scratch.joinpath(*name.parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                source = tar.extractfile(member)
                if source is not None:
                    with target.open("wb") as file:
                        shutil.copyfileobj(source, file)
            _check_end(tar)
    except TraceError:
        raise
    except _DAMAGE as error:
        raise TraceError(f"{archive}: {error}", "the archive is damaged: copy it again") from error
    found = sorted(scratch.rglob(capture_format.METADATA))
    found = found or sorted(scratch.rglob("header_page"))
    if not found:
        raise TraceError(
            f"{archive} contains no {capture_format.METADATA}", "pack the capture's directory"
        )
    return found[0].parent


def _check_end(tar: tarfile.TarFile) -> None:
    """Read what follows the last member; raise ReadError if it is not the end of an archive.

    The checksum of a compressed archive is at its end, and tarfile reads no further than the last
    member. tarfile also takes a member with a damaged header for the end.
    """
    file = tar.fileobj
    assert file is not None
    file.seek(tar.offset)
    left = _LONGEST_END_BYTES
    while block := file.read(min(left, 1 << 20)):
        left -= len(block)
        if block.strip(b"\0"):
            raise tarfile.ReadError(f"no member begins at byte {tar.offset} of the archive")
    if not left:
        raise tarfile.ReadError("the end of the archive is too long")
