"""The seconds that foreread predicts for the cases of the study, from its own JSON in ``raw/``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

Document = dict[str, Any]
STARTS = ("boots", "starts")  # in the order of the captures that layout.json is made of


class Predicted(NamedTuple):
    """Seconds of a case, and those that the same command predicts for the default image."""

    seconds: float
    default: float


def predicted(folder: Path, what: str) -> Mapping[str, Predicted]:
    """Return the predictions for ``what`` of STARTS by case.

    Window and list come from `foreread prefetch`, the images from `foreread layout`; each has a
    prediction of its own for the default image.
    """
    cases = json.loads((folder / f"prefetch-{what}.json").read_text())["cases"]
    seconds = {case["name"]: case["seconds"] for case in cases}
    names = {"default": "neither", "window": "window", "list": "list"}
    predictions = {to: Predicted(seconds[name], seconds["neither"]) for to, name in names.items()}
    rows = json.loads((folder / "layout.json").read_text())["rows"]
    present = rows[0]["starts"][STARTS.index(what)]["seconds"]
    for row in rows[1:]:
        own = row["compressor"] == rows[0]["compressor"]
        name = "order" if own else f"{row['compressor']}-order"
        predictions[name] = Predicted(row["starts"][STARTS.index(what)]["seconds"], present)
    return predictions
