"""The tables of kernels and CPUs: starts and judgements on each board, and what is confirmed.

    python -m studies.accuracy.kernel_tables [accuracy-out]

takes the cells of area ``kernels`` from a folder of results into figures/kernels.json and
figures/judged.json, and prints the tables, which docs/explanation/accuracy.md shows on the site;
without a folder it only prints them. Predictions know what was compared by
analyzer/predict/doubts/kernel.py, which tests hold to these figures.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from foreread.boards.emulated import MACHINES
from studies.accuracy.figures import FIXED_COST
from studies.accuracy.kernel_confirmed import (
    STARTS,
    Figures,
    board_of,
    compared,
    errors_of,
    of_boards,
)
from studies.accuracy.markdown import markdown, percent
from studies.accuracy.store import Cell, Document

FIGURES = Path(__file__).with_name("figures") / "kernels.json"
JUDGED = Path(__file__).with_name("figures") / "judged.json"
_JUDGED_HEAD = ("CPU", "kernel", "programs", "folios", "requests", "result")
_HEAD = (
    *("CPU", "kernel", "starts", "windows", "pages", "requests"),
    *("seconds: median, worst", "regret", "in the band"),
)
_KEPT = ("machine", "series", "start", "kernel", "date", "foreread")
_OF_ROW = ("default_kb", "best_kb", "chosen_kb", "verdict_kb", "regret_proposed", "why")


def lines(results: Sequence[tuple[Cell, Document]]) -> list[str]:
    """Return the tables of finished cells."""
    starts = [kept(document) for _, document in results if "rows" in document]
    judged = [judgement(document) for _, document in results if "judgement" in document]
    return [*table(starts), *(["", *judged_table(judged)] if judged else [])]


def kept(cell: Mapping[str, Any]) -> Document:
    """Return the part of a cell that is kept with the project: both sides of each point."""
    row = cell["rows"][0]
    document = {name: cell[name] for name in _KEPT if name in cell}
    document |= {name: row[name] for name in _OF_ROW if name in row}
    regret = next(
        (figure["value"] for figure in row.get("figures", ()) if figure["name"] == "regret"), None
    )
    points = [
        {
            "read_ahead_kb": point["read_ahead_kb"],
            **{side: {**point[side]} for side in ("predicted", "measured")},
            "in_band": point["in_band"],
        }
        for point in row.get("points", ())
    ]
    return {**document, "regret": regret, "points": points}


def judgement(cell: Mapping[str, Any]) -> Document:
    """Return the part of a judgement that is kept with the project."""
    verdict = cell["judgement"]
    document = {name: cell[name] for name in ("machine", "series", "foreread") if name in cell}
    names = ("release", "date", "result", "difference", "programs", "windows_kb")
    document |= {name: verdict["kernel"][name] for name in names if name in verdict["kernel"]}
    return document | {name: verdict[name] for name in ("folios", "requests", "seconds")}


def table(cells: Figures) -> list[str]:
    """Return the table: a row for each board and kernel."""
    return markdown(_HEAD, (_row(board_of(some[0]), some) for some in of_boards(cells)))


def unmade(cells: Figures) -> list[str]:
    """Say which cells of the table are incomplete, and which are missing."""
    starts = {
        (name, series): [cell["start"] for cell in cells if board_of(cell) == (name, series)]
        for name, machine in MACHINES.items()
        for series in machine.kernels
    }
    few = [
        f"{' '.join(board)} ({', '.join(some)})"
        for board, some in starts.items()
        if 0 < len(some) < STARTS
    ]
    absent = [" ".join(board) for board, some in starts.items() if not some]
    sentences = [f"Fewer than three starts: {'; '.join(few)}."] if few else []
    return sentences + ([f"Not measured: {', '.join(absent)}."] if absent else [])


def judged_table(judged: Figures) -> list[str]:
    """Return the table of judgements."""
    return markdown(_JUDGED_HEAD, (_judged_row(cell) for cell in judged))


def _judged_row(cell: Mapping[str, Any]) -> Sequence[str]:
    result = "identical" if cell["result"] == "confirmed" else f"**{cell['difference']}**"
    counts = (f"{cell[name]:,}" for name in ("programs", "folios", "requests"))
    return (cell["machine"], cell["release"].partition("-")[0].partition("+")[0], *counts, result)


def _row(board: tuple[str, str], cells: Figures) -> Sequence[str]:
    measured = [cell for cell in cells if cell["points"]]
    points = [point for cell in measured for point in cell["points"]]
    errors = [errors_of(cell, "seconds") for cell in measured]
    regrets = [cell["regret"] for cell in measured if cell["regret"] is not None]
    if not errors or not all(errors):
        return (*board, str(len(cells)), "–", "–", "–", "none", "–", "–")
    middle = median(median(each) for each in errors)
    worst = max(max(each) for each in errors)
    held = sum(bool(point["in_band"]) for point in points)
    return (
        *board,
        ", ".join(cell["start"] for cell in measured),
        str(len(points)),
        *(_counted(measured, name) for name in ("pages", "F")),
        f"{_bold(middle, FIXED_COST.median_error)}, {_bold(worst, FIXED_COST.worst_error)}",
        _bold(max(regrets, default=0.0), FIXED_COST.regret),
        f"{held} of {len(points)}",
    )


def _counted(cells: Figures, name: str) -> str:
    """Say at how many windows a count is what was measured, and the largest difference."""
    errors = [error for cell in cells for error in errors_of(cell, name)]
    same = sum(error == 0 for error in errors)
    if same == len(errors):
        return "identical"
    return f"{percent(median(errors))}, {percent(max(errors))}"


def _bold(value: float, target: float) -> str:
    return percent(value) if value <= target else f"**{percent(value)}**"


def collected(folder: Path) -> tuple[list[Document], list[Document]]:
    """Return the starts and judgements in a folder of results; those that it lacks stay."""
    starts = {_key(cell): cell for cell in stored(FIGURES)}
    judged = {_key(cell): cell for cell in stored(JUDGED)}
    for file in sorted((folder / "kernels").glob("*.json")):
        document = json.loads(file.read_text())
        into, take = (judged, judgement) if "judgement" in document else (starts, kept)
        cell = take(document)
        into[_key(cell)] = cell
    return [starts[key] for key in sorted(starts)], [judged[key] for key in sorted(judged)]


def stored(file: Path) -> list[Document]:
    """Return the cells that are kept with the project."""
    cells: list[Document] = json.loads(file.read_text()) if file.exists() else []
    return cells


def _key(cell: Mapping[str, Any]) -> tuple[str, tuple[int, ...], str]:
    return cell["machine"], tuple(int(n) for n in cell["series"].split(".")), cell.get("start", "")


def kept_tables() -> dict[str, list[str]]:
    """Return the tables of the figures that are kept with the project, by name."""
    starts = stored(FIGURES)
    return {
        "kernels": [*table(starts), "", *unmade(starts)],
        "judged": judged_table(stored(JUDGED)),
        "compared": compared(),
    }


def main(words: Sequence[str]) -> None:
    """Collect the cells of a folder, if one is named, and print the tables."""
    if words:
        FIGURES.parent.mkdir(exist_ok=True)
        for file, cells in zip((FIGURES, JUDGED), collected(Path(words[0])), strict=True):
            file.write_text("[\n" + ",\n".join(map(json.dumps, cells)) + "\n]\n")
    for table_lines in kept_tables().values():
        print("\n".join(table_lines), end="\n\n")


if __name__ == "__main__":
    main(sys.argv[1:])
