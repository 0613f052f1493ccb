"""The captures at a place, as a stream: a folder may hold a million of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from foreread.analyzer.fleet.names import digest
from foreread.analyzer.fleet.place import Place, is_far, open_place, unreachable
from foreread.tracer.formats.capture import METADATA
from foreread.tracer.formats.packing import SUFFIXES

ARCHIVES = (*SUFFIXES, ".tar.zst")  # foreread cannot read zstd: the error says how to unpack it
_DEEPEST = 64  # folders: a listing of links that form a circle ends
_STAMPS = ("ETag", "etag", "mtime", "LastModified", "last_modified", "updated", "created")


@dataclass(frozen=True)
class Found:
    """A capture: an archive, or with ``is_folder`` a folder with capture.json.

    ``stamp`` changes with the content (ETag or time, and size); empty if the place shows none.
    """

    address: str
    is_folder: bool = False
    stamp: str = ""


@dataclass(frozen=True)
class _Entry:
    """One name in a folder."""

    path: str
    is_folder: bool
    stamp: str = ""
    is_file: bool = True  # and no pipe, socket or device


class Listing:
    """Lists captures, and counts what it leaves out.

    ``others`` counts other files, ``unreadable`` lists folders that could not be
    listed, and ``listed`` counts captures.
    """

    def __init__(self, unreadable: Callable[[str, str], None]) -> None:
        self.others = 0
        self.listed = 0
        self._unreadable = unreadable

    def captures(self, address: str) -> Iterator[Found]:
        """Yield the captures at an address; raises FleetError if it cannot be read."""
        place, entries = open_source(address)
        if _is_folder(entries) or (address.startswith("http") and address.endswith("/")):
            yield from self._counted(self._folder(place, place.path, 0))
        else:  # named by the user: whatever its name
            yield from self._counted(iter([Found(place.url(), False, _stamp(entries))]))

    def _counted(self, entries: Iterator[Found]) -> Iterator[Found]:
        for entry in entries:
            self.listed += 1
            yield entry

    def _folder(self, place: Place, path: str, depth: int) -> Iterator[Found]:
        """Yield the captures in a folder; one that is a capture is not looked into."""
        try:
            stamp = _metadata_stamp(place, path)
            if stamp is not None:
                yield Found(place.url(path), True, stamp)
                return
            for entry in _entries(place, path):
                if entry.is_folder and depth < _DEEPEST:  # at once: they may be a million
                    yield from self._folder(place, entry.path, depth + 1)
                elif entry.is_file and entry.path.lower().endswith(ARCHIVES):
                    yield Found(place.url(entry.path), False, entry.stamp)
                else:
                    self.others += 1
        except Exception as error:
            if not is_far(error):
                raise
            self._unreadable(place.url(path), str(unreachable(place.url(path), error)))


def open_source(address: str) -> tuple[Place, dict[str, Any]]:
    """Return a place and what its file system says of it; raises FleetError if it is not there."""
    place = open_place(address)
    try:
        return place, place.fs.info(place.path)
    except Exception as error:
        if not is_far(error):
            raise
        raise unreachable(address, error) from error


def source_key(entry: Found, *question: str) -> str | None:
    """Return the digest of a capture's address and stamp; None if it has no stamp."""
    return digest(entry.address, entry.stamp, *question) if entry.stamp else None


def stamped(entry: Found) -> Found:
    """Return a capture with the stamp that its file system has for it alone.

    Some listings, as of HTTP, show none.
    """
    place = open_place(entry.address)
    path = f"{place.path}/{METADATA}" if entry.is_folder else place.path
    return replace(entry, stamp=_stamp(place.fs.info(path)))


def _metadata_stamp(place: Place, path: str) -> str | None:
    """Return the stamp of a folder that is a capture; None for another folder."""
    try:
        return _stamp(place.fs.info(f"{path}/{METADATA}"))
    except FileNotFoundError:
        return None


def _entries(place: Place, path: str) -> Iterator[_Entry]:
    if place.is_local:
        return _local(path)
    if hasattr(place.fs, "call_s3"):
        return _s3(place, path)
    return (
        _Entry(item["name"].rstrip("/"), _is_folder(item), _stamp(item))
        for item in place.fs.ls(path, detail=True)
        if item["name"].rstrip("/") != path
    )


def _local(path: str) -> Iterator[_Entry]:
    """Yield the names in a folder as the kernel lists them; links to folders are left out."""
    with os.scandir(path) as listed:
        for entry in listed:
            if entry.is_dir(follow_symlinks=False):
                yield _Entry(entry.path, True)
            elif entry.is_file() and entry.name.lower().endswith(ARCHIVES):
                status = entry.stat()
                yield _Entry(entry.path, False, f"{status.st_size}:{status.st_mtime_ns}")
            else:
                yield _Entry(entry.path, False, is_file=False)


def _s3(place: Place, path: str) -> Iterator[_Entry]:
    """Yield the names in a folder of an S3-like store, a page of 1,000 at a time."""
    bucket, key, _ = place.fs.split_path(path)
    prefix = f"{key}/" if key else ""
    more: dict[str, str] = {}
    while True:
        page = place.fs.call_s3(
            "list_objects_v2", Bucket=bucket, Prefix=prefix, Delimiter="/", **more
        )
        for folder in page.get("CommonPrefixes", ()):
            yield _Entry(f"{bucket}/{folder['Prefix'].rstrip('/')}", True)
        for item in page.get("Contents", ()):
            if item["Key"] != prefix:
                yield _Entry(f"{bucket}/{item['Key']}", False, f"{item['Size']}:{item['ETag']}")
        if not page.get("IsTruncated"):
            return
        more = {"ContinuationToken": page["NextContinuationToken"]}


def _is_folder(info: dict[str, Any]) -> bool:
    return info.get("type") == "directory"


def _stamp(info: dict[str, Any]) -> str:
    """Return what changes with the content; empty if nothing does."""
    changes = [str(info[name]) for name in _STAMPS if info.get(name)]
    if "mtime" in info and "ino" in info:  # a local file: its time in ns
        changes = [str(Path(info["name"]).stat().st_mtime_ns)]
    return f"{info.get('size')}:{changes[0]}" if changes else ""
