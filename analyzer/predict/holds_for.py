"""The load for which a prediction holds, in words."""

from __future__ import annotations

from foreread.analyzer.predict.prediction import Verdict


def holds_for(verdict: Verdict, measured: str = "CAPTURE") -> str:
    """Return for which load a verdict holds; empty if it names no window.

    ``measured``: the words that name the start to ``foreread confirm``.
    """
    if verdict.read_ahead_kb is None:
        return ""
    return (
        "predicted for an idle machine; beside other readers or writers measure it: "
        f"foreread confirm {measured} --scenario reader"
    )
