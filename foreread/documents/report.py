"""The document of ``foreread report --json``; report.json is declared in analyzer/report."""

from __future__ import annotations

from typing import Annotated

from boards.document import Document, says


class ReportDocument(Document, frozen=True, kw_only=True):
    """Paths of a report's files."""

    html: str
    pdf: str
    json: Annotated[str, says("the figures as numbers")]
