"""The table of forecasts between kernels: what was predicted and measured for each pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from typing import Any

from foreread.boards.base.units import percent_text
from studies.accuracy.figures import Figure
from studies.accuracy.markdown import markdown
from studies.accuracy.store import Cell, Document

RIGHT_SIGNS = 0.9
_HEAD = ("pair", "KiB now, then", "forecast", "measured", "noise", "sign", "in the band")

Made = Sequence[tuple[Cell, Document]]


def lines(results: Made) -> list[str]:
    """Return the table of all pairs, and a line over them."""
    pairs = [(cell, document["pair"]) for cell, document in results if "pair" in document]
    if not pairs:
        return []
    return [*markdown(_HEAD, _rows(pairs)), "", _over_all([pair for _, pair in pairs])]


def _rows(pairs: Iterable[tuple[Cell, Document]]) -> Iterable[Sequence[str]]:
    for cell, pair in pairs:
        now_kb, then_kb = pair["windows_kb"]
        own = "" if pair["forecast_kb"] == then_kb else f" (forecast: {pair['forecast_kb']})"
        if pair["forecast"] is None:
            yield (cell.name, f"{now_kb}, {then_kb}{own}", *["–"] * 5)
            continue
        measured = pair["measured"]
        yield (
            cell.name,
            f"{now_kb}, {then_kb}{own}",
            _change(pair["forecast"]),
            _change(measured),
            f"{100 * measured['noise']:.1f} %",
            "right" if measured["right"] else "wrong",
            "yes" if measured["in_band"] else "no",
        )


def right_signs(pairs: Sequence[Document]) -> Figure:
    """Return the share of pairs whose forecast has the measured sign, and its target."""
    judged = [pair["measured"]["right"] for pair in pairs if pair["forecast"] is not None]
    share = sum(judged) / len(pairs) if pairs else None
    return Figure("right sign", share, RIGHT_SIGNS, at_least=True)


def _over_all(pairs: Sequence[Document]) -> str:
    predicted = [pair for pair in pairs if pair["forecast"] is not None]
    figure = right_signs(pairs)
    held = sum(pair["measured"]["in_band"] for pair in predicted)
    apart = [pair["measured"]["share"] - pair["forecast"]["share"] for pair in predicted]
    rms = sqrt(sum(error * error for error in apart) / len(apart)) if apart else 0.0
    signs = sum(pair["measured"]["right"] for pair in predicted)
    words = sum(pair["measured"]["same_word"] for pair in predicted)
    met = "met" if figure.met else "missed"
    return (
        f"- right sign: {signs} of {len(pairs)} pairs ({met}: {100 * RIGHT_SIGNS:.0f} %), the same "
        f"word (faster, slower, same): {words}; measured less forecast: {100 * rms:.2f} % "
        f"rms; in the band: {held} of {len(predicted)}"
    )


def _change(of: Mapping[str, Any]) -> str:
    return f"{percent_text(of['share'], 2, signed=True)} ({of['direction']})"
