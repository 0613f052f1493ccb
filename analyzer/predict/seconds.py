"""Seconds of a start-up by window, with their band: the timed replay of one or more recordings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from msgspec import structs

from analyzer.ingest.interpret import dev_of
from analyzer.ingest.recording import Recording
from analyzer.ingest.tables import Array
from analyzer.predict.bands import SEED, Bands, resampled
from analyzer.predict.basis import Answer, lacking, supported
from analyzer.predict.check_replay import disagreement, replay_findings
from analyzer.predict.checks import Finding, distinct, total_spread
from analyzer.predict.disk.device_model import DeviceModelError
from analyzer.predict.inputs import Inputs
from analyzer.predict.left_out import left_out
from analyzer.predict.prediction import Curve, Prediction, Spent
from analyzer.predict.recorded import of_replay
from analyzer.predict.remedy import calibrate, record_again
from analyzer.predict.settings import INODES, best_settings, settings_of
from analyzer.predict.start import Start, again, prepare
from analyzer.predict.verdict import decide_by_seconds, decide_without_seconds
from boards.base.note import Note, NoteKind
from boards.base.units import kib_to_pages
from emulator.devices.device import DeviceModel
from emulator.linux.rules import Version
from emulator.linux.steps import Timed
from emulator.linux.windows import MAX_WINDOW

MOST_WINDOWS = 64
# In pages: what is replayed of more windows than MOST_WINDOWS.
LADDER = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1023)
# Random draws of each capture: as many as fit into a few seconds, always the same ones.
FEWEST_DRAWS, MOST_DRAWS = 8, 100
WORK = 1_000_000  # steps replayed, over windows and draws
RESAMPLED = 200


@dataclass(frozen=True, eq=False)
class Seconds:
    """The duration of start-ups by window, and its parts.

    ``parts`` (4 × windows of ``bands``) are seconds of computing, waiting, waiting for pages
    that nobody used, and sleeping (Spent), of the median capture. ``again`` compares the recorded
    run with its replay. ``findings`` are those of all captures.
    """

    bands: Bands
    parts: Array
    again: str
    findings: list[Finding]

    @property
    def unusable(self) -> str | None:
        """Why the seconds must not be used; None if they may."""
        reasons = [found.text for found in self.findings if found.unusable]
        return "; ".join(reasons) or None


def with_seconds(
    found: Prediction, taken: Sequence[Inputs], version: Version, device: DeviceModel | None
) -> Prediction:
    """Return a prediction with seconds and the verdict by them, or the verdict "measure".

    ``taken`` are of one or more recordings of the same start; the prediction is of the first.
    """
    recording = taken[0].recording
    for each in taken:
        for why in lacking(each.recording, Answer.SECONDS):
            return without_seconds(found, recording, why, record_again(each.recording))
    try:
        starts = [prepare(each, version, device) for each in taken]
    except DeviceModelError as error:
        if device is not None:
            raise
        return without_seconds(found, recording, str(error), error.remedy)
    current = window_of(found.total.current_read_ahead_kb, found.page_size)
    windows = _replayed(found.total.windows, {0, current, found.total.quasi_optimal})
    candidates = [window for window in windows if window in found.total.windows]
    seconds = predict_seconds(starts, windows, candidates)
    by_disk = device is not None and all(f.of_disk for f in seconds.findings if f.unusable)
    remedy = calibrate(recording, starts[0].disk) if by_disk else record_again(recording)
    several = Note(
        f"seconds: medians over {len(starts)} captures; F and pages: of the first", NoteKind.BASIS
    )
    basis = [*starts[0].notes, *([several] if len(starts) > 1 else [])]
    timed = decided(found, starts[0], seconds, current, basis=basis, remedy=remedy)
    if seconds.unusable:
        return timed
    notes = (*_further_gene(starts, timed, current), *timed.notes)
    return replace(timed, notes=notes, starts=tuple(starts))


def _further_gene(
    starts: Sequence[Start], found: Prediction, current: int | None
) -> Iterator[Note]:
    """Yield a note if another gene saves more than the best window does."""
    settings = settings_of(starts[0], (INODES,))
    best, now = found.total.predicted_best, found.total.seconds_at(current or 0)
    if not settings or best is None or now is None:
        return
    windows = sorted({*LADDER, best, current or 0})
    joint = best_settings(starts, windows, settings)
    if joint.alone_seconds - joint.seconds <= max(now - joint.alone_seconds, 0.0):
        return
    for gene, value in joint.genes.items():
        yield Note(
            f"{gene}={value} saves more than the best window: {joint.seconds:.3f} s with it and "
            f"{joint.read_ahead_kb:,} KiB, {joint.alone_seconds:.3f} s with the best window alone, "
            f"{joint.alone_kb:,} KiB; foreread advise says what to type",
            NoteKind.ANSWER,
        )


def decided(
    found: Prediction,
    start: Start,
    seconds: Seconds,
    current: int | None,
    *,
    basis: Sequence[str],
    remedy: str,
) -> Prediction:
    """Return a prediction with the seconds of a start and the verdict by them.

    If the seconds must not be used, the verdict is "measure", with ``remedy``, the command to type.
    ``current`` is the window in force (pages; None: unknown), ``basis`` what the seconds rest on.
    """
    doubts = tuple(dict.fromkeys((*found.doubts, *(each.text for each in seconds.findings))))
    found = replace(found, disk_cost=start.device.describe(), doubts=doubts)
    if seconds.unusable:
        found = without_seconds(found, start.recording, seconds.unusable, remedy)
        return replace(found, notes=(seconds.again, *found.notes))
    timed = with_curves(found, seconds, start.disk)
    verdict = decide_by_seconds(timed.total, seconds.bands, current)
    verdict = supported(verdict, start.recording)
    return replace(timed, verdict=verdict, notes=(*basis, seconds.again, *found.notes))


def without_seconds(found: Prediction, recording: Recording, why: str, remedy: str) -> Prediction:
    """Return a prediction without seconds: ``why``, and the command that obtains them."""
    verdict = decide_without_seconds(found.total, why, remedy)
    return replace(found, verdict=supported(verdict, recording))


def with_curves(found: Prediction, seconds: Seconds, disk: int) -> Prediction:
    """Return a prediction whose curves of one disk (its dev) and of the total have the seconds."""
    total = _with(found.total, seconds)
    devices = [
        _with(curve, seconds) if dev_of(curve.dev) == disk else curve for curve in found.devices
    ]
    return replace(found, total=total, devices=devices, bands=seconds.bands)


def window_of(kb: int | None, page_size: int) -> int | None:
    """Return a window in pages; None if it is unknown or beyond what is emulated."""
    window = None if kb is None else kib_to_pages(kb, page_size)
    return window if window is not None and window <= MAX_WINDOW else None


def _replayed(windows: Sequence[int], wanted: set[int | None]) -> list[int]:
    """Return the windows to replay: all if they are few, else the ladder; the wanted ones too."""
    few = len(windows) <= MOST_WINDOWS
    chosen = {window for window in windows if few or window in LADDER}
    chosen = chosen or set(windows[:MOST_WINDOWS])
    return sorted(chosen.union(window for window in wanted if window is not None))


def predict_seconds(starts: Sequence[Start], windows: list[int], candidates: list[int]) -> Seconds:
    """Return the seconds of a start-up under ``windows`` (pages, rising).

    0 and ``candidates``, of which one is the best, are among them. Several ``starts`` are taken as
    samples of one. The same input gives the same bands.
    """
    replays = [start.timed(windows) for start in starts]
    each = np.array([[run.total_ns / 1e9 for run in runs] for runs in replays])
    seconds = np.median(each, axis=0)
    rng = np.random.default_rng(SEED)
    drawn = [_draws(start, windows, rng) for start in starts]
    draws = resampled(drawn, rng, RESAMPLED) if len(starts) > 1 else drawn[0]
    middle = replays[int(np.argsort(each[:, 0], kind="stable")[len(each) // 2])]
    findings = distinct(_findings(starts, windows, replays, each))
    beside = left_out(starts[0].device, seconds, float(seconds[windows.index(0)]))
    bands = Bands(windows, seconds, draws, candidates, beside, total_spread(findings))
    recorded = again(starts[0], replays[0][windows.index(0)])
    return Seconds(bands, parts_of(middle), recorded, findings)


def _findings(
    starts: Sequence[Start], windows: list[int], replays: list[list[Timed]], each: Array
) -> Iterator[Finding]:
    """Yield what is found in each capture, in its replays, and between the captures."""
    for start, runs in zip(starts, replays, strict=True):
        yield from start.findings
        yield from replay_of_the_recorded(start, runs[windows.index(0)].total_ns / 1e9)
        yield from replay_findings(start, windows, runs)
    yield from disagreement(starts[0].recording.page_size, windows, each)


def replay_of_the_recorded(start: Start, replayed_s: float) -> Iterator[Finding]:
    """Yield what is found by the replay of the recorded run, on the disk that it ran on.

    ``replayed_s`` are the seconds of the start at a window of 0. Another disk may be given, to
    predict the start on it. The given disk counts as another one if the recorded run contradicts it
    but fits the disk in the capture.
    """
    found = list(of_replay(start.recording, start.recorded_s(replayed_s)))
    if found and start.recorded_on is not None:
        own = replace(start.as_recorded(), device=start.recorded_on).timed([0])[0]
        on_own = list(of_replay(start.recording, own.total_ns / 1e9))
        contradicted = any(one.unusable for one in found)
        if not on_own or (contradicted and not any(one.unusable for one in on_own)):
            yield from on_own
            yield Finding("the start-up was recorded on a disk other than the given one")
            return
    yield from found


def parts_of(runs: Sequence[Timed]) -> Array:
    """Return the parts of the time (Seconds.parts)."""
    columns = [(run.compute_ns, run.waited_ns, run.behind_ns, run.total_ns) for run in runs]
    compute, waited, unused, total = np.array(columns).T / 1e9
    return np.array([compute, waited, unused, np.maximum(total - compute - waited, 0.0)])


def _draws(start: Start, windows: list[int], rng: np.random.Generator) -> Array:
    """Return random draws (× windows) of a capture's seconds."""
    work = max(len(start.run.steps), 1) * len(windows)
    number = min(max(WORK // work, FEWEST_DRAWS), MOST_DRAWS)
    drawn = [[run.total_ns / 1e9 for run in start.timed(windows, rng)] for _ in range(number)]
    return np.array(drawn)


def _with(curve: Curve, seconds: Seconds) -> Curve:
    """Return a curve with the seconds of its windows."""
    bands = seconds.bands

    def column(values: Array) -> list[float | None]:
        known = dict(zip(bands.windows, values.tolist(), strict=True))
        return [known.get(window) for window in curve.windows]

    low, high = bands.band()
    return structs.replace(
        curve,
        seconds=column(bands.seconds),
        seconds_low=column(low),
        seconds_high=column(high),
        predicted_best=bands.best,
        smallest_within=bands.smallest_within(),
        spent=Spent(*(column(part) for part in seconds.parts)),
    )
