"""The prediction beside loads: a verdict for each load, and one window for all of them.

Each load is replayed with the start, under the same windows and with the same draws of device and
processor as the start alone. The verdict for all loads is decided by the weighted geometric mean of
their seconds, as a tuning's fitness is (tuner/campaign/weights.py): the mean of the logarithms
compares each load with itself, so that a slow one does not outweigh the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import hypot

import msgspec
import numpy as np

from foreread.analyzer.error import ArgumentError
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.load.client import Load
from foreread.analyzer.load.replayed import unpredicted, with_load
from foreread.analyzer.predict.bands import Bands
from foreread.analyzer.predict.beside import LoadRow, Loads, MemoryNeed
from foreread.analyzer.predict.counts import emulated_window
from foreread.analyzer.predict.kib import emulated_pages
from foreread.analyzer.predict.memory import least_kib, own_kib, pages_of, tight_kib
from foreread.analyzer.predict.prediction import Curve, Prediction, Verdict
from foreread.analyzer.predict.remedy import record_with
from foreread.analyzer.predict.seconds import replayed_bands, seconds_of
from foreread.analyzer.predict.start import Start
from foreread.analyzer.predict.verdict import decide_by_seconds
from foreread.boards.base.note import Note, NoteKind
from foreread.boards.base.units import pages_to_kib, percent_text, size_word
from foreread.emulator.devices.paced import Paced
from foreread.emulator.linux.steps import Timed
from foreread.tracer.formats.scenario import IDLE

MOST_SLOWER = 0.03  # than the reference window, beside any load: such a window is never set
# Standard deviation of measured seconds beside a load from predicted ones, in parts of them, which
# the draws do not contain: the root mean square error on emulated boards (accuracy/loads.md).
LOADED = 0.08
# The same under the kernel's limiter, where microseconds decide who gets how much of a slice's
# budget: three starts beside three loads.
LIMITED = 0.22
# The same for a start that reads pages again, times the root of the share of such pages: which are
# used once more is known only in part, and each that is missed displaces others. Nine of ten errors
# of pages are in its band: 40 of 44 windows of six starts in control groups, each start with the
# figure of the five others, 0.70 to 0.80 (accuracy/memory.md).
AGAIN = 0.75
_RACE = (
    "under the kernel's limiter start and load race for the budget of each slice: the seconds are "
    f"uncertain by {percent_text(LIMITED, 0)}"
)


@dataclass(frozen=True)
class _Beside:
    """The start beside one load; ``bands`` is None where nothing is predicted, ``why`` says why."""

    load: str
    weight: float
    bands: Bands | None
    why: str = ""
    memory_kib: int | None = None
    pages: tuple[int, ...] = ()

    @property
    def counts(self) -> bool:
        return self.bands is not None and self.weight > 0


def with_loads(
    prediction: Prediction, loads: Sequence[Load], weights: Mapping[str, float] | None = None
) -> Prediction:
    """Return a prediction with its verdict for an idle machine and ``loads`` together.

    ``weights``: of loads, by name, that do not count once. Where no seconds decide, or a load
    cannot be predicted, its row says why, and the verdict is about the other rows. Raises
    ArgumentError for the weight of another load.
    """
    own = {load.name: load for load in loads if load.name != IDLE}
    weighed = dict.fromkeys((IDLE, *own), 1.0) | dict(weights or {})
    if strange := [name for name in weighed if name not in (IDLE, *own)]:
        raise ArgumentError(
            f"the weight of {strange[0]!r} concerns no load of this prediction",
            f"weigh some of: {', '.join((IDLE, *own))}",
        )
    first = next(iter(prediction.starts), None)
    notes = [note for load in own.values() for note in _notes(load, first)]
    prediction = replace(prediction, notes=(*prediction.notes, *notes))
    bands = prediction.bands
    if prediction.verdict.by != "seconds" or bands is None or not prediction.starts:
        return replace(prediction, loads=_unpredicted(prediction, weighed))
    reference = emulated_pages(prediction.reference.kb, prediction.page_size)
    windows = sorted({*bands.windows, reference})
    alone = bands if windows == bands.windows else _replayed(prediction, windows, None)
    rows = [_Beside(IDLE, weighed[IDLE], alone)]
    if any(load.memory_kib is not None for load in own.values()):
        rows = [replace(rows[0], pages=_pages(prediction.starts[0].timed(windows)))]
    for name, load in own.items():
        why = unpredicted(prediction.starts[0], load)
        if why:
            rows.append(_Beside(name, weighed[name], None, why, load.memory_kib))
        elif load.memory_kib is not None:
            rows.append(_with_memory(prediction, rows[0], load, weighed[name]))
        else:
            rows.append(_Beside(name, weighed[name], _replayed(prediction, windows, load)))
    return _answered(prediction, rows, windows, reference)


def _notes(load: Load, start: Start | None) -> Iterator[Note]:
    """Yield the notes of a load; of one without an effect they change the answer."""
    kind = NoteKind.BASIS if load.has_effect else NoteKind.ANSWER
    yield from (Note(f"{load.name}: {note}", kind) for note in load.notes)
    if load.clients and start is not None and _is_raced(start, load):
        yield Note(f"{load.name}: {_RACE}", NoteKind.BASIS)


def _is_raced(start: Start, load: Load) -> bool:
    """Return whether a limiter grants start and load the budget of a slice at once."""
    device = start.device
    return isinstance(device, Paced) and device.slice_ns > 0 and load.limited is not False


def _replayed(prediction: Prediction, windows: list[int], load: Load | None) -> Bands:
    """Return the bands of the start beside a load; None: on an idle machine."""
    starts, bands = prediction.starts, prediction.bands
    assert bands is not None
    if load is not None:
        starts = tuple(with_load(start, load) for start in starts)
    _, replayed = replayed_bands(starts, windows, bands.candidates)
    spread = bands.spread
    if load is not None:
        raced = _is_raced(prediction.starts[0], load)
        spread = hypot(spread, LIMITED if raced else LOADED)
    return replace(replayed, spread=spread)


def _unpredicted(prediction: Prediction, weights: Mapping[str, float]) -> Loads:
    """Return rows without seconds, with the reason."""
    why = prediction.verdict.why
    if prediction.verdict.by == "seconds":
        why = "a start from an image is predicted for an idle machine only"
    rows = [LoadRow(load=name, weight=weight, why=why) for name, weight in weights.items()]
    reference, verdict = prediction.reference, prediction.verdict
    return Loads(
        read_ahead_kb=[], reference_kb=reference.kb, idle_kb=verdict.read_ahead_kb, rows=rows
    )


def _answered(
    prediction: Prediction, rows: Sequence[_Beside], windows: list[int], reference: int
) -> Prediction:
    """Return the prediction with its rows, and the verdict about all that count."""
    refused = _refused(rows, windows, reference)
    mean = _mean([row for row in rows if row.counts], set(refused))
    verdict = _weighted(prediction, rows, mean, refused, reference)
    idle, kib = prediction.verdict, _kib(prediction, windows)
    places = [
        windows.index(reference if kb is None else emulated_pages(kb, prediction.page_size))
        for kb in (idle.read_ahead_kb, verdict.read_ahead_kb)
    ]
    loads = Loads(
        read_ahead_kb=kib,
        reference_kb=prediction.reference.kb,
        idle_kb=idle.read_ahead_kb,
        rows=[_row(prediction, row, rows[0], windows.index(reference), *places) for row in rows],
        weighted=mean.seconds.tolist(),
        refused_kb=_kib(prediction, refused),
        need=_need(prediction, rows, windows, [windows.index(reference), *places]),
    )
    return replace(prediction, verdict=verdict, loads=loads)


def _pages(replays: Sequence[Timed]) -> tuple[int, ...]:
    """Return the pages that a start reads, by window."""
    return tuple(map(pages_of, replays))


def _with_memory(prediction: Prediction, idle: _Beside, load: Load, weight: float) -> _Beside:
    """Return the start with little memory; ``idle`` is it with memory to spare.

    Device and processor err in the same proportion in both: the draws are not replayed again.
    """
    bands = idle.bands
    assert bands is not None
    starts = [with_load(start, load) for start in prediction.starts]
    replays = [start.timed(bands.windows) for start in starts]
    pages, seconds = _pages(replays[0]), np.median(seconds_of(replays), axis=0)
    share = np.maximum(1 - np.array(idle.pages) / np.array(pages), 0.0)
    slower = seconds / bands.seconds
    rest = np.hypot(bands.left_out * slower, AGAIN * np.sqrt(share) * seconds)
    little = replace(bands, seconds=seconds, draws=bands.draws * slower, left_out=rest)
    return _Beside(load.name, weight, little, memory_kib=load.memory_kib, pages=pages)


def _need(
    prediction: Prediction, rows: Sequence[_Beside], windows: Sequence[int], places: Sequence[int]
) -> MemoryNeed | None:
    """Return the memory that a start needs, if a row is about memory.

    ``places`` are those of the windows that the answer is about, the verdict's last.
    """
    little = [row for row in rows if row.memory_kib is not None]
    if not little:
        return None
    start = prediction.starts[0]
    again = any(row.pages[at] > rows[0].pages[at] for row in little if row.pages for at in places)
    return MemoryNeed(
        own_kib=own_kib(start),
        files_kib=[pages_to_kib(pages, prediction.page_size) for pages in rows[0].pages],
        least_kib=least_kib(start, windows[places[-1]]),
        record=_later_uses(start) if again else None,
    )


def _later_uses(start: Start) -> str | None:
    """Return the command that records which pages a start uses again; None if that is known.

    Also None where the program's own memory is unknown: how little a recording may have is, too.
    """
    if start.shows_later_uses or own_kib(start) is None:
        return None
    return record_with(start.recording, size_word(tight_kib(start)))


def _kib(prediction: Prediction, windows: Sequence[int]) -> list[int]:
    return [pages_to_kib(window, prediction.page_size) for window in windows]


def _refused(rows: Sequence[_Beside], windows: Sequence[int], reference: int) -> list[int]:
    """Return the windows that are too slow beside a load that counts."""
    most = 1 + MOST_SLOWER
    return [
        window
        for window in windows
        if any(
            row.bands.at(window) > most * row.bands.at(reference)
            for row in rows
            if row.bands is not None and row.counts
        )
    ]


def _mean(rows: Sequence[_Beside], refused: set[int]) -> Bands:
    """Return the weighted geometric mean of the seconds, their draws and their errors.

    Draw n of each load is of the same device and processor, and the errors that no draw contains
    are assumed to be shared by the loads.
    """
    bands = [row.bands for row in rows if row.bands is not None]
    weights = [row.weight for row in rows if row.bands is not None]
    first, draws = bands[0], min(len(each.draws) for each in bands)

    def mean(columns: Sequence[Array]) -> Array:
        return np.asarray(np.exp(np.average(np.log(np.stack(columns)), axis=0, weights=weights)))

    seconds = mean([each.seconds for each in bands])
    shares = [each.left_out / each.seconds for each in bands]
    return Bands(
        first.windows,
        seconds,
        mean([each.draws[:draws] for each in bands]),
        [window for window in first.candidates if window not in refused],
        seconds * np.average(np.stack(shares), axis=0, weights=weights),
        float(np.average([each.spread for each in bands], weights=weights)),
    )


def _weighted(
    prediction: Prediction,
    rows: Sequence[_Beside],
    mean: Bands,
    refused: Sequence[int],
    reference: int,
) -> Verdict:
    """Return the verdict by the weighted mean; refused windows are never set."""
    counted = [row for row in rows if row.counts]
    names = ", ".join(
        row.load if row.weight == 1 else f"{row.load} (weight {row.weight:g})" for row in counted
    )
    if not mean.candidates:
        slower = f"each other window is slower by more than {percent_text(MOST_SLOWER, 0)}"
        kb = prediction.reference.kb
        return Verdict("keep", kb, f"beside one of the loads {slower}: {names}", "seconds")
    verdict = decide_by_seconds(_curve(prediction, mean), mean, _present(prediction))
    means = f"; geometric means over {names}" if len(counted) > 1 else f"; beside {names}"
    slow = _slowest(prediction, counted, mean, refused, reference)
    return msgspec.structs.replace(verdict, why=f"{verdict.why}{means}{slow}")


def _candidates(rows: Sequence[_Beside]) -> list[int]:
    """Return the windows that may be the best, refused ones included: the same for all rows."""
    return next(row.bands.candidates for row in rows if row.bands is not None)


def _slowest(
    prediction: Prediction,
    rows: Sequence[_Beside],
    mean: Bands,
    refused: Sequence[int],
    reference: int,
) -> str:
    """Return why the window that is fastest in the mean is not set; empty if it is."""
    fastest = min(_candidates(rows), key=mean.at)
    if fastest not in refused:
        return ""
    slower = {
        row.load: row.bands.at(fastest) / row.bands.at(reference) - 1
        for row in rows
        if row.bands is not None
    }
    load = max(slower, key=slower.__getitem__)
    kib, beside = _kib(prediction, [fastest, reference]), "" if load == IDLE else "beside "
    return (
        f"; {kib[0]:,} KiB is not set: {beside}{load} it is {percent_text(slower[load])} slower "
        f"than {kib[1]:,} KiB"
    )


def _present(prediction: Prediction) -> int | None:
    return emulated_window(prediction.total.current_read_ahead_kb, prediction.page_size)


def _curve(prediction: Prediction, bands: Bands) -> Curve:
    """Return the total with other seconds."""
    low, high = bands.band()
    columns = (bands.seconds.tolist(), low.tolist(), high.tolist())
    return prediction.total.with_seconds(
        bands.windows, columns, bands.best, bands.smallest_within()
    )


def _row(
    prediction: Prediction, row: _Beside, alone: _Beside, reference: int, idle: int, chosen: int
) -> LoadRow:
    """Return the row of a load; the places are of windows. With less memory nothing is faster."""
    bands = row.bands
    if bands is None:
        return LoadRow(load=row.load, weight=row.weight, why=row.why, memory_kib=row.memory_kib)
    verdict = decide_by_seconds(_curve(prediction, bands), bands, _present(prediction))
    if row.load == IDLE:
        verdict = prediction.verdict
    seconds, (low, high) = bands.seconds, bands.band()
    if row.memory_kib is not None and alone.bands is not None:
        low = np.maximum(low, alone.bands.band()[0])
    now, best = float(seconds[reference]), bands.at(bands.best)
    (best_kb,) = _kib(prediction, [bands.best])
    return LoadRow(
        load=row.load,
        weight=row.weight,
        seconds=seconds.tolist(),
        seconds_low=low.tolist(),
        seconds_high=high.tolist(),
        best_kb=best_kb,
        action=verdict.action,
        read_ahead_kb=verdict.read_ahead_kb,
        why=verdict.why,
        idle_change=float(seconds[idle]) / now - 1,
        idle_regret=(float(seconds[idle]) - best) / now,
        change=float(seconds[chosen]) / now - 1,
        regret=(float(seconds[chosen]) - best) / now,
        memory_kib=row.memory_kib,
        pages=list(row.pages),
    )
