"""The tables of starts beside loads: the error by window, regret, band and sign of each load."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from foreread.tracer.formats.scenario import IDLE
from studies.accuracy.figures import Coverage, together
from studies.accuracy.markdown import NONE, markdown, percent
from studies.accuracy.store import Cell, Document

Made = Sequence[tuple[Cell, Document]]


def lines(results: Made) -> list[str]:
    """Return the table of all cells and loads, and a line for each load over all cells."""
    rows = [(cell, row) for cell, document in results for row in document["beside"]]
    windows = sorted({point["read_ahead_kb"] for _, row in rows for point in row["points"]})
    head = (
        *("start", "beside", *(f"{kb} KiB: s (error, %)" for kb in windows)),
        *("regret", "in the band", "idle's window against the default: predicted, measured"),
    )
    table = markdown(head, (_row(cell, row, windows) for cell, row in rows))
    return [*table, "", *_over_all([row for _, row in rows])]


def _row(cell: Cell, row: Document, windows: Sequence[int]) -> Sequence[str]:
    if not row["points"]:
        return (cell.name, row["load"], *[NONE] * len(windows), NONE, NONE, row["why"])
    points = {point["read_ahead_kb"]: point for point in row["points"]}
    texts = [
        f"{points[kb]['measured']:.2f} ({100 * points[kb]['error']:+.1f})" if kb in points else NONE
        for kb in windows
    ]
    held = sum(point["in_band"] for point in row["points"])
    return (
        *(cell.name, row["load"], *texts, percent(row["regret"])),
        *(f"{held} of {len(points)}", _sign_text(row["sign"])),
    )


def _sign_text(sign: Document | None) -> str:
    if sign is None:
        return NONE
    each = ", ".join(f"{100 * sign[of]:+.1f} %" for of in ("predicted", "measured"))
    return f"{sign['kb']} KiB: {each}"


def _over_all(rows: Sequence[Document]) -> Iterable[str]:
    """Yield a line for idle and each load, and one for all loads."""
    names = list(dict.fromkeys(row["load"] for row in rows))
    groups = {name: [row for row in rows if row["load"] == name] for name in names}
    groups["all loads"] = [row for row in rows if row["load"] != IDLE]
    for name, group in groups.items():
        points = [point for row in group for point in row["points"]]
        if not points:
            continue
        errors = [abs(point["error"]) for point in points]
        held = together(Coverage(point["in_band"], 1) for point in points)
        regrets = [row["regret"] for row in group if row["points"]]
        signs = [row["sign"]["right"] for row in group if row["sign"]]
        yield (
            f"- {name}: error {percent(median(errors))} (median), {percent(max(errors))} (worst); "
            f"regret {percent(median(regrets))} (median), {percent(max(regrets))} (worst); in the "
            f"band {held.held} of {held.points} ({percent(held.share)}); sign right in "
            f"{sum(signs)} of {len(signs)}"
        )
