"""The load for which a prediction holds, in words."""

from __future__ import annotations

from collections.abc import Sequence

from foreread.analyzer.predict.prediction import Verdict
from foreread.tracer.formats.scenario import MEMORY


def holds_for(verdict: Verdict, measured: str = "CAPTURE", beside: Sequence[str] = ()) -> str:
    """Return for which load a verdict holds; empty if it names no window.

    ``measured``: the words that name the start to ``foreread confirm``; ``beside``: the loads that
    the verdict is about.
    """
    if verdict.read_ahead_kb is None:
        return ""
    return (
        f"predicted for {machine(beside)}; beside other readers or writers measure it: "
        f"foreread confirm {measured} --scenario reader"
    )


def machine(beside: Sequence[str]) -> str:
    """Return the machine for which a verdict holds, by the loads that the verdict is about."""
    sizes = [name.removeprefix(MEMORY) for name in beside if name.startswith(MEMORY)]
    loads = [name for name in beside if not name.startswith(MEMORY)]
    also = [f"beside {', '.join(loads)}"] if loads else []
    also += [f"with {', '.join(sizes)} of memory"] if sizes else []
    return f"an idle machine, and {', and '.join(also)}" if also else "an idle machine"
