"""A way to build an image, and what each start reads of it: what reports and JSON use."""

from __future__ import annotations

from typing import Annotated

from foreread.boards.base.document import Encoded, says


class StartReads(Encoded, frozen=True, kw_only=True):
    """What one start reads with a layout, at its present window, after a boot."""

    requests: Annotated[int, says("reads of data and metadata that reach the disk")]
    read_bytes: Annotated[int, says("compressed bytes of data and metadata")]
    unpacked_bytes: Annotated[int, says("bytes that the processor unpacks")]
    seconds: Annotated[
        float | None, says("null where the disk's cost or the time to unpack is unknown")
    ]


class LayoutRow(Encoded, frozen=True, kw_only=True):
    """A way to build the image, and what the starts read of it."""

    present: Annotated[bool, says("the image as it is")]
    ordered: Annotated[bool, says("with the order of the starts")]
    block_size: Annotated[int, says("bytes")]
    compressor: str
    image_bytes: Annotated[int, says("estimated size of the image")]
    starts: Annotated[tuple[StartReads, ...], says("in the order of the captures")]
    requests: Annotated[float, says("mean of the starts by weight")]
    read_bytes: Annotated[float, says("mean of the starts by weight")]
    seconds: Annotated[float | None, says("mean of the starts by weight")]

    @property
    def name(self) -> str:
        """Return what it is, in words."""
        if self.present:
            return "present image"
        return "in the new order" if self.ordered else "in the builder's order"
