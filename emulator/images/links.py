"""Paths through the symbolic links of an image, as the kernel follows them (fs/namei.c)."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass

MOST_LINKS = 40  # MAXSYMLINKS


@dataclass
class Walk:
    """The lookups of an absolute path: for each name, its directory and its path.

    ``links`` are the targets of symbolic links by path. The walk ends after the lookup of a name
    that is not among ``names``. ``end`` is the resolved path, without links; None if the path does
    not exist, or if its links form a circle. A path that leads out of the root stays in it.
    """

    path: str
    names: Container[str]
    links: Mapping[str, str]
    end: str | None = None

    def __iter__(self) -> Iterator[tuple[str, str]]:
        waiting, parts, followed = self.path.split("/")[::-1], list[str](), 0
        while waiting:
            part = waiting.pop()
            if part in ("", "."):
                continue
            if part == "..":
                del parts[-1:]
                continue
            folder = "/" + "/".join(parts)
            here = f"{folder.rstrip('/')}/{part}"
            yield folder, here
            target = self.links.get(here)
            if target is None:
                if here not in self.names:
                    return
                parts.append(part)
                continue
            followed += 1
            if followed > MOST_LINKS:
                return
            if target.startswith("/"):
                parts.clear()
            waiting += target.split("/")[::-1]
        self.end = "/" + "/".join(parts)


def resolved(path: str, names: Container[str], links: Mapping[str, str]) -> str | None:
    """Return an absolute path without links; None if it does not exist, or has a loop."""
    walk = Walk(path, names, links)
    deque(walk, maxlen=0)
    return walk.end
