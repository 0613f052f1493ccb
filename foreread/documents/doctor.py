"""The document of ``foreread doctor --json``."""

from __future__ import annotations

from typing import Annotated

from foreread.boards.base.document import Document, says
from foreread.tracer.doctor.tunable import Finding
from foreread.tracer.runs.restored import Restored


class DoctorDocument(Document, frozen=True, kw_only=True):
    """What can be recorded on a machine, and what is in the way."""

    kernel: Annotated[str, says("uname -r")]
    generation: Annotated[str, says("generation of the readahead code; empty if unknown")]
    backend: Annotated[str, says("what auto would record with; empty if nothing works")]
    findings: list[Finding]
    can_record: bool
    restored: Annotated[list[Restored], says("with --restore: what a killed foreread left")]
