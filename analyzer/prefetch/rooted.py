"""Paths of a board below a folder that has its files: links stay within the folder."""

from __future__ import annotations

import os
from pathlib import Path

_MOST_LINKS = 40  # as the kernel's MAXSYMLINKS


def rooted(root: Path, path: str) -> Path | None:
    """Return the path below ``root`` of a board's absolute path; None if it does not exist.

    Symbolic links and ``..`` are resolved as on the board, with ``root`` as its root directory.
    Raises OSError for a folder that cannot be searched.
    """
    if "\0" in path:
        return None
    waiting = [part for part in reversed(path.split("/")) if part not in ("", ".")]
    here: list[str] = []
    links = 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            del here[-1:]
            continue
        place = root.joinpath(*here, part)
        try:
            target = str(place.readlink())
        except FileNotFoundError:
            return None
        except OSError:
            if not os.path.lexists(place):
                return None
            here.append(part)
            continue
        links += 1
        if links > _MOST_LINKS:
            return None
        if target.startswith("/"):
            here = []
        waiting += [part for part in reversed(target.split("/")) if part not in ("", ".")]
    return root.joinpath(*here)
