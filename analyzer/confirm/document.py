"""The document of ``foreread confirm --json``."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from foreread.analyzer.confirm.boards import BoardGain, board_gains, differing
from foreread.analyzer.confirm.sequential import CONFIDENCE
from foreread.boards.base.document import SCHEMA, Encoded, says
from foreread.tracer.formats.confirmation import Confirmation


class ConfirmationDocument(Confirmation, Encoded, frozen=True, kw_only=True):
    """A measured proof with the command that was run and the predicted gain."""

    schema: Literal[1] = SCHEMA
    command: list[str]
    confidence: Annotated[float, says("of the interval, at every look")] = CONFIDENCE
    predicted_gain: Annotated[
        float | None, says("predicted share of the present time that is saved")
    ]
    by_board: Annotated[
        list[BoardGain], says("of several boards, in the order of boards; empty: one board")
    ] = msgspec.field(default_factory=list)
    boards_differ: Annotated[
        bool, says("intervals of two boards have no point in common: the boards gain differently")
    ] = False


def confirmation_document(
    of: Confirmation, command: list[str], predicted_gain: float | None
) -> ConfirmationDocument:
    """Return the document of a result."""
    gains = board_gains(of)
    return ConfirmationDocument(
        **msgspec.structs.asdict(of),
        command=command,
        predicted_gain=predicted_gain,
        by_board=gains,
        boards_differ=differing(gains) is not None,
    )
