"""The answer for one disk: the verdict, its effect on each start, and the alternatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from foreread.analyzer.predict.prediction import Prediction, Verdict
from foreread.analyzer.predict.verdict import FEW_PAGES, KEEP_PERCENT
from foreread.analyzer.suite.answer import (
    SuiteDisk,
    SuitePublished,
    SuiteStartAnswer,
    SuiteUnpredicted,
)
from foreread.analyzer.suite.captures import LoadedCase
from foreread.analyzer.suite.joint import Joint, Weighted
from foreread.analyzer.suite.published import Summed
from foreread.boards.base.counted import plural
from foreread.boards.base.units import kib_to_pages, pages_to_kib


@dataclass(frozen=True, eq=False)
class PredictedCase:
    """A start with its prediction, the fixed window's prediction, and the candidates."""

    loaded: LoadedCase
    prediction: Prediction
    fixed: Prediction
    candidates: list[int]

    @property
    def disk(self) -> str | None:
        """The disk with most of its pages; None if the start reads hardly any."""
        devices = self.prediction.devices
        return devices[0].name if devices and self.prediction.total.tap > FEW_PAGES else None

    @property
    def weighted(self) -> Weighted | None:
        """Its seconds with their weight; None without seconds."""
        bands = self.prediction.bands
        if bands is None:
            return None
        now = min(self.window(self.prediction.reference.kb), bands.windows[-1])
        own = replace(bands, candidates=self.candidates)
        return Weighted(self.loaded.weight, own, now)

    def window(self, kib: int) -> int:
        """Return a window in pages."""
        return kib_to_pages(kib, self.prediction.page_size)

    def kib(self, window: int) -> int:
        """Return a window in KiB."""
        return pages_to_kib(window, self.prediction.page_size)


def answer_for_disk(
    disk: str, cases: Sequence[PredictedCase], by_paper: Summed | None, published: bool
) -> SuiteDisk:
    """Return the answer for the starts that read from ``disk``.

    ``by_paper`` is the summed published criterion; it decides if ``published``.
    """
    seconds_of = [(case, weighted) for case in cases if (weighted := case.weighted) is not None]
    unpredicted = [_unpredicted(case) for case in cases if case.weighted is None]
    joint = Joint([weighted for _, weighted in seconds_of]) if seconds_of else None
    kib = cases[0].kib
    verdict, window = _verdict(cases[0], joint, unpredicted)
    if published and by_paper is not None:
        verdict, window = _by_paper(by_paper, kib), by_paper.window
    if joint is not None and window not in joint.windows:
        window = None
    nows = {start.now for start in joint.starts} if joint else set()
    starts = (
        [] if window is None else [_start(case, weighted, window) for case, weighted in seconds_of]
    )
    worst = max(starts, key=lambda start: start.regret, default=None)
    low, high = joint.band(window) if joint and window is not None else (None, None)
    saved, band = joint.saved(window) if joint and window is not None else (None, None)
    return SuiteDisk(
        name=disk,
        verdict=verdict,
        read_ahead_kb_now=kib(nows.pop()) if len(nows) == 1 else None,
        seconds_now=joint.now() if joint else None,
        seconds=joint.at(window) if joint and window is not None else None,
        seconds_low=low,
        seconds_high=high,
        saved=saved,
        saved_band=band,
        confidence=joint.confidence(window, KEEP_PERCENT / 100)
        if joint and window is not None
        else None,
        windows_kb=[kib(replayed) for replayed in joint.windows] if joint else [],
        seconds_by_window=[joint.at(replayed) for replayed in joint.windows] if joint else [],
        best_read_ahead_kb=kib(joint.best) if joint else None,
        seconds_each_its_own=joint.each_its_own() if joint else None,
        worst_start=worst.name if worst and worst.regret > 0 else None,
        least_regret_kb=kib(joint.least_regret()) if joint else None,
        published=_published(by_paper, joint, kib),
        starts=starts,
        unpredicted=unpredicted,
    )


def _verdict(
    case: PredictedCase, joint: Joint | None, unpredicted: Sequence[SuiteUnpredicted]
) -> tuple[Verdict, int | None]:
    """Return the verdict by weighted seconds, and its window (pages)."""
    window = None if joint is None else joint.smallest_within()
    if unpredicted or joint is None or window is None:
        first = unpredicted[0]
        names = ", ".join(start.name for start in unpredicted)
        why = f"no predicted seconds of {names}: {first.why}"
        return Verdict("measure", None, why, remedy=first.remedy), window
    kib, now = case.kib, joint.now()
    chosen = _chosen(joint, window, case)
    windows_now = {start.now for start in joint.starts}
    if windows_now == {window}:
        return Verdict(
            "keep", kib(window), f"the window now is the best: {chosen}", "seconds"
        ), window
    (one_now,) = windows_now if len(windows_now) == 1 else (None,)
    if one_now is None:
        why = f"{chosen}, against {now:.3f} s with the windows now"
        return Verdict("set", kib(window), why, "seconds"), window
    saved, band = joint.slower(one_now, joint.best)
    here = f"{now:.3f} weighted seconds at {kib(one_now):,} KiB now"
    if saved * 100 <= KEEP_PERCENT * now:
        why = f"{here}, and no more than {KEEP_PERCENT} % less at the best: {chosen}"
        return Verdict("keep", kib(one_now), why, "seconds"), one_now
    if saved <= band or joint.at(window) >= now:
        why = f"{here}, which is not distinguishable from the best: {chosen}"
        return Verdict("keep", kib(one_now), why, "seconds"), one_now
    return Verdict("set", kib(window), f"{chosen}, against {here}", "seconds"), window


def _chosen(joint: Joint, window: int, case: PredictedCase) -> str:
    of = plural(len(joint.starts), "start")
    best, kib = joint.best, case.kib
    text = f"{joint.at(window):.3f} weighted seconds of {of} predicted at {kib(window):,} KiB"
    if window == best:
        return f"{text}, the fastest window"
    return (
        f"{text}, the smallest window that is not distinguishable from the best "
        f"({joint.at(best):.3f} s at {kib(best):,} KiB)"
    )


def _by_paper(published: Summed, kib: Callable[[int], int]) -> Verdict:
    why = (
        f"F² + G² = {published.c_opt:,} is the minimum (F = {published.f:,}, G = {published.g:,}), "
        "summed over the starts; the published criterion has no weights and "
        "ignores the speed of the disk"
    )
    return Verdict("set", kib(published.window), why, "criterion")


def _published(
    published: Summed | None, joint: Joint | None, kib: Callable[[int], int]
) -> SuitePublished | None:
    if published is None:
        return None
    replayed = joint is not None and published.window in joint.windows
    return SuitePublished(
        read_ahead_kb=kib(published.window),
        f=published.f,
        g=published.g,
        c_opt=published.c_opt,
        tap=published.tap,
        seconds=joint.at(published.window) if joint and replayed else None,
    )


def _start(case: PredictedCase, weighted: Weighted, window: int) -> SuiteStartAnswer:
    bands, prediction = weighted.bands, case.prediction
    row = bands.windows.index(window)
    low, high = bands.band()
    return SuiteStartAnswer(
        name=case.loaded.name,
        weight=case.loaded.weight,
        captures=len(case.loaded.recordings),
        command=case.loaded.recordings[0].capture.command or [],
        read_ahead_kb_now=case.kib(weighted.now),
        now_is=prediction.reference.name,
        seconds_now=weighted.at(weighted.now),
        read_ahead_kb=case.kib(window),
        seconds=weighted.at(window),
        seconds_low=float(low[row]),
        seconds_high=float(high[row]),
        own_read_ahead_kb=case.kib(bands.best),
        own_seconds=weighted.at(bands.best),
        regret=weighted.regret(window),
        doubts=list(prediction.doubts),
    )


def _unpredicted(case: PredictedCase) -> SuiteUnpredicted:
    verdict = case.prediction.verdict
    return SuiteUnpredicted(name=case.loaded.name, why=verdict.why, remedy=verdict.remedy)
