"""Seconds of a start-up by window, with their band: the timed replay of one or more recordings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.predict.bands import SEED, Bands, left_out, resampled
from foreread.analyzer.predict.counts import Counts
from foreread.analyzer.predict.disk.device_model import DeviceModelError
from foreread.analyzer.predict.inputs import Inputs
from foreread.analyzer.predict.prediction import Columns, Spent
from foreread.analyzer.predict.start import EvidenceError, Start, prepare
from foreread.analyzer.predict.verdict import Missing
from foreread.boards.base.note import Note, NoteKind
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.linux.rules import Version
from foreread.emulator.linux.steps import Timed

MOST_WINDOWS = 64
# In pages: what is replayed of more windows than MOST_WINDOWS.
LADDER = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1023)
# Random draws of each capture: as many as fit into a few seconds, always the same ones.
FEWEST_DRAWS, MOST_DRAWS = 8, 100
WORK = 1_000_000  # steps replayed, over windows and draws
_LOAD_STEPS = 3_000  # of a load's thread, typically, before and during a start
RESAMPLED = 200


@dataclass(frozen=True, eq=False)
class Seconds:
    """The seconds of start-ups by window, as they are replayed.

    ``replays`` are by start and by window of ``bands``, which have the spread of no doubt yet.
    ``present`` is the window in force (pages), None if unknown. ``notes`` are what the seconds rest
    on. ``given_disk``: the cost of the disk was given. ``on_image``: the replays are of an image
    that the starts do not have.
    """

    starts: tuple[Start, ...]
    replays: list[list[Timed]]
    bands: Bands
    present: int | None
    notes: tuple[str, ...]
    given_disk: bool = False
    on_image: bool = False

    @property
    def at_zero(self) -> Timed:
        """The replay of the recorded run: the first start at window 0."""
        return self.replays[0][self.bands.windows.index(0)]

    def columns(self, windows: Sequence[int]) -> Columns:
        """Return the columns of a document by window (pages); the parts are of a median start."""
        bands, (low, high) = self.bands, self.bands.band()
        rows = np.argsort(seconds_of(self.replays)[:, 0], kind="stable")
        middle = self.replays[int(rows[len(rows) // 2])]

        def column(values: Array) -> list[float | None]:
            by_window = dict(zip(bands.windows, values.tolist(), strict=True))
            return [by_window.get(window) for window in windows]

        return Columns(
            seconds=column(bands.seconds),
            low=column(low),
            high=column(high),
            best=bands.best,
            smallest_within=bands.smallest_within(),
            spent=Spent(*map(column, _parts(middle))),
        )


def time_starts(
    recorded: Sequence[Inputs], version: Version, device: DeviceModel | None, counts: Counts
) -> Seconds | Missing:
    """Return the seconds of a start-up, of which there are one or more recordings, by window.

    ``counts`` are of the first recording. ``device`` is learnt from each recording if it is None.
    """
    try:
        starts = tuple(prepare(each, version, device) for each in recorded)
    except EvidenceError as error:
        return Missing(str(error), error.remedy)
    except DeviceModelError as error:
        if device is not None:
            raise
        return Missing(str(error), error.remedy)
    present = counts.present_window
    windows = _replayed(counts.windows, {0, present, counts.quasi_optimal})
    candidates = [window for window in windows if window in counts.windows]
    replays, bands = replayed_bands(starts, windows, candidates)
    several = Note(
        f"seconds: medians over {len(starts)} captures; F and pages: of the first", NoteKind.BASIS
    )
    notes = (*starts[0].notes, *([several] if len(starts) > 1 else []))
    return Seconds(starts, replays, bands, present, notes, given_disk=device is not None)


def replayed_bands(
    starts: Sequence[Start], windows: list[int], candidates: list[int]
) -> tuple[list[list[Timed]], Bands]:
    """Return the replays of starts by window (pages, rising), and the bands of their seconds.

    0 and ``candidates``, of which one is the best, are among the windows. Several ``starts`` are
    samples of one. The same input gives the same bands.
    """
    replays = [start.timed(windows) for start in starts]
    seconds = np.median(seconds_of(replays), axis=0)
    rng = np.random.default_rng(SEED)
    drawn = [_draws(start, windows, rng) for start in starts]
    draws = resampled(drawn, rng, RESAMPLED) if len(starts) > 1 else drawn[0]
    rest = left_out(starts[0].device, seconds, float(seconds[windows.index(0)]))
    return replays, Bands(windows, seconds, draws, candidates, rest)


def seconds_of(replays: Sequence[Sequence[Timed]]) -> Array:
    """Return the seconds of replays, in their rows and columns."""
    return np.array([[run.total_ns / 1e9 for run in runs] for runs in replays])


def _replayed(windows: Sequence[int], wanted: set[int | None]) -> list[int]:
    """Return the windows to replay: all if they are few, else the ladder; the wanted ones too."""
    few = len(windows) <= MOST_WINDOWS
    chosen = {window for window in windows if few or window in LADDER}
    chosen = chosen or set(windows[:MOST_WINDOWS])
    return sorted(chosen.union(window for window in wanted if window is not None))


def _draws(start: Start, windows: list[int], rng: np.random.Generator) -> Array:
    """Return random draws (× windows) of a capture's seconds."""
    number = number_of_draws(start, len(windows))
    return start.drawn_seconds(windows, [rng] * number)


def number_of_draws(start: Start, windows: int) -> int:
    """Return how many random draws are replayed, each under so many windows."""
    steps = len(start.run.steps) + _LOAD_STEPS * len(start.run.repeats)
    work = max(steps, 1) * windows
    return min(max(WORK // work, FEWEST_DRAWS), MOST_DRAWS)


def _parts(runs: Sequence[Timed]) -> Array:
    """Return seconds of computing, waiting, waiting for unused pages, and sleeping, by window."""
    columns = [(run.compute_ns, run.waited_ns, run.behind_ns, run.total_ns) for run in runs]
    compute, waited, unused, total = np.array(columns).T / 1e9
    return np.array([compute, waited, unused, np.maximum(total - compute - waited, 0.0)])
