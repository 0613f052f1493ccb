"""Predict what was measured again, with the present model.

    python -m studies.advice.again CAPTURE DIR [--device-model FILE]

DIR is that of ``python -m studies.advice.measure``; in its measured.json each row without windows
in phases gets ``predicted`` (s), ``saved`` (s, against the present window alone) and ``deviation``
(s, of the random draws of that).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analyzer.advise.bench import Bench, Chosen
from analyzer.advise.lists import WHOLE, groups, whole_list
from analyzer.advise.offer import Offer
from analyzer.advise.situation import Situation, situation_of
from analyzer.advise.windows import windows
from analyzer.ingest.load import load
from analyzer.predict.disk.device_model import device_from

Row = dict[str, Any]


def predicted_again(rows: list[Row], situation: Situation) -> list[Row]:
    """Return the measured rows with the predictions of the present model."""
    bench = Bench(situation)
    by_kb = {situation.kib(pages): offer for pages, offer in windows(situation).items()}
    by_list = _lists(situation)
    return [
        row if row["later"] else row | _predicted(bench, _chosen(row, by_kb, by_list))
        for row in rows
    ]


def _lists(situation: Situation) -> dict[str, Offer]:
    found = {name: offer for offer in groups(situation) for name in offer.lists}
    whole = whole_list(situation)
    return found if whole is None else {**found, WHOLE: whole}


def _chosen(
    row: Mapping[str, Any], by_kb: Mapping[int, Offer], by_list: Mapping[str, Offer]
) -> Chosen:
    """Return the offers that a measured row consists of; none: the present."""
    window = [by_kb[row["read_ahead_kb"]]] if row["read_ahead_kb"] in by_kb else []
    return frozenset([*window, *([by_list[row["list"]]] if row["list"] else [])])


def _predicted(bench: Bench, chosen: Chosen) -> Row:
    return {
        "predicted": bench.cost(chosen).seconds,
        "saved": bench.saved(chosen),
        "deviation": float(bench.drawn(chosen).std()),
    }


def main() -> None:
    """Predict one start again."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("capture", metavar="CAPTURE")
    parser.add_argument("output", type=Path, metavar="DIR")
    parser.add_argument("--device-model", metavar="FILE")
    args = parser.parse_args()
    file = args.output / "measured.json"
    document = json.loads(file.read_text())
    situation = situation_of([load(args.capture)], device_from(args.device_model))
    document["rows"] = predicted_again(document["rows"], situation)
    file.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
