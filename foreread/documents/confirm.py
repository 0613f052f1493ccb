"""The document of ``confirm`` in several scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from foreread.analyzer.confirm.document import ConfirmationDocument
from foreread.boards.base.document import Document, says


class ScenariosDocument(Document, frozen=True, kw_only=True):
    """What ``confirm`` measured in several scenarios."""

    results: Annotated[list[ConfirmationDocument], says("of each scenario, as measured")]


def results_json(found: Sequence[ConfirmationDocument], several: bool) -> str:
    """Return the document of one result, or that of a command with ``several`` scenarios."""
    document = ScenariosDocument(results=list(found)) if several else found[0]
    return document.to_json()
