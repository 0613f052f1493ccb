"""The documents of ``record --suite`` and ``confirm --suite``."""

from __future__ import annotations

from typing import Annotated

import msgspec

from foreread.analyzer.confirm.document import ConfirmationDocument
from foreread.boards.base.document import Document, says
from foreread.tracer.formats.confirmation import Outcome


class SuiteRecordDocument(Document, frozen=True, kw_only=True):
    """What ``record --suite`` did."""

    suite: Annotated[str, says("name of the suite")]
    recorded: Annotated[list[str], says("captures that were recorded")]
    present: Annotated[list[str], says("captures that were there before")]


class SuiteStartProof(msgspec.Struct, frozen=True, kw_only=True):
    """One start, measured at the window now and at that of the answer."""

    name: str
    weight: float
    capture: Annotated[str, says("the capture that the result is stored in")]
    measured: Annotated[bool, says("false: an earlier result of the capture is taken")]
    seconds_now: Annotated[float | None, says("mean of the runs at the present window")]
    seconds: Annotated[float | None, says("mean of the runs at the proposed window")]
    result: ConfirmationDocument


class SuiteBoardProof(msgspec.Struct, frozen=True, kw_only=True):
    """One disk of a board, proven by all starts that read from it.

    Seconds are weighted sums over the starts. The ends of ``low`` and ``high`` are weighted sums of
    the ends of the starts' intervals.
    """

    board: str
    disk: str
    read_ahead_kb: Annotated[int, says("the window that was proven, in KiB")]
    outcome: Outcome
    seconds_now: float | None
    seconds: float | None
    gain: Annotated[float | None, says("share of the present weighted seconds that is saved")]
    low: float | None
    high: float | None
    predicted_gain: Annotated[float | None, says("predicted share that is saved")]
    starts: list[SuiteStartProof]


class SuiteConfirmationDocument(Document, frozen=True, kw_only=True):
    """What ``confirm --suite`` measured."""

    suite: Annotated[str, says("name of the suite")]
    boards: list[SuiteBoardProof]
    unchanged: Annotated[list[str], says("disks whose window stays, with the reason")]
