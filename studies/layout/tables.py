"""The tables of the study."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from foreread.boards.base.units import KIB
from studies.accuracy.store import Document

_TARGETS = {"bytes": 0.05, "requests": 0.10, "seconds": 0.03}


def text(rows: Sequence[Document]) -> str:
    """Return the errors in all, what the order brings, and each cell, as Markdown."""
    return "\n\n".join([*in_all(rows), _cells(rows)]) + "\n"


def in_all(rows: Sequence[Document]) -> tuple[str, str]:
    """Return the tables of the page: the errors in all, and what the order brings."""
    return _summary(rows), _gains(rows)


def error(row: Document, what: str) -> float | None:
    """Return the relative error of a prediction."""
    predicted, measured = row["predicted"][what], row["measured"][what]
    return None if predicted is None or not measured else float(predicted / measured - 1)


def _summary(rows: Sequence[Document]) -> str:
    lines = [
        "| | median error, % | worst, % | within the target | target, % |",
        "|---|---|---|---|---|",
    ]
    for what, target in _TARGETS.items():
        errors = [abs(value) for row in rows if (value := error(row, what)) is not None]
        if errors:
            held = sum(value <= target for value in errors)
            lines.append(
                f"| {what} | {100 * statistics.median(errors):.1f} | {100 * max(errors):.1f} | "
                f"{held}/{len(errors)} | {100 * target:.0f} |"
            )
    return "\n".join(lines)


def _cells(rows: Sequence[Document]) -> str:
    head = "| image | start | KiB | requests | seconds |"
    lines = [head, "|---|---|---|---|---|"]
    for row in rows:
        cells = [_pair(row, "bytes", 1 / KIB, 0), _pair(row, "requests", 1, 0)]
        cells.append(_pair(row, "seconds", 1, 3))
        lines.append(f"| {row['image']} | {row['start']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _pair(row: Document, what: str, unit: float, digits: int) -> str:
    """Return predicted, measured, and the error."""
    predicted, off = row["predicted"][what], error(row, what)
    measured = f"{row['measured'][what] * unit:,.{digits}f}"
    if predicted is None or off is None:
        return f"- / {measured}"
    return f"{predicted * unit:,.{digits}f} / {measured} ({off:+.1%})"


def _gains(rows: Sequence[Document]) -> str:
    """Return what the order changes, in per cent: bytes and seconds, predicted/measured."""
    by_key = {(row["pair"], row["start"], row["ordered"]): row for row in rows}
    starts = list(dict.fromkeys(row["start"] for row in rows))
    lines = [f"| sorted against default | {' | '.join(starts)} |", "|---" * (len(starts) + 1) + "|"]
    for pair in dict.fromkeys(row["pair"] for row in rows):
        cells = [_gain(by_key.get((pair, s, False)), by_key.get((pair, s, True))) for s in starts]
        lines.append(f"| {pair} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _gain(plain: Document | None, ordered: Document | None) -> str:
    if plain is None or ordered is None:
        return "–"
    return ", ".join(_change(plain, ordered, what) for what in ("bytes", "seconds"))


def _change(plain: Document, row: Document, what: str) -> str:
    shares = []
    for source in ("predicted", "measured"):
        before, after = plain[source][what], row[source][what]
        shares.append(
            "-" if before is None or after is None else f"{100 * (after / before - 1):+.0f}"
        )
    return "/".join(shares)
