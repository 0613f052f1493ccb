"""Starts on storage parts: what a part is worth, and what a window is worth in parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from foreread.analyzer.advise.parts_document import (
    PartRow,
    PartsDocument,
    PartSeconds,
    StartOnParts,
    Within,
)
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.bands import TOLD_APART, Bands
from foreread.analyzer.predict.choice import predict_by
from foreread.analyzer.predict.disk.device_model import StoragePart
from foreread.analyzer.predict.kib import emulated_pages
from foreread.analyzer.predict.linux import PREFIX
from foreread.analyzer.predict.prediction import Prediction
from foreread.boards.base.silent import silent
from foreread.emulator.devices.device import DeviceModel

CAPTURED = "the recorded disk"


@dataclass(frozen=True, eq=False)
class NamedStart:
    """A start: its recordings, all of the same command on the same board.

    ``device``: its disk; None: learnt from the recordings.
    """

    name: str
    recordings: Sequence[Recording]
    device: DeviceModel | None = None


def on_parts(
    starts: Sequence[NamedStart],
    parts: Sequence[StoragePart],
    model: str = PREFIX,
    within: float | None = None,
    step: Callable[[str], None] = silent,
) -> PartsDocument:
    """Predict each start on the disk of its capture and on each part.

    The seconds of a part are those of ``predict_by`` with its device.

    Args:
        starts: recorded starts.
        parts: device models.
        model: "linux" (the recording's kernel) or "linux-X.Y".
        within: limit in seconds for the upper bound of a start's band.
        step: is called with each step, in words.

    Raises:
        KernelError: the readahead of this kernel is unknown.
    """
    rows = [_start(start, parts, model, within, step) for start in starts]
    return PartsDocument(
        parts=[_part(part) for part in parts],
        starts=rows,
        within=within,
        slowest_within=None if within is None else _slowest_within(rows),
    )


def _part(part: StoragePart) -> PartRow:
    return PartRow(
        name=part.name,
        obtained=part.cost.obtained,
        source=part.source,
        cost=part.device.describe(),
    )


def _start(
    start: NamedStart,
    parts: Sequence[StoragePart],
    model: str,
    within: float | None,
    step: Callable[[str], None],
) -> StartOnParts:
    first, *more = start.recordings
    rows: list[PartSeconds] = []
    for part in (None, *parts):
        step(f"predicting {start.name} on {CAPTURED if part is None else part.name}")
        device, name = (start.device, None) if part is None else (part.device, part.name)
        prediction = predict_by(first, model, None, device, more)
        rows.append(_seconds(prediction, name, within))
    reference = prediction.reference
    return StartOnParts(
        name=start.name,
        command=first.capture.command or [],
        captures=len(start.recordings),
        kernel=prediction.kernel,
        model=prediction.model,
        read_ahead_kb_now=reference.kb,
        now_is=reference.name,
        rows=sorted((_with_break_even(row, rows) for row in rows), key=_rank),
    )


def _rank(row: PartSeconds) -> tuple[bool, float]:
    return row.seconds is None, row.seconds or 0.0


def _seconds(prediction: Prediction, part: str | None, within: float | None) -> PartSeconds:
    """Return the row of a part."""
    verdict, bands, page = prediction.verdict, prediction.bands, prediction.page_size
    if bands is None:
        return PartSeconds(
            part=part, cost=prediction.disk_cost, why=verdict.why, remedy=verdict.remedy
        )
    now_kb = prediction.reference.kb
    kb = now_kb if verdict.read_ahead_kb is None else verdict.read_ahead_kb
    now, proposed = emulated_pages(now_kb, page), emulated_pages(kb, page)
    at_now, at_proposed = _at(bands, now), _at(bands, proposed)
    saved, band = bands.slower(now, proposed) if at_now and at_proposed else (None, None)
    row = PartSeconds(
        part=part,
        cost=prediction.disk_cost,
        read_ahead_kb=kb,
        saved=saved,
        band=band,
        within=None if within is None else _within(within, at_now, at_proposed),
        doubts=[*prediction.doubts],
    )
    if at_now:
        seconds, low, high = at_now
        row = replace(row, seconds_now=seconds, seconds_now_low=low, seconds_now_high=high)
    if at_proposed:
        seconds, low, high = at_proposed
        row = replace(row, seconds=seconds, seconds_low=low, seconds_high=high)
    return row


Timed = tuple[float, float, float]  # seconds, and the bounds of their band


def _at(bands: Bands, window: int) -> Timed | None:
    """Return the seconds of a window; None if it was not replayed (a kernel's default may not)."""
    if window not in bands.windows:
        return None
    at = bands.windows.index(window)
    low, high = bands.band()
    return bands.at(window), float(low[at]), float(high[at])


def _within(limit: float, now: Timed | None, proposed: Timed | None) -> Within:
    """Return with which window the upper bound of the band is within the limit."""
    if now and now[2] <= limit:
        return "now"
    return "window" if proposed and proposed[2] <= limit else "no"


def _with_break_even(row: PartSeconds, rows: Sequence[PartSeconds]) -> PartSeconds:
    """Return the row with what its window is worth in faster parts, which keep the window now."""
    if row.seconds is None or row.seconds_now is None:
        return row
    faster = [
        (other.seconds_now, other.part)
        for other in rows
        if other.part is not None
        and other.seconds_now is not None
        and other.seconds_now < (1 - TOLD_APART) * row.seconds_now
    ]
    if not faster:
        return row
    seconds, part = max(faster)
    caught = [each for each in faster if row.seconds <= each[0]]
    return replace(
        row,
        next_part=part,
        of_next=(row.seconds_now - row.seconds) / (row.seconds_now - seconds),
        as_fast_as=min(caught)[1] if caught else None,
    )


def _slowest_within(starts: Sequence[StartOnParts]) -> str | None:
    """Return the part of the most seconds, over all starts, on which each stays within."""
    seconds: dict[str, list[float]] = {}
    for start in starts:
        for row in start.rows:
            if row.part is not None and row.seconds is not None and row.within != "no":
                seconds.setdefault(row.part, []).append(row.seconds)
    sums = {part: sum(each) for part, each in seconds.items() if len(each) == len(starts)}
    return max(sums, key=sums.__getitem__) if sums else None
