"""What a new tuning begins from: the earlier campaign of ``tune --from``, checked and described."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from analyzer.tuner.engines.earlier import Earlier
from analyzer.tuner.findings.earlier import earlier_of
from analyzer.tuner.findings.results import Results, read_results
from analyzer.tuner.space.genes import Space
from boards.counted import plural
from foreread.error import ArgumentError
from foreread.tune_options import TuneOptions


def earlier_campaign(asked: TuneOptions, tell: Callable[[str], None]) -> Earlier | None:
    """Return what the options' earlier campaign found; None without one.

    ``tell`` hears in what the two differ. Raises StoreError for a file that is not a sound TUNING,
    EarlierError for one without good runs, ArgumentError for one with another objective.
    """
    if asked.earlier is None:
        return None
    results = read_results(asked.earlier)
    if results.spec.objective != "seconds":
        raise ArgumentError(
            f"{asked.earlier} maximises a rate, and this search minimises seconds",
            "give --from the file of a campaign that measured starts",
        )
    found = earlier_of(results)
    for note in _differences(Path(asked.earlier), asked, results):
        tell(note)
    board = results.spec.board
    tell(f"begins from {plural(found.attempts, 'run')} of {board.name} (Linux {board.kernel})")
    return found


def check_genes(earlier: Earlier, space: Space, tell: Callable[[str], None]) -> None:
    """Say which genes the earlier campaign did not tune; raise ArgumentError if those are all."""
    known = {gene.name for gene in earlier.genes}
    unknown = [name for name in space.names if name not in known]
    if len(unknown) == len(space.names):
        raise ArgumentError(
            f"the earlier campaign tuned other settings: {', '.join(sorted(known))}",
            "repeat the command line without --from, or choose those with --genes",
        )
    if unknown:
        tell(f"the earlier campaign did not tune {', '.join(unknown)}: it expects nothing of them")


def _differences(path: Path, asked: TuneOptions, results: Results) -> list[str]:
    """Return in what the earlier campaign differs from the one that is asked for, in sentences."""
    spec = results.spec
    differing: Mapping[str, tuple[object, object]] = {
        "command": (shlex.join(spec.command), shlex.join(asked.run.command)),
        "scenarios": (", ".join(spec.scenarios), ", ".join(asked.scenarios)),
    }
    notes = [
        f"{path} has another {what} ({was}): its results are trusted as far as they prove true here"
        for what, (was, now) in differing.items()
        if was != now
    ]
    if results.ended is None:
        notes.append(f"{path} has not ended: its runs so far are used")
    return notes
