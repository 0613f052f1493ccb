"""Paths through the symbolic links of an image, as the kernel follows them (fs/namei.c)."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass

MOST_LINKS = 40  # MAXSYMLINKS


@dataclass
class Walk:
    """The lookups of an absolute path: of each name, its directory and its path.

    ``links`` are the targets of symbolic links by path. The walk ends at a name that is not among
    ``names``, whose lookup is the last. ``end`` is where the path leads, without links in it; None
    if it leads to no name, or in a circle. A path that leads out of the root stays in it.
    """

    path: str
    names: Container[str]
    links: Mapping[str, str]
    end: str | None = None

    def __iter__(self) -> Iterator[tuple[str, str]]:
        waiting, found, followed = self.path.split("/")[::-1], list[str](), 0
        while waiting:
            part = waiting.pop()
            if part in ("", "."):
                continue
            if part == "..":
                del found[-1:]
                continue
            folder = "/" + "/".join(found)
            here = f"{folder.rstrip('/')}/{part}"
            yield folder, here
            target = self.links.get(here)
            if target is None:
                if here not in self.names:
                    return
                found.append(part)
                continue
            followed += 1
            if followed > MOST_LINKS:
                return
            if target.startswith("/"):
                found.clear()
            waiting += target.split("/")[::-1]
        self.end = "/" + "/".join(found)


def resolved(path: str, names: Container[str], links: Mapping[str, str]) -> str | None:
    """Return an absolute path without links in it; None if it leads to no name, or in a circle."""
    walk = Walk(path, names, links)
    deque(walk, maxlen=0)
    return walk.end
