"""Pages that remain in the page cache when a run begins, although caches were dropped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import structs

from foreread.tracer.formats.capture import FileEntry

Inode = tuple[str, int]  # "major:minor" of the superblock, inode number
Runs = list[tuple[int, int]]  # first page, pages


def runs_of(pages: Iterable[int]) -> Runs:
    """Return sorted runs of the pages; the input may repeat pages."""
    runs: Runs = []
    for page in sorted(set(pages)):
        first, count = runs[-1] if runs else (page, 0)
        if first + count == page and runs:
            runs[-1] = first, count + 1
        else:
            runs.append((page, 1))
    return runs


def with_cached(files: list[FileEntry], cached: Mapping[Inode, Runs] | None) -> list[FileEntry]:
    """Return the files with their cached pages; None: which ones were cached is not known."""
    if cached is None:
        return files
    return [
        structs.replace(file, cached_pages=cached.get((file.dev, file.ino), [])) for file in files
    ]
