"""Brings a capture from its place to a path of this machine, and knows its content."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from foreread.analyzer.fleet.error import FleetError
from foreread.analyzer.fleet.listing import Found
from foreread.analyzer.fleet.names import digest
from foreread.analyzer.fleet.place import Place, open_place
from foreread.boards.base.bounded import open_regular
from foreread.tracer.formats.limits import MOST_ARCHIVE_BYTES, MOST_MEMBERS, LimitError

_PIECE = 1 << 20
_SPLIT = "give the capture's own file or folder"


@dataclass(frozen=True)
class Fetched:
    """A capture that this machine has: its path, its bytes, and a digest of them."""

    path: Path
    size: int
    content: str


@contextmanager
def fetched(entry: Found, scratch: str) -> Iterator[Fetched]:
    """Yield a capture; what is copied for it is below ``scratch`` and removed after the block.

    Raises LimitError for one that is larger than foreread reads, FleetError for names that leave
    the capture's folder, and what its file system raises.
    """
    place = open_place(entry.address)
    if place.is_local:
        yield _measured(Path(place.path), entry.is_folder)
        return
    target = Path(scratch) / PurePosixPath(place.path).name.replace("/", "")
    try:
        _copy(place, entry.is_folder, target)
        yield _measured(target, entry.is_folder)
    finally:
        _remove(target)


def _copy(place: Place, is_folder: bool, target: Path) -> None:
    left = MOST_ARCHIVE_BYTES
    if not is_folder:
        _copy_file(place, place.path, target, left)
        return
    names = place.fs.find(place.path)
    if len(names) > MOST_MEMBERS:
        raise LimitError(
            f"{place.address} has {len(names):,} files, at most {MOST_MEMBERS:,} are read", _SPLIT
        )
    for name in names:
        inner = PurePosixPath(name[len(place.path) + 1 :])
        if inner.is_absolute() or ".." in inner.parts or "\0" in name:
            raise FleetError(f"{place.address} has a file outside of itself: {name}", _SPLIT)
        path = target / inner
        path.parent.mkdir(parents=True, exist_ok=True)
        left -= _copy_file(place, name, path, left)


def _copy_file(place: Place, name: str, target: Path, most: int) -> int:
    copied = 0
    with place.fs.open(name, "rb") as source, target.open("xb") as file:
        while piece := source.read(_PIECE):
            copied += len(piece)
            if copied > most:
                raise LimitError(
                    f"{place.address} has more than the {MOST_ARCHIVE_BYTES:,} bytes that are read",
                    _SPLIT,
                )
            file.write(piece)
    return copied


def _measured(path: Path, is_folder: bool) -> Fetched:
    if not is_folder:
        size, content = _content(path)
        return Fetched(path, size, content)
    parts: list[object] = []
    whole = 0
    for file in sorted(_files(path)):
        size, content = _content(file)
        whole += size
        parts += [str(file.relative_to(path)), content]
    return Fetched(path, whole, digest(*parts))


def _files(folder: Path) -> Iterator[Path]:
    for number, (at, _, names) in enumerate(os.walk(folder)):
        if number > MOST_MEMBERS:
            raise LimitError(f"{folder} has more folders than a capture", _SPLIT)
        yield from (Path(at, name) for name in names)


def _content(path: Path) -> tuple[int, str]:
    state, size = blake2b(digest_size=16), 0
    with open_regular(path) as file:
        for piece in _pieces(file):
            state.update(piece)
            size += len(piece)
    return size, state.hexdigest()


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    left = MOST_ARCHIVE_BYTES
    while left > 0 and (piece := file.read(_PIECE)):
        left -= len(piece)
        yield piece


def _remove(target: Path) -> None:
    if not target.is_dir():
        target.unlink(missing_ok=True)
        return
    for at, folders, names in os.walk(target, topdown=False):
        for name in names:
            Path(at, name).unlink()
        for name in folders:
            Path(at, name).rmdir()
    target.rmdir()
