"""What ``foreread forecast --rules`` prints: what a patch does to each start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from foreread.analyzer.forecast.patch_document import PatchedStart, PatchForecast, PatchLeft
from foreread.analyzer.predict.verdict import KEEP_PERCENT
from foreread.boards.base.counted import plural
from foreread.boards.base.units import percent_text
from foreread.cli.text.answer import answer_text, cut_path
from foreread.cli.text.table import render_cut, seconds_cell

_MORE = "why seconds are missing, all doubts, the window's rule"
_HEAD = ("change", "band", "s", "patched", "requests", "patched", "pages", "patched")
_LEAST_PATH = 28  # columns
_SUFFIX = ".capture.tar.xz"
_DOUBTS = 3


def patch_text(predicted: PatchForecast, *, verbose: bool) -> str:
    """Return the text for a terminal."""
    left = [f"left out: {_named(each.capture, _advised(each))}" for each in predicted.left]
    return answer_text(
        [*_answer(predicted), *left],
        [_table(predicted)] if predicted.starts else [],
        doubts=list(_doubts(predicted, verbose)),
        basis=list(_basis(predicted, verbose)),
        more=f"--verbose ({_MORE})",
        verbose=verbose,
    )


def _answer(predicted: PatchForecast) -> Iterator[str]:
    """Yield how many starts lose and gain, the worst loser, and the rules."""
    starts = predicted.starts
    unpredicted = f", {predicted.unpredicted} without seconds" if predicted.unpredicted else ""
    yield (
        f"patch of Linux {predicted.base}: of {plural(len(starts), 'start')} {predicted.slower} "
        f"slower ({predicted.slower_certain} beyond the band), {predicted.faster} faster "
        f"({predicted.faster_certain}), {predicted.same} the same (within {KEEP_PERCENT} %)"
        f"{unpredicted}"
    )
    if predicted.slower:
        worst = starts[0]
        yield f"  worst loser: {_change(worst)[0]}, {_name(worst)}"
    for rule in predicted.rules:
        yield f"  {rule.rule}: {_value(rule.base)} -> {_value(rule.patched)}"


def _doubts(predicted: PatchForecast, verbose: bool) -> Iterator[str]:
    """Yield the doubts about the seconds, those of the most starts first."""
    of_seconds = [start.doubts for start in predicted.starts if start.change is not None]
    doubts = _shared(of_seconds)
    yield from doubts if verbose else doubts[:_DOUBTS]
    if len(doubts) > _DOUBTS and not verbose:
        yield f"{plural(len(doubts) - _DOUBTS, 'more doubt')}: --verbose"


def _value(value: bool | int | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _table(predicted: PatchForecast) -> str:
    """Return a row for each start, the worst loser first, and their sum."""
    rows = [_row(start) for start in predicted.starts]
    before, after = predicted.before, predicted.after
    share = (after.seconds - before.seconds) / before.seconds if before.seconds else None
    total = (
        "-" if share is None else percent_text(share, signed=True),
        "",
        seconds_cell(before.seconds if before.seconds else None),
        seconds_cell(after.seconds if before.seconds else None),
        *(f"{number:,}" for number in (before.requests, after.requests)),
        *(f"{number:,}" for number in (before.pages, after.pages)),
        "",
        "",
        "all",
    )
    head = (*_HEAD, "KiB", "disk", "start")
    return render_cut(head, [*rows, total], _LEAST_PATH, frozenset({9}), cut_path)


def _row(start: PatchedStart) -> tuple[str, ...]:
    before, after = start.before, start.after
    return (
        *_change(start),
        seconds_cell(before.seconds),
        seconds_cell(after.seconds),
        f"{before.requests:,}",
        f"{after.requests:,}",
        f"{before.pages:,}",
        f"{after.pages:,}",
        f"{before.read_ahead_kb:,}",
        start.disk if start.device_model is None else start.device_model,
        _name(start),
    )


def _name(start: PatchedStart) -> str:
    return start.command if start.capture is None else start.capture.removesuffix(_SUFFIX)


def _change(start: PatchedStart) -> tuple[str, str]:
    """Return the change of the seconds in percent, and half of its band in percent."""
    change, seconds = start.change, start.before.seconds
    if change is None or not seconds:
        return "-", "-"
    half = (change.seconds_high - change.seconds_low) / 2 / seconds
    return percent_text(change.share, signed=True), f"±{percent_text(half)}"


def _basis(predicted: PatchForecast, verbose: bool) -> Iterator[str]:
    if predicted.source:
        yield f"proposed in {predicted.source}"
    yield f"both sides with the default windows of Linux {predicted.base}, or as given"
    if verbose:
        yield from _shared([[f"{s.disk}: {s.window_why}"] for s in predicted.starts])
        for start in predicted.starts:
            if start.why is not None:
                yield f"no seconds: {_named(_name(start), _advised(start))}"


def _advised(of: PatchedStart | PatchLeft) -> str:
    """Return why there is no result, and what to do."""
    return f"{of.why} -- {of.remedy}" if of.remedy else of.why or ""


def _named(name: str, text: str) -> str:
    """Return a text that begins with a name."""
    return text if text.startswith(name) else f"{name}: {text}"


def _shared(texts: list[list[str]]) -> list[str]:
    """Return the texts of the starts, each once, with the number of starts that have it."""
    counted = Counter(text for each in texts for text in each)
    return [f"{text} ({plural(number, 'start')})" for text, number in counted.most_common()]
