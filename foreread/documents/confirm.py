"""The document of ``confirm`` in several scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from foreread.analyzer.confirm.document import ConfirmationDocument
from foreread.boards.base.document import Document, says


class ScenariosDocument(Document, frozen=True, kw_only=True):
    """What ``confirm`` measured in several scenarios."""

    results: Annotated[list[ConfirmationDocument], says("of each scenario, as measured")]


def results_json(results: Sequence[ConfirmationDocument], several: bool) -> str:
    """Return the document of one result, or of a command with ``several`` scenarios."""
    document = ScenariosDocument(results=list(results)) if several else results[0]
    return document.to_json()
