"""A cell of seconds: one capture, cold runs at every window, and predictions held against them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli import CommandError, Foreread
from figures import SecondsTargets, Spread, seconds_figures, spread
from store import Document

WINDOWS_KB = (0, 4, 8, 16, 32, 64, 128, 512)
MODEL = ("--model", "linux")
_COLUMNS = ("seconds", "requests", "pages")
LEARNT = "learnt from the capture"

Targets = Callable[[float, Spread | None], SecondsTargets]


def calibrated(
    place: str, folder: Path, foreread: Foreread, within: Sequence[str] = ()
) -> dict[str, Path | None]:
    """Return the device model that ``foreread calibrate`` makes of a disk, measured once."""
    file = folder / "calibrated.toml"
    if not file.exists():
        foreread("calibrate", "-o", file, place, measures=True, within=within)
    return {"calibrated": file}


@dataclass(frozen=True)
class Asked:
    """What is measured: a command, where (words of the CLI), and what to predict it with.

    ``devices`` are names and files of device models; None: it is learnt from the capture.
    ``targets`` are told of seconds at the default window and the spread of identical runs.
    """

    command: Sequence[str]
    devices: Mapping[str, Path | None]
    targets: Targets
    target: str | None = None
    disk: str | None = None
    repeat: int = 1
    warm_first: bool = False

    @property
    def where(self) -> tuple[str, ...]:
        """The words that choose the target."""
        return ("--target", self.target) if self.target else ()


def measure(asked: Asked, folder: Path, foreread: Foreread) -> Document:
    """Record, sweep and compare; what ``folder`` has already is not made again."""
    capture, sweep = folder / "capture", folder / "sweep.json"
    if not (capture / "capture.json").exists():
        _record(asked, capture, foreread)
    picks = {kb for file in asked.devices.values() for kb in _picks(capture, file, foreread)}
    measured = _swept(asked, {*WINDOWS_KB, *picks}, sweep, foreread)
    found = spread([point["seconds"] for point in measured["points"]])
    rows = [
        _row(name, file, asked, capture, sweep, found, foreread)
        for name, file in asked.devices.items()
    ]
    return {
        "kernel": measured["kernel"],
        "spread": found and {"median": found.median, "worst": found.worst},
        "sweep": measured["points"],
        "rows": rows,
    }


def _record(asked: Asked, capture: Path, foreread: Foreread) -> None:
    words = ("record", *asked.where, "--wait", 300, "--allow-warm", "--json")
    if asked.warm_first:
        # The first run may write what later ones read: byte code, caches of fonts.
        foreread(*words, "-o", capture.with_name("first"), "--", *asked.command)
    foreread(*words, "-o", capture, "--", *asked.command)


def _picks(capture: Path, file: Path | None, foreread: Foreread) -> list[int]:
    """Return windows (KiB): of the fewest seconds, of the published criterion, and today's."""
    try:
        total = foreread.json("predict", *MODEL, *_given(file), capture)["total"]
    except CommandError:
        return []  # told by the comparison
    kib = dict(zip(total["windows"], total["read_ahead_kb"], strict=True))
    picks = (kib.get(total["predicted_best"]), kib[total["quasi_optimal"]])
    return [kb for kb in (*picks, total["current_read_ahead_kb"]) if kb is not None]


def _swept(asked: Asked, windows_kb: set[int], sweep: Path, foreread: Foreread) -> Document:
    """Return the SWEEP of windows, of which those that are not in the file yet are measured."""
    have: list[Document] = [json.loads(sweep.read_text())] if sweep.exists() else []
    todo = sorted(windows_kb - {p["read_ahead_kb"] for one in have for p in one["points"]})
    if todo:
        more = sweep.with_name(f"more-{todo[0]}.json")
        more.unlink(missing_ok=True)
        windows = ",".join(f"{kb}k" for kb in todo)
        disk = ("--device", asked.disk) if asked.disk else ()
        words = ("sweep", *asked.where, *disk, "--wait", 300, "--allow-warm", "--windows", windows)
        given = ("--repeat", asked.repeat, "-o", more)
        foreread(*words, *given, "--", *asked.command, measures=asked.target is None)
        whole = merged([*have, json.loads(more.read_text())])
        sweep.write_text(json.dumps(whole, indent=1) + "\n")
        have = [whole]
    return have[0]


def merged(rounds: Sequence[Document]) -> Document:
    """Return SWEEPs as one, with all runs at each window."""
    points = [
        {"read_ahead_kb": kb, **{name: _all(rounds, kb, name) for name in _COLUMNS}}
        for kb in sorted({p["read_ahead_kb"] for one in rounds for p in one["points"]})
    ]
    notes = list(dict.fromkeys(note for one in rounds for note in one["notes"]))
    return {**rounds[0], "notes": notes, "points": points}


def _all(rounds: Sequence[Document], kb: int, name: str) -> list[float]:
    points = (p for one in rounds for p in one["points"] if p["read_ahead_kb"] == kb)
    return [value for point in points for value in point[name]]


def _row(
    name: str,
    file: Path | None,
    asked: Asked,
    capture: Path,
    sweep: Path,
    found: Spread | None,
    foreread: Foreread,
) -> Document:
    """Return what came of a device model; ``why`` says why nothing did."""
    try:
        against = foreread.json("validate", *MODEL, *_given(file), capture, sweep)
    except CommandError as error:
        return {"device": name, "why": str(error)}
    seconds = _seconds(against["points"])
    targets = asked.targets(seconds[against["default_read_ahead_kb"]], found)
    row = {
        "device": name,
        "figures": [one.to_json() for one in seconds_figures(against, targets)],
        "default_s": seconds[against["default_read_ahead_kb"]],
        "best_kb": against["best_read_ahead_kb"],
        "chosen_kb": against["chosen_read_ahead_kb"],
        "regret_published": against["regret_quasi_optimal"],
        "published_kb": against["quasi_optimal_read_ahead_kb"],
        "points": against["points"],
        "notes": against["notes"],
    }
    if against["seconds_error_median"] is None:
        row["why"] = foreread.json("predict", *MODEL, *_given(file), capture)["verdict"]["why"]
    return row


def _seconds(points: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    return {point["read_ahead_kb"]: point["measured"]["seconds"] for point in points}


def _given(file: Path | None) -> tuple[object, ...]:
    return () if file is None else ("--device-model", file)
