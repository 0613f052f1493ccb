"""A cell of seconds: captures, cold runs at every window, and their comparison with predictions."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from studies.accuracy.cli import Foreread
from studies.accuracy.figures import SecondsTargets, Spread, coverage, seconds_figures, spread
from studies.accuracy.judging import judged, picks
from studies.accuracy.store import Document

WINDOWS_KB = (0, 4, 8, 16, 32, 64, 128, 512)
_COLUMNS = ("seconds", "requests", "pages")
LEARNT = "from the capture"  # probed when it was recorded, or learnt from its requests
PROBED, OWN = "probed", "learnt"  # the two apart

Targets = Callable[[float, Spread | None], SecondsTargets]


def calibrate(place: str, file: Path, foreread: Foreread, within: Sequence[str] = ()) -> None:
    """Write the device model that ``foreread calibrate`` makes of a disk, unless it is there."""
    if not file.exists():
        foreread("calibrate", "-o", file, place, measures=True, within=within)


@dataclass(frozen=True)
class Request:
    """A measurement: a command, its target (words of the CLI), and the models to predict it.

    ``devices`` are names and files of device models; None: the capture says what the disk costs.
    ``targets`` takes seconds at the default window and the spread of identical runs. Each of the
    ``captures`` is judged alone: the thread to which a wait is attributed can differ between them.
    ``image`` is the root's image in compressed EROFS.
    """

    command: Sequence[str]
    devices: Mapping[str, Path | None]
    targets: Targets
    target: str | None = None
    disk: str | None = None
    repeat: int = 1
    warm_first: bool = False
    captures: int = 1
    windows_kb: Sequence[int] = WINDOWS_KB
    image: Path | None = None

    @property
    def where(self) -> tuple[str, ...]:
        """The words that choose the target."""
        return ("--target", self.target) if self.target else ()


def measure(request: Request, folder: Path, foreread: Foreread) -> Document:
    """Record, sweep and compare, and return the result; ``folder``'s finished parts are kept."""
    sweep = folder / "sweep.json"
    for capture in _captures(folder, request.captures):
        if not (capture / "capture.json").exists():
            _record(request, capture, foreread)
    captures = _stored(folder)
    chosen = {
        kb
        for capture in captures
        for name, file in request.devices.items()
        for kb in picks(capture, file, probe=name != OWN, image=request.image)
    }
    _sweep(request, {*request.windows_kb, *chosen}, sweep, foreread)
    for capture in captures:
        for file in request.devices.values():
            model = () if file is None else ("--device-model", file)
            image = () if request.image is None else ("--image", request.image.name)
            foreread.note("predict", *model, *image, capture, "--measured", sweep)
    return judge(request, folder)


def judge(request: Request, folder: Path) -> Document:
    """Compare the captures and the sweep that are in ``folder``, and measure nothing."""
    sweep = folder / "sweep.json"
    measured = json.loads(sweep.read_text())
    own_spread = spread([point["seconds"] for point in measured["points"]])
    rows = [
        _row(number, name, file, capture, request, own_spread)
        for number, capture in enumerate(_stored(folder), start=1)
        for name, file in request.devices.items()
        if file is None or file.exists()
    ]
    return {
        "kernel": measured["kernel"],
        "spread": own_spread and {"median": own_spread.median, "worst": own_spread.worst},
        "sweep": measured["points"],
        "rows": rows,
    }


def _captures(folder: Path, number: int) -> list[Path]:
    return [folder / ("capture" if n == 1 else f"capture-{n}") for n in range(1, number + 1)]


def _stored(folder: Path) -> list[Path]:
    return sorted(file.parent for file in folder.glob("capture*/capture.json"))


def _record(request: Request, capture: Path, foreread: Foreread) -> None:
    words = ("record", *request.where, "--wait", 300, "--allow-warm", "--json")
    if request.warm_first:
        # The first run may write what later ones read: byte code, caches of fonts.
        first = capture.with_name("first")
        shutil.rmtree(first, ignore_errors=True)  # of a run that was interrupted
        foreread(*words, "-o", first, "--", *request.command)
    foreread(*words, "-o", capture, "--", *request.command)


def _sweep(request: Request, windows_kb: set[int], sweep: Path, foreread: Foreread) -> None:
    """Measure the windows that the SWEEP file does not have yet."""
    have: list[Document] = [json.loads(sweep.read_text())] if sweep.exists() else []
    todo = sorted(
        windows_kb - {p["read_ahead_kb"] for document in have for p in document["points"]}
    )
    if not todo:
        return
    more = sweep.with_name(f"more-{todo[0]}.json")
    more.unlink(missing_ok=True)
    windows = ",".join(map(str, todo))
    disk = ("--device", request.disk) if request.disk else ()
    words = ("sweep", *request.where, *disk, "--wait", 300, "--allow-warm", "--windows", windows)
    options = ("--repeat", request.repeat, "-o", more)
    foreread(*words, *options, "--", *request.command, measures=request.target is None)
    whole = merged([*have, json.loads(more.read_text())])
    sweep.write_text(json.dumps(whole, indent=1) + "\n")


def merged(rounds: Sequence[Document]) -> Document:
    """Return SWEEPs as one, with all runs at each window."""
    points = [
        {"read_ahead_kb": kb, **{name: _all(rounds, kb, name) for name in _COLUMNS}}
        for kb in sorted({p["read_ahead_kb"] for sweep in rounds for p in sweep["points"]})
    ]
    notes = list(dict.fromkeys(note for sweep in rounds for note in sweep["notes"]))
    return {**rounds[0], "notes": notes, "points": points}


def _all(rounds: Sequence[Document], kb: int, name: str) -> list[float]:
    points = (p for sweep in rounds for p in sweep["points"] if p["read_ahead_kb"] == kb)
    return [value for point in points for value in point[name]]


def _row(
    number: int,
    name: str,
    file: Path | None,
    capture: Path,
    request: Request,
    own_spread: Spread | None,
) -> Document:
    """Return the comparison for one capture and one device model; ``why`` if there is none."""
    row = {"device": name, "capture": number}
    try:
        against = judged(
            *(capture, capture.with_name("sweep.json"), file),
            probe=name != OWN,
            image=request.image,
        )
    except ValueError as error:
        return {**row, "why": str(error)}
    default_kb = against["default_read_ahead_kb"]
    default_s = next(
        point["measured"]["seconds"]
        for point in against["points"]
        if point["read_ahead_kb"] == default_kb
    )
    held = coverage(against["points"])
    figures = seconds_figures(against, request.targets(default_s, own_spread))
    row |= {
        "figures": [figure.to_json() for figure in figures],
        "coverage": {"held": held.held, "points": held.points},
        "default_s": default_s,
        "default_kb": default_kb,
        "best_kb": against["best_read_ahead_kb"],
        "chosen_kb": against["chosen_read_ahead_kb"],
        "verdict": against["verdict"],
        "verdict_kb": against["proposed_read_ahead_kb"],
        "regret_proposed": against["regret_proposed"],
        "regret_published": against["regret_quasi_optimal"],
        "published_kb": against["quasi_optimal_read_ahead_kb"],
        "points": against["points"],
        "notes": against["notes"],
    }
    return row if against["why"] is None else {**row, "why": against["why"]}
