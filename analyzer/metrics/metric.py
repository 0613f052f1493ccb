"""One number of a result: what every writer of numbers gets."""

from __future__ import annotations

from typing import Annotated

import msgspec

from foreread.boards.base.brief import brief
from foreread.boards.base.document import says

SECONDS = "start_seconds"
# What each measure is, by its name, which ends with the unit.
MEASURES = {
    SECONDS: "Time of the start",
    "baseline_seconds": "Time of the start of OLD, with which it is compared",
    "weighted_seconds": "Sum over the starts of weight and seconds",
    "requests": "Read requests of file data",
    "read_pages": "Pages of file data read",
    "read_ahead_kib": "The window",
}
# The labels, in the order of every text. PRESENT, PROPOSED or NONE is the window.
LABELS = ("start", "board", "disk", "beside", "window", "kind")
PRESENT, PROPOSED, NONE = "present", "proposed", "none"
PREDICTED, MEASURED = "predicted", "measured"

Number = Annotated[float, msgspec.Meta(ge=0, le=1e15)]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A measure of a start at a window."""

    __repr__ = brief

    name: Annotated[str, says("of the measure; it ends with the unit")]
    value: Number
    low: Annotated[Number | None, says("lower bound; null if unknown")] = None
    high: Annotated[Number | None, says("upper bound; null if unknown")] = None
    labels: Annotated[
        dict[str, str],
        says(
            "start, board, disk, beside (a load), window (present, proposed, or none: no "
            "readahead, where the present one is unknown), kind (predicted or measured)"
        ),
    ]
    failed: Annotated[bool, says("true: above the limit of --max-regression")] = False

    @property
    def unit(self) -> str:
        """The unit, in small letters."""
        return self.name.rpartition("_")[2]

    @property
    def subject(self) -> dict[str, str]:
        """The labels without the window: what was started where, and how its time is known."""
        return {name: text for name, text in self.labels.items() if name != "window"}

    @property
    def title(self) -> str:
        """The labels in words, such as ``python on arm64, present window``."""
        return f"{title_of(self.labels)}, {self.labels['window']} window"


def labels_of(**known: str | None) -> dict[str, str]:
    """Return the labels that are known, in their order."""
    return {name: text for name in LABELS if (text := known.get(name))}


def title_of(labels: dict[str, str]) -> str:
    """Return labels in words, without the window."""
    start = labels.get("start", "all starts")
    board = f" on {labels['board']}" if "board" in labels else ""
    rest = [labels[name] for name in ("disk", "beside") if name in labels]
    return ", ".join([start + board, *rest, *([MEASURED] * (labels.get("kind") == MEASURED))])
