"""The forecast of a patch: the document of ``forecast --rules FILE --json``."""

from __future__ import annotations

from typing import Annotated

import msgspec

from foreread.analyzer.forecast.document import ForecastCase, ForecastChange
from foreread.boards.base.brief import brief
from foreread.boards.base.document import Document, says

RuleValue = Annotated[bool | int | str, says("as a file of rules has it")]


class PatchedRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that the patch changes."""

    __repr__ = brief

    rule: str
    base: RuleValue
    patched: RuleValue


class PatchedStart(msgspec.Struct, frozen=True, kw_only=True):
    """A start under one kernel, without the patch (``before``) and with it (``after``).

    ``change`` is None, and ``why`` and ``remedy`` are given, where seconds cannot be predicted.
    """

    __repr__ = brief

    capture: Annotated[str | None, says("the path that was read")]
    command: Annotated[str, says("the recorded command; empty if unknown")]
    kernel: Annotated[str, says("uname -r of the recorded kernel")]
    machine: Annotated[str | None, says("uname -m; null if unknown")]
    accessed: Annotated[int, says("distinct pages accessed")]
    disk: Annotated[str, says("the disk that the start reads most")]
    device_model: Annotated[str | None, says("the given cost of the disk; null: its own")]
    window_why: Annotated[str, says("the rule that gives the disk its window")]
    before: ForecastCase
    after: ForecastCase
    change: Annotated[ForecastChange | None, says("seconds that the patch adds")]
    why: Annotated[str | None, says("why there are no seconds")]
    remedy: Annotated[str | None, says("command to type")]
    doubts: list[str]
    notes: list[str]


class PatchTotal(msgspec.Struct, frozen=True, kw_only=True):
    """The sum over all starts."""

    __repr__ = brief

    requests: int
    pages: int
    seconds: Annotated[float, says("of the starts with predicted seconds")]


class PatchLeft(msgspec.Struct, frozen=True, kw_only=True):
    """A capture that was left out."""

    __repr__ = brief

    capture: str
    why: str
    remedy: Annotated[str | None, says("what to do")]


class PatchForecast(Document, frozen=True, kw_only=True):
    """What a patch of the kernel does to recorded starts.

    ``slower`` and ``faster`` are starts that change by more than 1 % of their seconds.
    """

    base: Annotated[str, says("the kernel that the patch is for")]
    source: Annotated[str, says("where the change was proposed; empty if the file does not say")]
    rules: list[PatchedRule]
    starts: Annotated[list[PatchedStart], says("worst loser first; those without seconds last")]
    slower: int
    slower_certain: Annotated[int, says("of them, those whose band does not contain 0")]
    faster: int
    faster_certain: Annotated[int, says("of them, those whose band does not contain 0")]
    same: int
    unpredicted: Annotated[int, says("starts without predicted seconds")]
    before: PatchTotal
    after: PatchTotal
    left: Annotated[list[PatchLeft], says("captures that could not be used")]
