"""The prediction for every window: the result that reports, scripts and checks use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from foreread.analyzer.predict.bands import Bands
from foreread.analyzer.predict.beside import Loads
from foreread.boards.base.brief import brief
from foreread.boards.base.document import Document, says
from foreread.boards.base.units import kib_to_pages
from foreread.tracer.formats.confirmation import Confirmation
from foreread.tracer.formats.scenario import IDLE

if TYPE_CHECKING:
    from foreread.analyzer.predict.start import Start

MINOR_SHARE = 0.05

Seconds = Annotated[list[float | None], says("seconds by window; null where not replayed")]


class Spent(msgspec.Struct, frozen=True):
    """The parts of the seconds by window: computing, waiting for the device, asleep.

    ``behind`` is the part of ``waited`` in which the device served pages that nobody used.
    """

    __repr__ = brief

    compute: Seconds
    waited: Seconds
    behind: Seconds
    asleep: Seconds


@dataclass(frozen=True)
class Columns:
    """The seconds of a disk by window, with their band and their parts."""

    seconds: list[float | None]
    low: list[float | None]
    high: list[float | None]
    best: int
    smallest_within: int
    spent: Spent


_NAMES = {"f": "F", "g": "G", "g_formula": "G_formula", "c_opt": "C_opt", "f_fixed": "F_fixed"}


class Curve(msgspec.Struct, frozen=True, rename=_NAMES):
    """One device's (or the total's) figures by window; lists are of one length.

    ``windows`` are in pages (Rws), ``g_formula`` is equation 3 of the 2010 paper, ``g`` the
    pages loaded and never accessed, ``c_opt`` equation 7 (exact integers). ``seconds`` needs a
    device model and is None without one, or for windows that were not replayed;
    ``seconds_low`` and ``seconds_high`` are its band, and ``smallest_within`` is the smallest
    window within the band of the predicted best (docs/explanation/verdict.md).
    ``turning_points`` counts the local minima of C_opt; ``iterated`` is what the paper's
    turning-point iteration finds. ``f``, ``g`` and ``pages`` are of file data; the metadata that
    the recorded run read is added at every window, None if unknown. ``f_fixed`` is F of the fixed
    window, which g_formula and c_opt are computed from.
    """

    __repr__ = brief

    dev: Annotated[str, says("major:minor of the disk; total for all of them")]
    name: Annotated[str, says("name of the disk")]
    tap: Annotated[int, says("distinct pages accessed (Tap)")]
    windows: Annotated[list[int], says("windows in pages (Rws); the other lists have one each")]
    read_ahead_kb: Annotated[list[int], says("the same windows in KiB")]
    f: Annotated[list[int], says("read requests of file data (F)")]
    g: Annotated[list[int], says("pages loaded and never accessed (G)")]
    g_formula: Annotated[list[int], says("G by equation 3 of the 2010 paper: F·(Rws+1) − Tap")]
    pages: Annotated[list[int], says("distinct pages of file data loaded")]
    c_opt: Annotated[list[int], says("F² + G² of the fixed window, equation 7")]
    seconds: Annotated[Seconds | None, says("predicted start-up time in seconds")]
    quasi_optimal: Annotated[int, says("window in pages with the smallest C_opt")]
    predicted_best: Annotated[int | None, says("window in pages with the fewest seconds")]
    iterated: Annotated[int, says("window in pages that the paper's iteration finds")]
    turning_points: Annotated[int, says("local minima of C_opt")]
    pareto: Annotated[list[int], says("windows in pages on the Pareto front of F and G")]
    current_read_ahead_kb: Annotated[
        int | None, says("window in KiB found on the board before the recording")
    ] = None
    default_read_ahead_kb: Annotated[
        int | None, says("window in KiB that the recorded kernel gives the disk by itself")
    ] = None
    seconds_low: Annotated[Seconds | None, says("lower bound of the seconds' band")] = None
    seconds_high: Annotated[Seconds | None, says("upper bound of the seconds' band")] = None
    smallest_within: Annotated[
        int | None, says("smallest window in pages within the band of the predicted best")
    ] = None
    spent: Spent | None = None
    metadata_requests: Annotated[
        int | None, says("metadata requests of the recorded run; the same at every window")
    ] = None
    metadata_pages: Annotated[int | None, says("metadata pages of the recorded run")] = None
    f_fixed: Annotated[list[int] | None, says("F of the fixed window")] = None

    @property
    def known_seconds(self) -> dict[int, float]:
        """The predicted seconds by read_ahead_kb; empty where none were predicted."""
        columns = zip(self.read_ahead_kb, self.seconds or [], strict=self.seconds is not None)
        return {kb: seconds for kb, seconds in columns if seconds is not None}

    def seconds_at(self, window: int) -> float | None:
        """Return the predicted seconds of a window; None where there are none."""
        if self.seconds is None or window not in self.windows:
            return None
        return self.seconds[self.windows.index(window)]

    def with_seconds(
        self,
        windows: Sequence[int],
        columns: tuple[Sequence[float], Sequence[float], Sequence[float]],
        best: int | None,
        smallest_within: int | None = None,
    ) -> Curve:
        """Return the curve with other seconds, as beside a load; their parts are unknown.

        ``columns`` are the seconds and the bounds of their band, by ``windows`` (pages).
        """
        places = {window: place for place, window in enumerate(windows)}
        seconds, low, high = (
            [column[places[window]] if window in places else None for window in self.windows]
            for column in columns
        )
        return msgspec.structs.replace(
            self,
            seconds=seconds,
            seconds_low=low,
            seconds_high=high,
            predicted_best=best,
            smallest_within=smallest_within,
            spent=None,
        )


def worth_setting(devices: Sequence[Curve], total: Curve) -> list[Curve]:
    """Return the disks with at least MINOR_SHARE of the pages."""
    least = max(1, MINOR_SHARE * total.tap)
    return [curve for curve in devices if curve.tap >= least]


@dataclass(frozen=True)
class Reference:
    """A window (KiB) to compare others with; ``name`` is one of the three below."""

    kb: int
    name: str

    @property
    def in_force(self) -> bool:
        """Whether the board had this window."""
        return self.name == IN_FORCE


IN_FORCE = "in force before"
KERNELS_DEFAULT = "kernel's default"
NO_READAHEAD = "no readahead"


class Verdict(msgspec.Struct, frozen=True):
    """The recommendation, its reason and its basis.

    ``set`` and ``keep`` name a window. ``none``: there is nothing to tune. ``measure``: the
    seconds cannot be predicted, so no window is recommended; ``remedy`` is the command to type.
    ``by`` is "seconds" or "criterion" (F² + G²), None if neither decided.
    """

    __repr__ = brief

    action: Literal["set", "keep", "none", "measure"]
    read_ahead_kb: int | None
    why: str
    by: Literal["criterion", "seconds"] | None = None
    remedy: str | None = None


class PredictionDocument(Document, frozen=True, kw_only=True):
    """The prediction for one start: ``predict --json``, and part of a report's figures.

    ``verdict`` is decided by predicted seconds, or by F² + G² with ``--criterion published``;
    ``published`` is always that of F² + G². ``doubts`` widen the band of the seconds. With
    ``--load`` the verdict is about an idle machine and all loads together.
    """

    kernel: Annotated[str | None, says("uname -r of the recorded kernel; null if unknown")]
    page_size: Annotated[int, says("bytes of a page")]
    model: Annotated[str, says("fixed, or linux-X.Y for the readahead of that kernel")]
    recorded_read_ahead_kb: Annotated[int | None, says("window in KiB during the recording")]
    contaminated: Annotated[bool, says("true: recorded with readahead on")]
    devices: Annotated[list[Curve], says("one entry per disk")]
    total: Annotated[Curve, says("all disks together")]
    verdict: Verdict
    published: Verdict
    predicted_regret_quasi_optimal: Annotated[
        float | None,
        says("predicted seconds lost by F² + G², as a part of the default window's seconds"),
    ]
    lost_events: Annotated[int | None, says("lost events, at least; null if none are counted")] = (
        None
    )
    notes: list[str]
    doubts: list[str]
    confirmations: Annotated[
        list[Confirmation] | UnsetType, says("measured proofs stored in the capture")
    ] = UNSET
    scenario: Annotated[str, says("load of the machine for which the prediction holds")] = IDLE
    loads: Annotated[Loads | UnsetType, says("the start beside each --load")] = UNSET


@dataclass(frozen=True)
class Prediction:
    """The answer for one recording.

    ``verdict`` is decided by predicted seconds, ``published`` by the 2010 paper's criterion
    F² + G². ``doubts`` say what makes the verdict less certain; they widen the band of the seconds
    and decide nothing. ``notes`` are about the basis of the figures, ``criterion_notes`` about the
    published criterion and the columns. ``disk_cost`` is the cost of the disk's requests in words,
    None if no seconds were replayed. ``bands`` are the errors of the seconds, None without seconds.
    ``starts`` are the recordings as they were replayed, none without seconds. ``loads`` is the
    start beside loads, which the verdict is about, too; None: the verdict is about an idle machine.
    """

    kernel: str | None
    page_size: int
    model: str
    recorded_read_ahead_kb: int | None
    contaminated: bool
    devices: list[Curve]
    total: Curve
    verdict: Verdict
    published: Verdict
    lost_events: int | None = 0
    notes: tuple[str, ...] = field(default=())
    doubts: tuple[str, ...] = field(default=())
    criterion_notes: tuple[str, ...] = field(default=())
    disk_cost: str | None = None
    bands: Bands | None = field(default=None, compare=False, repr=False)
    starts: tuple[Start, ...] = field(default=(), compare=False, repr=False)
    loads: Loads | None = None

    @property
    def beside(self) -> tuple[str, ...]:
        """The loads that the verdict is about, beside an idle machine."""
        return () if self.loads is None else tuple(self.loads.beside)

    @property
    def under_load(self) -> dict[str, dict[int, float]]:
        """The predicted seconds by read_ahead_kb, beside each load that is predicted."""
        rows = self.loads.rows if self.loads else []
        return {
            row.load: self.loads.seconds_of(row.load)
            for row in rows
            if self.loads and row.predicted and row.load != IDLE
        }

    @property
    def ordered_notes(self) -> tuple[str, ...]:
        """Notes by what they change for the reader: the published criterion's properties last."""
        return (*self.notes, *self.criterion_notes)

    @property
    def worth_setting(self) -> list[Curve]:
        """The disks with at least MINOR_SHARE of the pages; the others are ignored."""
        return worth_setting(self.devices, self.total)

    def by_criterion(self) -> Prediction:
        """Return the prediction with the published criterion's verdict."""
        return replace(self, verdict=self.published)

    @property
    def reference(self) -> Reference:
        """The window that others are compared with: never one that is only assumed.

        It is the window found on the board, else the default of its kernel for the disk; if
        both are unknown, no readahead.
        """
        curves = [self.total, *sorted(self.devices, key=lambda curve: -curve.tap)]
        for kbs, name in (
            ([curve.current_read_ahead_kb for curve in curves], IN_FORCE),
            ([curve.default_read_ahead_kb for curve in curves], KERNELS_DEFAULT),
        ):
            known = [kb for kb in kbs if kb is not None]
            if known:
                return Reference(known[0], name)
        return Reference(0, NO_READAHEAD)

    def window_for(self, curve: Curve) -> int | None:
        """Return the window (pages) of one of several disks, on the basis of the verdict.

        None if the basis is seconds and this disk has none.
        """
        if self.verdict.by == "criterion":
            return curve.quasi_optimal
        return curve.predicted_best if curve.smallest_within is None else curve.smallest_within

    @property
    def regret_quasi_optimal(self) -> float | None:
        """The predicted regret of the published criterion: a part of the reference's seconds."""
        total = self.total
        default = total.seconds_at(kib_to_pages(self.reference.kb, self.page_size))
        quasi = total.seconds_at(total.quasi_optimal)
        best = None if total.predicted_best is None else total.seconds_at(total.predicted_best)
        return None if not default or quasi is None or best is None else (quasi - best) / default

    def document(self, confirmations: list[Confirmation] | UnsetType = UNSET) -> PredictionDocument:
        """Return the ``predict --json`` document."""
        return PredictionDocument(
            kernel=self.kernel,
            page_size=self.page_size,
            model=self.model,
            recorded_read_ahead_kb=self.recorded_read_ahead_kb,
            contaminated=self.contaminated,
            devices=self.devices,
            total=self.total,
            verdict=self.verdict,
            published=self.published,
            predicted_regret_quasi_optimal=self.regret_quasi_optimal,
            lost_events=self.lost_events,
            notes=list(self.ordered_notes),
            doubts=list(self.doubts),
            confirmations=confirmations,
            scenario=IDLE if self.loads is None else ", ".join(self.loads.names) or IDLE,
            loads=UNSET if self.loads is None else self.loads,
        )

    def to_json(self) -> str:
        """Return the ``predict --json`` document as JSON, without confirmations."""
        return self.document().to_json()
