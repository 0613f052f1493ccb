"""Predict the measured rows again, with the present model.

    python -m studies.advice.again CAPTURE DIR [--device-model FILE]

DIR is the folder of ``python -m studies.advice.measure``; in its measured.json each row gets
``predicted`` (s), and each without windows in phases ``saved`` (s, against the present window
alone) and ``deviation`` (s, of the random draws of that). Windows in phases are predicted for the
time at which the trial changed the window.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foreread.analyzer.advise.bench import Bench, Chosen
from foreread.analyzer.advise.lists import WHOLE, groups, whole_list
from foreread.analyzer.advise.offer import Offer
from foreread.analyzer.advise.phases import begins_ns, first_uses, freeze_ns, frozen, phased
from foreread.analyzer.advise.situation import Situation, situation_of
from foreread.analyzer.advise.windows import windows
from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.disk.device_model import device_from
from foreread.analyzer.predict.linux import PREFIX
from foreread.boards.base.units import kib_to_pages
from foreread.emulator.linux.rules import version_of

Row = dict[str, Any]


def predicted_again(rows: list[Row], situation: Situation) -> list[Row]:
    """Return the measured rows with the predictions of the present model."""
    bench = Bench(situation)
    by_kb = {situation.kib(pages): offer for pages, offer in windows(situation).items()}
    by_list = _lists(situation)
    return [
        row | {"predicted": _in_phases(row, situation)}
        if row["later"]
        else row | _predicted(bench, _chosen(row, by_kb, by_list))
        for row in rows
    ]


def _in_phases(row: Mapping[str, Any], situation: Situation) -> float:
    """Return the seconds if files that are first used after the change have the later window."""
    ((after_s, later_kb),) = row["later"]
    variant, page = situation.present[0], situation.prediction.page_size
    pair = [kib_to_pages(kb, page) for kb in (row["read_ahead_kb"], later_kb)]
    kernel = situation.prediction.model.removeprefix(f"{PREFIX}-")
    uses = [int(use) for use in sorted(set(first_uses(variant))) if use < len(variant.run.steps)]
    late = [use for use in uses if begins_ns(phased(variant, [use], pair))[use] >= after_s * 1e9]
    begin = min(late, default=len(variant.run.steps))
    changed = phased(variant, [begin], pair)
    return frozen(changed, begin, freeze_ns(version_of(kernel))).cost().seconds


def _lists(situation: Situation) -> dict[str, Offer]:
    offers = {name: offer for offer in groups(situation) for name in offer.lists}
    whole = whole_list(situation)
    return offers if whole is None else {**offers, WHOLE: whole}


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
