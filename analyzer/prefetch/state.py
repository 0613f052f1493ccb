"""The content of listed pages, to check later whether a list is valid for another build.

``foreread prefetch --root DIR`` stores it next to the list: size and page digests of each file.
With it, a page that another build has elsewhere in the file is distinguished from a changed page.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO, Literal, get_args

import msgspec

from foreread.analyzer.prefetch.listing import Listing, PrefetchError
from foreread.analyzer.prefetch.rooted import rooted
from foreread.boards.base.bounded import UnboundedError, open_regular
from foreread.boards.base.document import Document, read_document, says
from foreread.tracer.formats.capture import Count

SUFFIX = ".state"
MOST_BYTES = 4 << 30  # limit of a file's compared bytes
_DIGEST_BYTES = 8
_REMEDY = "make the list again with --root DIR"

Fate = Literal["same", "moved", "changed", "missing", "unknown"]
FATES: tuple[Fate, ...] = get_args(Fate)


class FileState(msgspec.Struct, frozen=True, kw_only=True):
    """A listed file: its size, and the digests of its listed pages by page."""

    path: str
    size: Annotated[int, says("in bytes")]
    pages: Annotated[dict[str, str], says("BLAKE2b, 64 bits, of each listed page")]


class ListState(Document, frozen=True, kw_only=True):
    """The listed content of a build."""

    page_size: Count
    files: list[FileState]


@dataclass(frozen=True)
class FileChange:
    """The effect of another build on a listed file: the fate of each of its listed pages."""

    path: str
    fates: dict[int, Fate]

    def pages(self, fate: Fate) -> int:
        """Return the number of pages with a fate."""
        return sum(page_fate == fate for page_fate in self.fates.values())

    @property
    def stale(self) -> set[int]:
        """The pages with another content than in the list's build."""
        return {page for page, fate in self.fates.items() if fate not in ("same", "unknown")}


def listed_pages(listing: Listing, page_size: int) -> dict[str, list[int]]:
    """Return the pages of a list by path."""
    by_path: dict[str, dict[int, None]] = {}
    for part in listing.ranges:
        last = (part.offset + part.length - 1) // page_size
        pages = range(part.offset // page_size, last + 1)
        by_path.setdefault(part.path, {}).update(dict.fromkeys(pages))
    return {path: sorted(pages) for path, pages in by_path.items()}


def state_of(root: Path, listing: Listing, page_size: int) -> ListState:
    """Return the listed content below ``root``. Raises PrefetchError if a file is absent."""
    files = []
    for path, pages in listed_pages(listing, page_size).items():
        file = _opened(root, path)
        if file is None:
            raise PrefetchError(
                f"{path} is not below {root}", "give the files of the recorded board as --root DIR"
            )
        with file:
            size = _size(file)
            digests = {str(page): _digest(file, page, page_size) for page in pages}
        files.append(FileState(path=path, size=size, pages=digests))
    return ListState(page_size=page_size, files=files)


def read_state(path: Path) -> ListState | None:
    """Return the state stored with a list, None if there is none. Raises PrefetchError."""
    if not path.exists():
        return None
    return read_document(path, ListState, PrefetchError, _REMEDY)


def changes(
    root: Path, listing: Listing, page_size: int, state: ListState | None, sizes: dict[str, int]
) -> Iterator[FileChange]:
    """Yield the changes of each file of a list in the build below ``root``.

    Without a ``state``, a file of another size than in ``sizes`` (bytes by path) counts as changed
    throughout, and the content of other files is unknown.
    """
    states = {file_state.path: file_state for file_state in state.files} if state else {}
    for path, pages in listed_pages(listing, page_size).items():
        file = _opened(root, path)
        if file is None:
            yield FileChange(path, dict.fromkeys(pages, "missing"))
            continue
        with file:
            before = states.get(path)
            if before is None:
                same = _size(file) == sizes.get(path, -1)
                yield FileChange(path, dict.fromkeys(pages, "unknown" if same else "changed"))
            else:
                yield FileChange(path, _fates(file, before, pages, page_size))


def _fates(
    file: BinaryIO, before: FileState, pages: Iterable[int], page_size: int
) -> dict[int, Fate]:
    """Return the fate of pages of a file; its other pages are read only if a page differs."""
    digests = {page: before.pages.get(str(page)) for page in pages}
    fates: dict[int, Fate] = {}
    elsewhere: set[str] | None = None
    for page, digest in digests.items():
        if digest is None:
            fates[page] = "unknown"
        elif digest == _digest(file, page, page_size):
            fates[page] = "same"
        else:
            elsewhere = {*_every(file, page_size)} if elsewhere is None else elsewhere
            fates[page] = "moved" if digest in elsewhere else "changed"
    return fates


def _every(file: BinaryIO, page_size: int) -> Iterator[str]:
    for page in range(-(-min(_size(file), MOST_BYTES) // page_size)):
        yield _digest(file, page, page_size)


def _digest(file: BinaryIO, page: int, page_size: int) -> str:
    file.seek(page * page_size)
    content = file.read(page_size)
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()


def _size(file: BinaryIO) -> int:
    return file.seek(0, 2)


def _opened(root: Path, path: str) -> BinaryIO | None:
    """Return a listed file below ``root``; None if there is no regular file."""
    place = rooted(root, path)
    try:
        return None if place is None else open_regular(place)
    except (OSError, UnboundedError):
        return None
