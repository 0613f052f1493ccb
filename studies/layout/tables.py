"""The tables of the study."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from studies.accuracy.store import Document

_TARGETS = {"bytes": 0.05, "requests": 0.10, "seconds": 0.03}


def text(rows: Sequence[Document]) -> str:
    """Return the errors in all, each cell, and what the order brings, as Markdown."""
    return "\n\n".join([_summary(rows), _cells(rows), _gains(rows)]) + "\n"


def error(row: Document, what: str) -> float | None:
    """Return the relative error of a prediction."""
    predicted, measured = row["predicted"][what], row["measured"][what]
    return None if predicted is None or not measured else float(predicted / measured - 1)


def _summary(rows: Sequence[Document]) -> str:
    lines = ["| | median error | worst | within the target | target |", "|---|---|---|---|---|"]
    for what, target in _TARGETS.items():
        errors = [abs(one) for row in rows if (one := error(row, what)) is not None]
        if errors:
            held = sum(one <= target for one in errors)
            lines.append(
                f"| {what} | {statistics.median(errors):.1%} | {max(errors):.1%} | "
                f"{held} of {len(errors)} | {target:.0%} |"
            )
    return "\n".join(lines)


def _cells(rows: Sequence[Document]) -> str:
    head = "| image | start | KiB | requests | seconds |"
    lines = [head, "|---|---|---|---|---|"]
    for row in rows:
        cells = [_pair(row, "bytes", 1 / 1024, 0), _pair(row, "requests", 1, 0)]
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
    """Return what the order changes, predicted and measured."""
    by_key = {(row["pair"], row["start"], row["ordered"]): row for row in rows}
    lines = ["| sorted against default | start | bytes | requests | seconds |"]
    lines.append("|---|---|---|---|---|")
    for (pair, start, ordered), row in by_key.items():
        plain = by_key.get((pair, start, False))
        if not ordered or plain is None:
            continue
        cells = [_gain(plain, row, what) for what in ("bytes", "requests", "seconds")]
        lines.append(f"| {pair} | {start} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _gain(plain: Document, row: Document, what: str) -> str:
    """Return the change predicted and measured."""
    shares = []
    for source in ("predicted", "measured"):
        before, after = plain[source][what], row[source][what]
        shares.append("-" if before is None or after is None else f"{after / before - 1:+.0%}")
    return " / ".join(shares)
