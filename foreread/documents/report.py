"""The document of ``foreread report --json``; report.json is declared in analyzer/report."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, UnsetType

from foreread.boards.base.document import Document, says


class ReportDocument(Document, frozen=True, kw_only=True):
    """Paths of a report's files; with ``--open`` also how it was shown."""

    html: str
    pdf: str
    json: Annotated[str, says("the figures as numbers")]
    opened: Annotated[
        bool | UnsetType, says("with --open: whether a browser was opened on this machine")
    ] = UNSET
    commands: Annotated[
        list[str] | UnsetType,
        says("with --open: what to type where the reader is; empty if a browser was opened"),
    ] = UNSET
