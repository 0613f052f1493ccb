"""The library of storage parts: the device models that come with foreread."""

from __future__ import annotations

from collections.abc import Iterable

from foreread.analyzer.predict.disk.device_model import (
    DeviceModelError,
    StoragePart,
    read_part,
)
from foreread.boards.disks import costly_kinds
from foreread.boards.parts import published_parts
from foreread.boards.profile import ProfileError, builtin_names

MOST = 64  # each is a prediction of every start


def library() -> list[StoragePart]:
    """Return kinds of disk, published parts and the storage of board profiles, each cost once."""
    parts = [read_part(name) for name in (*costly_kinds(), *published_parts())]
    for name in builtin_names():
        try:
            part = read_part(name)
        except ProfileError:  # a board without a known cost
            continue
        if part.device not in [other.device for other in parts]:
            parts.append(part)
    return parts


def parts_named(names: Iterable[str]) -> list[StoragePart]:
    """Return the parts of these names and files, each once; raises DeviceModelError."""
    parts = [read_part(name) for name in dict.fromkeys(names)]
    if len(parts) > MOST:
        raise DeviceModelError(f"{len(parts)} parts are too many", f"give at most {MOST}")
    return parts
