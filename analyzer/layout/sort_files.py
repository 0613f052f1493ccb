"""The files that image builders take: sort files of squashfs, the list of a tar archive."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from foreread.analyzer.layout.order import LayoutError, Ordered

_HIGHEST = 32767  # of mksquashfs; files that are not listed have 0
_NO_LINE = "rename the file, or build the image without it in the order"


def mksquashfs_sort_file(order: Sequence[Ordered]) -> bytes:
    """Return the text for ``mksquashfs -sort``: paths from the root, the highest number first.

    There are 32,767 numbers above the default; in a longer order neighbours share one. A space and
    a backslash in a name are escaped. Raises LayoutError for a name with a line break.
    """
    share = -(-len(order) // _HIGHEST) or 1
    lines = (
        b"%s %d" % (_escaped(entry.path, b"\\ \t"), _HIGHEST - at // share)
        for at, entry in enumerate(order)
    )
    return _text(lines)


def gensquashfs_sort_file(order: Sequence[Ordered]) -> bytes:
    """Return the text for ``gensquashfs --sort-file``: the lowest number first.

    Names are not in quotes, which gensquashfs 1.2 reads wrongly; ``not_for_gensquashfs`` cannot be
    written without and are left out. Raises LayoutError as ``mksquashfs_sort_file``.
    """
    left_out = set(not_for_gensquashfs(order))
    lines = (
        b"%d %s" % (at - len(order), _escaped(entry.path, b""))
        for at, entry in enumerate(order)
        if entry.path not in left_out
    )
    return _text(lines)


def not_for_gensquashfs(order: Sequence[Ordered]) -> list[str]:
    """Return the paths that a sort file of gensquashfs cannot name without quotes."""
    names = ((entry.path, entry.path.removeprefix("/")) for entry in order)
    return [path for path, name in names if name != name.strip() or name[:1] in ('"', "[")]


def tar_list(order: Sequence[Ordered], every: Iterable[str]) -> bytes:
    """Return names for ``tar --null --no-recursion -T``: each ends with a zero byte.

    ``every`` are all paths of the root, from "/" on. Files of the order come first, each after the
    directories above it; then the rest in the given order. Files of the order that the root does
    not have are left out.
    """
    there = dict.fromkeys(every)
    names: dict[str, None] = {}
    for path in (*(entry.path for entry in order if entry.path in there), *there):
        for parent in reversed(PurePosixPath(path).parents):
            if str(parent) != "/":
                names.setdefault(str(parent))
        names.setdefault(path)
    return b"".join(b"." + os.fsencode(name) + b"\0" for name in names if name != "/")


def _escaped(path: str, special: bytes) -> bytes:
    """Return a path from the root without the first slash, special characters after a backslash."""
    name = os.fsencode(path).removeprefix(b"/")
    if b"\n" in name or b"\r" in name:
        raise LayoutError(f"a sort file cannot contain {path!r}: it has a line break", _NO_LINE)
    return b"".join(
        b"\\" + bytes([octet]) if octet in special else bytes([octet]) for octet in name
    )


def _text(lines: Iterable[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)
