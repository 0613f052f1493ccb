"""What an outdated prefetch list loses: the start with the list as it was, and as it is now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import msgspec

from foreread.analyzer.advise.situation import Situation, files_of
from foreread.analyzer.advise.variant import Variant
from foreread.analyzer.prefetch.listing import Listing
from foreread.analyzer.prefetch.replayed import Row
from foreread.analyzer.prefetch.state import FATES, FileChange, ListState, changes
from foreread.boards.base.document import Document, says
from foreread.emulator.linux.requests import SECTOR

Pages = dict[int, set[int]]  # by row of the file


class StaleFile(msgspec.Struct, frozen=True):
    """A listed file that the build changed: numbers of its listed pages."""

    path: str
    same: int
    moved: Annotated[int, says("pages whose content is elsewhere in the file")]
    changed: int
    missing: int
    unknown: Annotated[int, says("pages of a file of the same size whose content is not known")]


class StalenessDocument(Document, frozen=True, kw_only=True):
    """Whether a prefetch list is still true for a build, and what it loses."""

    list: str
    pages: Annotated[int, says("listed pages")]
    stale_pages: Annotated[int, says("of them moved, changed or missing")]
    unknown_pages: Annotated[int, says("of them not compared: the list has no state file")]
    files: Annotated[tuple[StaleFile, ...], says("files with stale pages, most first")]
    without: Annotated[float, says("predicted seconds without a list")]
    fresh: Annotated[float, says("predicted seconds with the list, if it were true")]
    stale: Annotated[float, says("predicted seconds with the list on this build")]
    lost_percent: Annotated[float, says("part of the gain that the list has lost")]
    limit_percent: float
    passed: Annotated[bool, says("no more is lost than the limit")]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Checked:
    """A list to check: its text's file, what it lists, and the state beside it."""

    path: Path
    listing: Listing
    state: ListState | None


def staleness(
    situation: Situation, checked: Checked, root: Path, limit_percent: float
) -> StalenessDocument:
    """Return what a list loses on the build below ``root``.

    A stale page is read by the list for nothing, and by the start itself when it needs it. The
    start is the recorded one: what a new build reads besides is not known. Raises OSError.
    """
    recording = situation.recording
    page = situation.prediction.page_size
    if checked.state is not None:
        page = checked.state.page_size
    columns = zip(recording.paths, recording.files["size_bytes"].tolist(), strict=True)
    sizes = {path: size for path, size in columns if path is not None}
    file_changes = [*changes(root, checked.listing, page, checked.state, sizes)]
    variant = situation.present[0]
    listed = _rows(variant, checked.listing)
    stale = _stale(variant, file_changes)
    fresh = replace(variant, ranges=listed)
    kept = tuple(part for row in listed for part in _without(row, stale.get(row[0], set())))
    missing = {change.path for change in file_changes if change.pages("missing")}
    gone = frozenset(files_of(recording, missing))
    wasted = _places(variant, {row: pages for row, pages in stale.items() if row not in gone})
    now = replace(variant, ranges=kept, wasted=wasted)
    seconds = [replayed.cost().seconds for replayed in (variant, fresh, now)]
    gain, lost = seconds[0] - seconds[1], seconds[2] - seconds[1]
    percent = 100 * lost / gain if gain > 0 else (100.0 if lost > 0 else 0.0)
    return StalenessDocument(
        list=str(checked.path),
        pages=sum(len(change.fates) for change in file_changes),
        stale_pages=sum(len(change.stale) for change in file_changes),
        unknown_pages=sum(change.pages("unknown") for change in file_changes),
        files=tuple(_file(change) for change in sorted(file_changes, key=_stalest) if change.stale),
        without=seconds[0],
        fresh=seconds[1],
        stale=seconds[2],
        lost_percent=percent,
        limit_percent=limit_percent,
        passed=percent <= limit_percent,
        notes=tuple(_notes(checked, file_changes)),
    )


def _notes(checked: Checked, file_changes: Sequence[FileChange]) -> Iterable[str]:
    yield (
        "the seconds are those of the recorded start: what the new build reads besides is in no "
        "capture; record again when much has changed"
    )
    if any(change.pages("unknown") for change in file_changes):
        yield (
            f"{checked.path} has no state file: files of the same size count as unchanged; "
            "foreread prefetch --root DIR, with the recorded build, writes one"
        )


def _stalest(change: FileChange) -> tuple[int, str]:
    return -len(change.stale), change.path


def _file(change: FileChange) -> StaleFile:
    return StaleFile(change.path, *(change.pages(fate) for fate in FATES))


def _rows(variant: Variant, listing: Listing) -> tuple[Row, ...]:
    """Return the ranges of a list in rows of the recording's files; others are left out."""
    page = variant.run.machine.page_size
    paths = variant.start.recording.paths
    row = {path: at for at, path in reversed([*enumerate(paths)]) if path is not None}
    return tuple(
        (
            row[part.path],
            part.offset // page,
            -(-(part.offset + part.length) // page) - part.offset // page,
        )
        for part in listing.ranges
        if part.path in row
    )


def _stale(variant: Variant, file_changes: Iterable[FileChange]) -> Pages:
    """Return the stale pages by row of the recording's files."""
    stale: Pages = {}
    for change in file_changes:
        for row in files_of(variant.start.recording, [change.path]) if change.stale else []:
            stale[row] = change.stale
    return stale


def _without(row: Row, stale: set[int]) -> Iterable[Row]:
    """Yield the parts of a range that have no stale page."""
    file, first, pages = row
    begin: int | None = None
    for page in range(first, first + pages):
        if page in stale:
            if begin is not None:
                yield file, begin, page - begin
            begin = None
        elif begin is None:
            begin = page
    if begin is not None:
        yield file, begin, first + pages - begin


def _places(variant: Variant, stale: Pages) -> tuple[tuple[int, int], ...]:
    """Return the sectors that the list reads for nothing, as (first, number)."""
    run = variant.run
    unit = run.machine.page_size // SECTOR
    places: list[tuple[int, int]] = []
    for row, pages in stale.items():
        for first, end in _runs(sorted(pages), run.machine.io_pages):
            pieces = run.layout.pieces(row, first * unit, end * unit)
            places += [(sector, sectors) for _, sector, sectors in pieces if sectors]
    return tuple(places)


def _runs(pages: list[int], most: int) -> Iterable[tuple[int, int]]:
    """Yield runs of neighbouring pages [first, end), of at most ``most``."""
    begin = end = -1
    for page in pages:
        if page != end or page - begin >= most:
            if begin >= 0:
                yield begin, end
            begin = page
        end = page + 1
    if begin >= 0:
        yield begin, end
