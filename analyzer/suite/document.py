"""The suite: a TOML file that names boards, starts with their weights, and captures.

The reader refuses unknown keys and values out of range, and reports their line.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, field

from foreread.boards.base.brief import brief
from foreread.boards.base.document import says
from foreread.boards.cost import Part, Text
from foreread.boards.profile import Name

MOST_CAPTURES = 100  # of one start on one board
LOCAL = "local"

# The upper limit also keeps out infinity, and either limit NaN.
Weight = Annotated[float, Meta(gt=0, le=1e9)]
Positive = Annotated[float, Meta(gt=0, le=1e9)]
Repeats = Annotated[int, Meta(ge=1, le=MOST_CAPTURES)]
Words = Annotated[list[Text], Meta(min_length=1, max_length=10_000)]
Paths = Annotated[list[Text], Meta(min_length=1, max_length=MOST_CAPTURES)]


class SuiteBoard(Part, frozen=True, kw_only=True):
    """A board: how to reach it, and the cost of its disk's requests."""

    name: Name
    target: Annotated[Text, says("as in --target")] = LOCAL
    identity: Annotated[Text | UnsetType, says("private key that logs in to an ssh target")] = UNSET
    device_model: Annotated[
        Text | UnsetType,
        says("cost of its disk: a file, or a board profile; otherwise learnt from the captures"),
    ] = UNSET


class SuiteStart(Part, frozen=True, kw_only=True):
    """A start: its weight, how it is run, and its captures.

    ``captures`` are paths, relative to the suite's folder: a list if the suite has one board,
    otherwise a list for each board by its name. The default is ``captures/BOARD/START-1`` and so
    on.
    """

    __repr__ = brief

    name: Name
    weight: Annotated[Weight, says("how much a second of this start counts")] = 1.0
    command: Annotated[
        Words | UnsetType, says("the command and its arguments, without a shell")
    ] = UNSET
    duration_s: Annotated[Positive | UnsetType, says("the run ends after so many seconds")] = UNSET
    until_idle_ms: Annotated[
        Positive | UnsetType, says("the run ends when no disk was read for so many milliseconds")
    ] = UNSET
    until_output: Annotated[
        Text | UnsetType, says("the run ends when its output matches this expression")
    ] = UNSET
    user: Annotated[Text | UnsetType, says("user who runs the command")] = UNSET
    boards: Annotated[list[Name] | UnsetType, says("boards of this start; otherwise all")] = UNSET
    captures: Paths | dict[Name, Paths] | UnsetType = UNSET


class SuiteFile(Part, frozen=True, kw_only=True):
    """Starts on boards, which share one window for each disk."""

    schema: Literal[1]
    name: Annotated[Name, says("name of the product or the image")] = "suite"
    repeat: Annotated[Repeats, says("captures of each start that record --suite makes")] = 1
    board: Annotated[list[SuiteBoard], Meta(max_length=1000)] = field(default_factory=list)
    start: Annotated[list[SuiteStart], Meta(min_length=1, max_length=10_000)]
