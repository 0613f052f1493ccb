"""The document of ``foreread layout --json``."""

from __future__ import annotations

from typing import Annotated

from foreread.analyzer.layout.document import LayoutRow
from foreread.boards.base.document import Document, says


class LayoutDocument(Document, frozen=True, kw_only=True):
    """The order of files for an image, and what each way to build the image costs the starts."""

    files: Annotated[int, says("files in the order")]
    written: Annotated[tuple[str, ...], says("paths of the files written")]
    rows: Annotated[
        tuple[LayoutRow, ...],
        says(
            "the present image, the order alone, then each block size (of EROFS: largest "
            "cluster) and compressor; empty without an image"
        ),
    ]
    best: Annotated[
        int | None, says("row with the fewest seconds, or bytes where no seconds are known")
    ]
    notes: tuple[str, ...]
