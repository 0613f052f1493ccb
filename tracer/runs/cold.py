"""When the caches of a machine count as cold, and the files that its processes map."""

from __future__ import annotations

from foreread.boards.base.counted import plural

_UNEXPLAINED_KIB = 4096
_UNEXPLAINED_SHARE = 1000


def parse_mapping(line: str) -> tuple[tuple[str, int], str] | None:
    """Return (dev, ino) and path of a line of /proc/PID/maps, None if it maps no file."""
    words = line.split(None, 5)
    if len(words) < 6 or words[4] == "0" or not words[5].startswith("/"):
        return None
    major, minor = (int(number, 16) for number in words[3].split(":"))
    return (f"{major}:{minor}", int(words[4])), words[5]


def allowed_kib(memory_kib: int) -> int:
    """Return the KiB that may be cached, but not mapped, when a run begins.

    They are reads by others between drop and count, superblocks and pages under I/O: 4 MiB, or a
    thousandth of the memory if that is more.
    """
    return max(_UNEXPLAINED_KIB, memory_kib // _UNEXPLAINED_SHARE)


def judged(where: str, pages: tuple[int, int, int, int], kept: str) -> tuple[bool, str]:
    """Return whether the caches are cold, and how that is known.

    ``pages``: cached before the drop and after it; of these, kept; others that are allowed.
    ``kept`` says why, ``where`` on which machine.
    """
    before, after, mapped, allowed = pages
    others = max(0, after - mapped)
    how = (
        f"drop_caches=3{where}: {plural(before, 'page')} cached before, {after} after, of which "
        f"{mapped} are {kept}; {others} others, {allowed} allowed"
    )
    return others <= allowed, how
