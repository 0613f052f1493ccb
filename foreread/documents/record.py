"""The document of ``foreread record --json``."""

from __future__ import annotations

from typing import Annotated

import msgspec

from foreread.boards.base.document import says
from foreread.tracer.formats.capture import Capture, RunMetadata


class ProbedDisk(msgspec.Struct, frozen=True):
    """The size of the disk's probe."""

    name: str
    requests: Annotated[int, says("requests that the probe timed")]


class RecordDocument(RunMetadata, frozen=True, kw_only=True):
    """The metadata of the capture that was recorded."""

    capture: Annotated[str, says("path of the capture")]
    disk: ProbedDisk | None


def record_document(capture: Capture, output: str) -> RecordDocument:
    """Return the document of a capture, written to ``output``."""
    disk = capture.disk
    metadata = {name: getattr(capture, name) for name in RunMetadata.__struct_fields__}
    probed = None if disk is None else ProbedDisk(disk.name, disk.requests)
    return RecordDocument(**metadata, capture=output, disk=probed)
