"""Compares two recordings of a start."""

from __future__ import annotations

from foreread.analyzer.diff.causes import largest, rest_of, settings_between
from foreread.analyzer.diff.document import StartDiff
from foreread.analyzer.diff.files import files_between
from foreread.analyzer.diff.side import side_of, window_of
from foreread.analyzer.ingest.recording import Recording
from foreread.emulator.devices.device import DeviceModel


def compare(
    old: Recording,
    new: Recording,
    name: str,
    board: str | None = None,
    weight: float = 1.0,
    limit: float | None = None,
    model: str | None = None,
    devices: tuple[DeviceModel | None, DeviceModel | None] = (None, None),
) -> StartDiff:
    """Return what changed between two recordings; ``devices`` are the costs of their disks."""
    windows = [window_of(recording) for recording in (old, new)]
    both = tuple(
        side_of(recording, order, model, device)
        for recording, order, device in zip(
            (old, new), (windows, windows[::-1]), devices, strict=True
        )
    )
    before, after = both
    settings = settings_between(before, after)
    sides = [side.document() for side in both]
    share = share_of(sides[0].seconds, sides[1].seconds)
    doubts = [
        f"{which}: {doubt}"
        for which, side in zip(("OLD", "NEW"), both, strict=True)
        for doubt in side.prediction.doubts
    ]
    doubts += [
        f"{which}: no predicted seconds: {side.prediction.verdict.why}"
        for which, side in zip(("OLD", "NEW"), both, strict=True)
        if side.seconds is None
    ]
    return StartDiff(
        name=name,
        board=board,
        weight=weight,
        old=sides[0],
        new=sides[1],
        share=share,
        regressed=exceeds(share, limit),
        causes=list(largest([*settings.causes, *rest_of(settings, after)])),
        files=files_between(before, after, settings),
        doubts=doubts,
    )


def share_of(old: float | None, new: float | None) -> float | None:
    """Return how much longer NEW takes, as a share of OLD; None where one is unknown."""
    return None if not old or new is None else new / old - 1


def exceeds(share: float | None, limit: float | None) -> bool | None:
    """Return whether a share is above the limit; None without a limit or seconds."""
    return None if share is None or limit is None else share > limit
