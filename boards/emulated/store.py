"""The cache of downloaded packages and of files built from them, with checksums."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from foreread.boards.emulated.error import BoardError

_SUMS = "sha256sums"


def default_store() -> Path:
    """Return the cache's folder by the XDG base directory rules."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "foreread" / "boards"


def digest(*parts: bytes | str) -> str:
    """Return a short name for the result of ``parts``: 16 hexadecimal digits."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "little") + data)
    return whole.hexdigest()[:16]


def folder(path: Path, fill: Callable[[Path], None]) -> Path:
    """Return the folder ``path``, filled by ``fill`` at the first call, checked at every call.

    The folder appears atomically. Raises BoardError if a file has changed.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        try:
            fill(scratch)
            (scratch / _SUMS).write_text(_sums(scratch))
            _settle(scratch, path)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    _check(path)
    return path


def sums(path: Path) -> str:
    """Return the manifest of a folder, which identifies its content."""
    return (path / _SUMS).read_text()


def _settle(scratch: Path, path: Path) -> None:
    """Rename the folder; if another process was faster, its folder is kept."""
    try:
        scratch.rename(path)
    except OSError:
        if not path.exists():
            raise


def _check(path: Path) -> None:
    try:
        expected = sums(path)
    except OSError:
        expected = ""
    if expected != _sums(path):
        raise BoardError(
            f"the cached files in {path} are damaged (wrong checksum)",
            f"remove this folder: rm -r {path}; foreread builds it again",
        )


def _sums(path: Path) -> str:
    """Return the lines that sha256sum prints for the folder's files."""
    files = sorted(file for file in path.iterdir() if file.is_file() and file.name != _SUMS)
    return "".join(f"{_sha256(file)}  {file.name}\n" for file in files)


def _sha256(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()
