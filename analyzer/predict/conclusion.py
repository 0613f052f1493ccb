"""From counts, seconds and doubts to the verdict and its document: each curve is built once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from foreread.analyzer.ingest.losses import lost_events
from foreread.analyzer.predict import board_default, remedy
from foreread.analyzer.predict.basis import lacks_of, supported
from foreread.analyzer.predict.counts import FIXED, Counts, curve_of
from foreread.analyzer.predict.disks import sizes_note
from foreread.analyzer.predict.doubts.doubt import Doubt, distinct, total_spread, unusable
from foreread.analyzer.predict.memory import recorded_run
from foreread.analyzer.predict.prediction import (
    MINOR_SHARE,
    Curve,
    Prediction,
    Verdict,
    worth_setting,
)
from foreread.analyzer.predict.seconds import LADDER, Seconds
from foreread.analyzer.predict.settings import INODES, best_settings, settings_of
from foreread.analyzer.predict.start import again
from foreread.analyzer.predict.verdict import (
    Missing,
    decide_by_criterion,
    decide_by_seconds,
    decide_without_seconds,
    windowless,
)
from foreread.boards.base.counted import plural
from foreread.boards.base.note import Note, NoteKind
from foreread.tracer.formats.capture import dev_of


def conclude(
    counts: Counts,
    seconds: Seconds | Missing,
    doubts: Sequence[Doubt] = (),
    notes: Sequence[str] = (),
) -> Prediction:
    """Return the prediction: the verdict by the seconds, or "measure" if there are none.

    ``doubts`` are all that were found: they widen the band, or withdraw the seconds. ``notes`` are
    about the model.
    """
    recording, doubts = counts.recording, distinct(doubts)
    weighed = _weighed(seconds, doubts)
    devices, total = _curves(counts, weighed)
    lacks = lacks_of(recording)
    verdict: Verdict | None = None
    on_windows: tuple[Note, ...] = ()
    if counts.model != FIXED:
        verdict, on_windows = windowless(recording, worth_setting(devices, total))
    if verdict is None:
        verdict = supported(_decided(total, weighed), recording, lacks)
    by_criterion = decide_by_criterion(total, counts.at_present)
    several = (_several_minima(total),) if total.turning_points > 1 else ()
    return Prediction(
        kernel=recording.kernel,
        page_size=recording.page_size,
        model=counts.model,
        recorded_read_ahead_kb=recording.recorded_read_ahead_kb,
        contaminated=recording.contaminated,
        devices=devices,
        total=total,
        verdict=verdict,
        published=supported(by_criterion, recording, lacks),
        lost_events=lost_events(recording),
        notes=(
            *_on_seconds(seconds, weighed, total),
            *_on_counts(counts, devices, total, {doubt.text for doubt in doubts}),
            *counts.notes,
            *notes,
            *on_windows,
        ),
        doubts=tuple(doubt.text for doubt in doubts),
        criterion_notes=(*counts.on_columns, *several),
        disk_cost=None if isinstance(seconds, Missing) else seconds.starts[0].device.describe(),
        bands=weighed.bands if isinstance(weighed, Seconds) else None,
        starts=weighed.starts if isinstance(weighed, Seconds) and not weighed.on_image else (),
    )


def _weighed(seconds: Seconds | Missing, doubts: Sequence[Doubt]) -> Seconds | Missing:
    """Return the seconds with the band that the doubts widen, or why they must not be used."""
    if isinstance(seconds, Missing):
        return seconds
    why = unusable(doubts)
    if why is None:
        return replace(seconds, bands=replace(seconds.bands, spread=total_spread(doubts)))
    start = seconds.starts[0]
    by_disk = seconds.given_disk and all(doubt.of_disk for doubt in doubts if doubt.unusable)
    measure = remedy.calibrate(start.recording, start.disk) if by_disk else None
    return Missing(why, measure or remedy.record_again(start.recording))


def _curves(counts: Counts, seconds: Seconds | Missing) -> tuple[list[Curve], Curve]:
    """Return the documents of each disk and of the total."""
    columns, timed = None, None
    if isinstance(seconds, Seconds):
        columns, timed = seconds.columns(counts.windows), seconds.starts[0].disk
    page = counts.recording.page_size
    devices = [
        curve_of(disk, counts.windows, page, columns if dev_of(disk.dev) == timed else None)
        for disk in counts.disks
    ]
    return devices, curve_of(counts.total, counts.windows, page, columns)


def _decided(total: Curve, seconds: Seconds | Missing) -> Verdict:
    if isinstance(seconds, Missing):
        return decide_without_seconds(total, seconds)
    return decide_by_seconds(total, seconds.bands, seconds.present)


def _on_seconds(
    seconds: Seconds | Missing, weighed: Seconds | Missing, total: Curve
) -> Iterator[str]:
    """Yield what the seconds rest on; also of seconds that must not be used, how they came out."""
    if isinstance(seconds, Missing):
        return
    if isinstance(weighed, Seconds):
        yield from _further_gene(weighed, total)
        yield from weighed.notes
    start = seconds.starts[0]
    yield again(start, recorded_run(start, seconds.at_zero))


def _further_gene(seconds: Seconds, total: Curve) -> Iterator[Note]:
    """Yield a note if another gene saves more than the best window does."""
    settings = settings_of(seconds.starts[0], (INODES,))
    present = seconds.present or 0
    best, now = total.predicted_best, total.seconds_at(present)
    if not settings or best is None or now is None:
        return
    joint = best_settings(seconds.starts, sorted({*LADDER, best, present}), settings)
    if joint.alone_seconds - joint.seconds <= max(now - joint.alone_seconds, 0.0):
        return
    for gene, value in joint.genes.items():
        yield Note(
            f"{gene}={value} saves more than the best window: {joint.seconds:.3f} s with it and "
            f"{joint.read_ahead_kb:,} KiB, {joint.alone_seconds:.3f} s with the best window alone, "
            f"{joint.alone_kb:,} KiB; foreread advise says what to type",
            NoteKind.ANSWER,
        )


def _on_counts(
    counts: Counts, devices: Sequence[Curve], total: Curve, doubts: set[str]
) -> Iterator[str]:
    """Yield notes on the windows in force, on the recording, and on requests and pages."""
    yield from _unlike_windows(devices)
    yield from board_default.notes(counts.recording, {device.dev for device in devices})
    yield from (note for note in counts.recording.notes if note not in doubts)
    yield from filter(None, [sizes_note(counts.recording)])
    if counts.subset:
        given = plural(len(total.windows), "given window")
        yield Note(f"the optimum is chosen only from {given}", NoteKind.BASIS)
    best_kb = total.read_ahead_kb[total.windows.index(total.quasi_optimal)]
    for device in counts.recording.capture.devices:
        limit = device.queue.get("max_sectors_kb", "")
        if limit.isdecimal() and 0 < int(limit) < best_kb:
            yield (
                f"{device.name} splits requests above {limit} KiB (max_sectors_kb): "
                f"F counts a window of {best_kb} KiB as one request"
            )


def _unlike_windows(devices: Sequence[Curve]) -> Iterator[Note]:
    """Yield a note if the verdict compares with a window that not every disk has."""
    present = [curve for curve in devices if curve.current_read_ahead_kb is not None]
    if len({curve.current_read_ahead_kb for curve in present}) <= 1:
        return
    each = ", ".join(f"{curve.name} {curve.current_read_ahead_kb} KiB" for curve in present)
    least = MINOR_SHARE * sum(curve.tap for curve in devices)
    weighty = {curve.current_read_ahead_kb for curve in present if curve.tap >= least}
    yield Note(
        f"the disks have different windows now ({each}): the verdict compares with the first",
        NoteKind.ANSWER if len(weighty) > 1 else NoteKind.DETAIL,
    )


def _several_minima(total: Curve) -> str:
    search = f"the exhaustive search found {plural(total.quasi_optimal, 'page')}"
    agreement = "the same" if total.iterated == total.quasi_optimal else f"{total.iterated}"
    return (
        f"C_opt has {total.turning_points} local minima, not one as the paper noted: {search}, "
        f"the turning-point iteration {agreement}"
    )
