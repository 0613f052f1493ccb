"""The document of ``foreread prefetch --json``."""

from __future__ import annotations

from typing import Annotated

from foreread.analyzer.prefetch.cases import Case
from foreread.boards.base.document import Document, says


class PrefetchDocument(Document, frozen=True, kw_only=True):
    """The list of a start's reads, and the start with window, list, both and neither."""

    list: Annotated[str, says("path of the written list")]
    format: Annotated[str, says("program that reads it: foreread, android, rsinit, …")]
    left_out: Annotated[tuple[str, ...], says("files that the format cannot name")]
    state: Annotated[str | None, says("path of the written state of the listed pages, for --check")]
    order: Annotated[str, says("order of the ranges: access or disk")]
    ranges: int
    files: int
    bytes: Annotated[int, says("bytes of all ranges")]
    needed_bytes: Annotated[int, says("bytes that the start accesses")]
    wasted_bytes: Annotated[int, says("bytes of gaps that are cheaper to read than to skip")]
    unnamed_bytes: Annotated[int, says("bytes of files whose path is unknown: not in the list")]
    gap_bytes: Annotated[int, says("the longest gap that is read")]
    cases: Annotated[tuple[Case, ...], says("empty where the kernel is unknown")]
    notes: tuple[str, ...]
