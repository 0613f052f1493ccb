"""The results of a stored campaign, with their document."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.tuner.findings.contest import Contest
from foreread.analyzer.tuner.findings.document import document
from foreread.analyzer.tuner.store.store import Store


@dataclass(frozen=True, repr=False)
class Results(Contest):
    """A stored campaign: all its contests, and the document of ``foreread tune --json``."""

    def to_json(self) -> str:
        """Return the document of ``foreread tune --json``."""
        return document(self).to_json()


def read_results(path: StrPath) -> Results:
    """Return the results in the TUNING file ``path``; raises StoreError and GeneError."""
    with Store.read(Path(path)) as store:
        return Results.of(store)
