"""Offers of windows: one for the whole start, and one for each of two phases."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from functools import partial

from foreread.analyzer.advise.bench import Bench
from foreread.analyzer.advise.document import LaterWindow, RowTrial
from foreread.analyzer.advise.offer import Offer
from foreread.analyzer.advise.phases import (
    around,
    begins_ns,
    boundaries,
    first_uses,
    freeze_ns,
    frozen,
    phased,
)
from foreread.analyzer.advise.situation import Situation, files_of
from foreread.analyzer.advise.variant import Variant, costs
from foreread.analyzer.predict.linux import release_of
from foreread.boards.base.units import kib_to_pages
from foreread.emulator.linux.rules import version_of
from foreread.emulator.linux.windows import MAX_WINDOW

LADDER = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024)  # pages
GENE = "window"
Pair = tuple[int, int]  # windows before and after a boundary
_BOUNDARIES = 7
_WORK = 3_000_000  # steps replayed to search for phases


def windows(situation: Situation) -> dict[int, Offer]:
    """Return an offer for each window (pages) other than the present, which combinations try.

    Beside loads it is the window of the verdict alone: others may be too slow beside one of them.
    """
    prediction = situation.prediction
    at = kib_to_pages(prediction.verdict.read_ahead_kb or 0, prediction.page_size)
    tried = LADDER if prediction.loads is None else ()
    wanted = {window for window in (*tried, at) if window <= MAX_WINDOW} - {situation.now}
    return {window: _window(situation, window) for window in sorted(wanted)}


def proposed(situation: Situation, offers: dict[int, Offer]) -> Offer | None:
    """Return the window that ``predict`` proposes to set; None if it proposes none."""
    verdict = situation.prediction.verdict
    if verdict.action != "set" or verdict.read_ahead_kb is None:
        return None
    return offers.get(kib_to_pages(verdict.read_ahead_kb, situation.prediction.page_size))


def setting(situation: Situation) -> str:
    """Return the command line that sets the window of the verdict."""
    loads = situation.prediction.loads
    words = ["foreread", "script", situation.path, *(loads.words if loads else [])]
    return shlex.join([*words, "-o", "boot-script"])


def _window(situation: Situation, window: int) -> Offer:
    kib = situation.kib(window)
    how = f"foreread sweep --windows {kib} -o sweep.json {shlex.quote(situation.path)}"
    if kib == situation.prediction.verdict.read_ahead_kb:
        how = setting(situation)
    return Offer(
        "window",
        GENE,
        f"readahead window of {kib:,} KiB instead of {situation.kib(situation.now):,} KiB",
        partial(_with_window, window=window),
        (how,),
        "one setting",
        "later reads of large files use it too; the boot script can restore it after the boot",
        trial=RowTrial(read_ahead_kb=kib),
    )


def _with_window(variant: Variant, window: int) -> Variant:
    return variant.with_window(window)


def phases(bench: Bench) -> Iterator[Offer]:
    """Yield the best pair of windows found, one up to the first use of a file and one from then on.

    For each boundary the windows are improved in turn until neither helps. The seconds are those
    with the worst moment for the change around the boundary. Beside loads there is no pair: their
    windows would change, too.
    """
    situation = bench.situation
    if situation.prediction.loads is not None:
        return
    variant = situation.present[0]
    cuts = boundaries(variant, _BOUNDARIES)
    budget = _WORK // bench.steps
    worst_of_best: list[tuple[float, int, int, Pair]] = []
    ladder = [window for window in LADDER if window <= MAX_WINDOW]
    cuts = cuts[: max(budget // (4 * len(ladder)), 1)]
    equal: dict[Pair, float] = {}
    for cut in cuts:
        pair = _improved(variant, cut, ladder, equal)
        moments = around(variant, cut, pair)
        seconds = _seconds(phased(variant, [at], pair) for at in moments)
        worst_of_best.append((*max(zip(seconds, moments, strict=True)), cut, pair))
    if worst_of_best:
        _, worst, cut, (before, after) = min(worst_of_best)
        if before != after:
            yield _phases(situation, cut, worst, before, after)


def _improved(variant: Variant, cut: int, ladder: list[int], equal: dict[Pair, float]) -> Pair:
    """Return the windows of the best pair around one boundary.

    ``equal`` has the seconds of pairs of equal windows, which no boundary changes.
    """
    seconds = dict(equal)
    present = min(variant.window, ladder[-1])
    best = (present, present)
    for which in (0, 1, 0, 1):
        tried = [(window, best[1]) if which == 0 else (best[0], window) for window in ladder]
        new = [pair for pair in dict.fromkeys([best, *tried]) if pair not in seconds]
        seconds |= zip(new, _seconds(phased(variant, [cut], pair) for pair in new), strict=True)
        best = min([best, *tried], key=seconds.__getitem__)
    equal |= {pair: seconds[pair] for pair in seconds if pair[0] == pair[1]}
    return best


def _seconds(variants: Iterable[Variant]) -> list[float]:
    """Return the seconds of variants."""
    return [cost.seconds for cost in costs((variant, None) for variant in variants)]


def _phases(situation: Situation, cut: int, worst: int, before: int, after: int) -> Offer:
    variant = situation.present[0]
    path = _first_used(situation, cut)
    seconds = float(begins_ns(phased(variant, [cut], (before, after)))[cut]) / 1e9
    kib = tuple(situation.kib(window) for window in (before, after))
    where = f"the first use of {path}" if path else f"{seconds:.2f} s"
    knob = "/sys/block/DISK/queue/read_ahead_kb"
    return Offer(
        "phases",
        GENE,
        f"windows in phases: {kib[0]:,} KiB, and {kib[1]:,} KiB from {where} on",
        partial(
            _with_phases,
            path=_first_used(situation, worst),
            cut=worst,
            windows=(before, after),
            freeze=freeze_ns(version_of(release_of(situation.prediction.model))),
        ),
        (
            f"echo {kib[0]} >{knob}",
            f"COMMAND & sleep {seconds:.2f}; echo {kib[1]} >{knob}",
        ),
        "settings during the start",
        "a start that is slower or faster than the recorded one changes the window at another file",
        trial=RowTrial(
            read_ahead_kb=kib[0],
            later=[LaterWindow(round(seconds, 3), kib[1])],
        ),
    )


def _first_used(situation: Situation, cut: int) -> str | None:
    """Return the path of a file that is first used at a step, if there is one."""
    files = (first_uses(situation.present[0]) == cut).nonzero()[0]
    return situation.recording.paths[int(files[0])] if len(files) else None


def _with_phases(
    variant: Variant, path: str | None, cut: int, windows: tuple[int, int], freeze: float
) -> Variant:
    rows = files_of(variant.start.recording, [path] if path else [])
    uses = first_uses(variant)
    begin = int(uses[rows].min()) if rows else min(cut, len(variant.run.steps))
    return frozen(phased(variant, [begin], windows), begin, freeze)
