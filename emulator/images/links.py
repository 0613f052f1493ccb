"""Paths through the symbolic links of an image, as the kernel follows them (fs/namei.c)."""

from __future__ import annotations

from collections.abc import Container, Mapping

MOST_LINKS = 40  # MAXSYMLINKS


def resolved(path: str, names: Container[str], links: Mapping[str, str]) -> str | None:
    """Return an absolute path without links in it; None if it leads to no name, or in a circle.

    ``links`` are the targets of symbolic links by path. A path that leads out of the root stays
    in it.
    """
    waiting = path.split("/")[::-1]
    found: list[str] = []
    followed = 0
    while waiting:
        part = waiting.pop()
        if part in ("", "."):
            continue
        if part == "..":
            del found[-1:]
            continue
        here = "/".join(("", *found, part))
        target = links.get(here)
        if target is None:
            if here not in names:
                return None
            found.append(part)
            continue
        followed += 1
        if followed > MOST_LINKS:
            return None
        if target.startswith("/"):
            found.clear()
        waiting += target.split("/")[::-1]
    return "/" + "/".join(found)
