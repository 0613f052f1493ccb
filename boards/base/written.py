"""Complete writes of result files: the whole file, or no file."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


def write_whole(path: str | os.PathLike[str], content: bytes, mode: int | None = None) -> None:
    """Write a file, and keep its earlier content until the new content is complete.

    Links are followed. ``mode`` are the permissions; None keeps the permissions of the earlier
    file. A device or a pipe gets the bytes directly and keeps its permissions; a pipe without a
    reader is an error, since opening it would wait. Raises OSError, which names ``path`` also where
    the kernel names no file (a full disk).
    """
    try:
        before = _status(path)
        if before is None or stat.S_ISREG(before.st_mode):
            _replace(Path(os.path.realpath(path)), content, before, mode)
        else:
            _write_into(path, content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _status(path: str | os.PathLike[str]) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except FileNotFoundError:
        return None


def _replace(place: Path, content: bytes, before: os.stat_result | None, mode: int | None) -> None:
    part = place.with_name(f"{place.name}.{os.getpid()}.part")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if before is not None:
            with suppress(PermissionError):
                os.chown(part, before.st_uid, before.st_gid)
            part.chmod(stat.S_IMODE(before.st_mode))
        if mode is not None:
            part.chmod(mode)
        part.replace(place)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _write_into(path: str | os.PathLike[str], content: bytes) -> None:
    flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags), "wb", buffering=0) as file:
        os.set_blocking(file.fileno(), True)
        rest = memoryview(content)
        while rest:
            rest = rest[file.write(rest) :]
