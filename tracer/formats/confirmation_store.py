"""Stores confirmations in a capture: in the metadata of a folder or of a tar archive.

The metadata is replaced atomically and only the list of confirmations in it changes, so unknown
data of a newer foreread is kept. After a crash there is either the old file or the new one.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from foreread.boards.base.bounded import read_bounded
from foreread.boards.base.document import DocumentError, converted, parse
from foreread.boards.base.locked import locked_folder, opened_folder
from foreread.tracer.formats import archive as bounded
from foreread.tracer.formats.capture import METADATA, CaptureError
from foreread.tracer.formats.confirmation import Confirmation
from foreread.tracer.formats.limits import METADATA_REMEDY, MOST_METADATA_BYTES

KEY = "confirmations"
Change = Callable[[list[Confirmation]], list[Confirmation]]


def change_stored(capture: Path, change: Change) -> None:
    """Replace the confirmations in ``capture`` by what ``change`` returns for those it holds.

    Raises CaptureError if it is not a capture of foreread, OSError where it cannot be written.
    """
    _write(capture, change, put=True)


def check_storable(capture: Path) -> None:
    """Raise CaptureError or OSError if no confirmation can be stored in ``capture``.

    The capture itself stays as it is: a file beside it is written and removed.
    """
    _write(capture, lambda stored: stored, put=False)


def _write(capture: Path, change: Change, put: bool) -> None:
    if capture.is_dir():
        with locked_folder(capture):
            path = capture / METADATA
            _replace(path, lambda file: file.write(_changed(_read(path), change, path)), put)
        return
    with locked_folder(capture.parent):
        _replace(capture, lambda file: _change_archive(capture, file, change), put)


def _changed(text: bytes, change: Change, path: Path) -> bytes:
    """Return the metadata with other confirmations; all else stays, unknown keys too."""
    try:
        document = parse(text)
        if not isinstance(document, dict):
            raise DocumentError("it holds no object")
        stored = converted(document.get(KEY, []), list[Confirmation])
    except DocumentError as error:
        raise CaptureError(f"{path}: {error}", "the capture is damaged: record again") from error
    document[KEY] = [msgspec.to_builtins(confirmation) for confirmation in change(stored)]
    return (json.dumps(document, indent=1) + "\n").encode()


def _read(metadata: Path) -> bytes:
    return read_bounded(metadata, MOST_METADATA_BYTES, METADATA_REMEDY)


def _change_archive(archive: Path, file: Any, change: Change) -> None:
    """Write the archive again, with other metadata."""
    bounded.check(archive)  # tarfile bears only what is within the limits
    is_changed = False
    try:
        with (
            tarfile.open(archive) as old,
            tarfile.open(fileobj=file, mode=_mode(archive), format=tarfile.PAX_FORMAT) as new,
        ):
            for member in old:
                content = old.extractfile(member) if member.isfile() else None
                if content is not None and Path(member.name).name == METADATA and not is_changed:
                    text = _changed(content.read(), change, archive)
                    member.size, content, is_changed = len(text), io.BytesIO(text), True
                new.addfile(member, content)
    except (tarfile.TarError, EOFError, ValueError) as error:
        if isinstance(error, CaptureError):
            raise
        raise CaptureError(f"{archive}: {error}", "give a capture of foreread record") from error
    if not is_changed:
        raise CaptureError(f"{archive} contains no {METADATA}", "give a capture of foreread record")


def _mode(archive: Path) -> Any:
    """Return how the archive is compressed, as a mode for writing it."""
    with archive.open("rb") as file:
        head = file.read(6)
    kinds = {b"\x1f\x8b": "w:gz", b"BZh": "w:bz2", b"\xfd7zXZ": "w:xz"}
    return next((mode for magic, mode in kinds.items() if head.startswith(magic)), "w:")


def _replace(path: Path, write: Callable[[Any], object], put: bool) -> None:
    """Write a file beside ``path`` and, with ``put``, put it in its place."""
    part = path.with_name(path.name + ".part")
    try:
        part.unlink(missing_ok=True)  # which a foreign folder may bring as a link to elsewhere
        with part.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if not put:
            return
        part.chmod(path.stat().st_mode & 0o777)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    with contextlib.suppress(OSError), opened_folder(path.parent) as folder:
        os.fsync(folder)
