"""A start as it is now, with everything that offers are made from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from foreread.analyzer.advise.again import DROPPED, Again, read_again, with_second_reads
from foreread.analyzer.advise.variant import Variant, variant_of
from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.predict.kib import emulated_pages
from foreread.analyzer.predict.linux import PREFIX, predict_linux
from foreread.analyzer.predict.prediction import Prediction, Verdict
from foreread.analyzer.predict.start import starts_of
from foreread.analyzer.prefetch.ranges import cheapest_gap
from foreread.boards.base.units import pages_to_kib
from foreread.emulator.devices.device import DeviceModel


class AdviceError(AnalyzerError, ValueError):
    """No advice can be given; ``remedy`` says what to do."""


@dataclass(frozen=True, eq=False)
class Situation:
    """Recordings of one start, at the window in force (``now``, pages).

    ``present`` are their replays, with the pages that were read again; ``first`` those without.
    Gaps of up to ``gap`` pages are cheaper to read than to skip. ``root`` has the board's files;
    None if they are not at hand. ``source`` is a file of the application's source, if given.
    """

    prediction: Prediction
    present: tuple[Variant, ...]
    first: tuple[Variant, ...]
    again: Again
    now: int
    gap: int
    root: Path | None = None
    source: Path | None = None

    @property
    def recording(self) -> Recording:
        """The first recording, which tables and paths are of."""
        return self.present[0].start.recording

    @property
    def path(self) -> str:
        """The file of the first recording, as a word of a command."""
        return self.recording.path or "CAPTURE"

    @cached_property
    def requests(self) -> Array:
        """How many requests read each file (by row) at present."""
        variant = self.present[0]
        timed, _ = variant.timed()
        steps, program = variant.run.steps, variant.run.program
        executes = steps["operation"] >= 0
        file = program.file_of_operations()[steps["operation"][executes]]
        requests = timed.work[executes, 0]
        by_file = np.bincount(file[file >= 0], requests[file >= 0], len(program.files))
        return by_file.astype(np.int64)

    def kib(self, window: int) -> int:
        """Return a window in KiB."""
        return pages_to_kib(window, self.prediction.page_size)


def situation_of(
    recordings: Sequence[Recording],
    device: DeviceModel | None = None,
    model: str = PREFIX,
    root: Path | None = None,
    prediction: Prediction | None = None,
    source: Path | None = None,
) -> Situation:
    """Return the situation of recordings of one start; ``prediction`` is theirs, made if None.

    Raises AdviceError if its seconds cannot be predicted, and what ``predict`` raises.
    """
    first, *more = recordings
    prediction = prediction or predict_linux(first, model, device=device, more=more)
    if prediction.total.seconds is None:
        raise _refusal(first, prediction.verdict)
    now = emulated_pages(prediction.reference.kb, prediction.page_size)
    untouched, present = [], []
    again = [read_again(recording) for recording in recordings]
    for start, own in zip(starts_of(prediction, recordings, device), again, strict=True):
        variant = variant_of(start, now)
        untouched.append(variant)
        present.append(with_second_reads(variant, start.times, own))
    gap = cheapest_gap(present[0].start.device, prediction.page_size) // prediction.page_size
    return Situation(prediction, tuple(present), tuple(untouched), again[0], now, gap, root, source)


def _refusal(recording: Recording, verdict: Verdict) -> AdviceError:
    """Return why there is no advice; second reads, which the replay lacks, may be the cause."""
    again = read_again(recording)
    why = f"no advice without seconds: {verdict.why}"
    if len(again.reads):
        why += f"; the start reads {again.named(recording)} a second time: {DROPPED}"
    return AdviceError(why, verdict.remedy or "")


def files_of(recording: Recording, paths: Iterable[str]) -> list[int]:
    """Return the rows of files that have one of ``paths``."""
    wanted = set(paths)
    return [row for row, path in enumerate(recording.paths) if path in wanted]
