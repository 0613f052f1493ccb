"""Sentences about confirmations, for every command that cites one."""

from __future__ import annotations

from foreread.analyzer.confirm.sequential import TOO_SMALL, assess
from foreread.boards.base.counted import plural
from foreread.boards.base.units import percent
from foreread.tracer.formats.capture import Metadata
from foreread.tracer.formats.confirmation import Confirmation


def interval_text(low: float, high: float) -> str:
    """Return an interval of the gain in per cent: ``5.8-10.7``."""
    return f"{percent(low)} to {percent(high)}"


def gain_text(of: Confirmation) -> str:
    """Return the measured gain, as the end of a sentence."""
    if of.gain is None or of.low is None or of.high is None:
        return f"not known after {plural(len(of.pairs), 'pair')} of runs"
    interval = interval_text(of.low, of.high)
    if of.outcome == "contradicted":
        interval = interval_text(-of.high, -of.low)
        return f"takes {percent(-of.gain)} % longer ({interval})"
    if of.outcome == "too small":
        return f"changes less than {100 * TOO_SMALL:g} % (saves {percent(of.gain)} %, {interval})"
    return f"saves {percent(of.gain)} % ({interval})"


def windows_text(of: Confirmation) -> str:
    """Return the two windows of a pair, as the beginning of a sentence."""
    text = f"{of.present_kb} -> {of.proposed_kb} KiB"
    if of.change and of.present_kb == of.proposed_kb:
        return f"{of.change}, at {of.present_kb} KiB,"
    return f"{text}, {of.change}," if of.change else text


def cited(of: Confirmation) -> str:
    """Return a result as other commands cite it."""
    windows = windows_text(of)
    board = f"on {of.target or 'this machine'} ({board_text(of)}) on {of.date}"
    where = f"{of.conditions.lstrip()} {board}".lstrip()
    word = "measured, too small to matter" if of.outcome == "too small" else of.outcome
    return f"{word} {where}: {windows} {gain_text(of)}, {plural(len(of.pairs), 'pair')} of runs"


def cited_upper(of: Confirmation) -> str:
    """Return the citation with a capital and a full stop."""
    text = cited(of)
    return f"{text[:1].upper()}{text[1:]}."


def board_text(of: Confirmation) -> str:
    """Return the board's model or machine, and its kernel."""
    return f"{of.model or of.machine}, Linux {of.kernel}"


def stored(capture: Metadata) -> list[Confirmation]:
    """Return the results about windows that agree with their runs, the latest last.

    A capture may be hostile: a result that does not agree with its runs is not cited.
    """
    return [result for result in _followed(capture) if not result.change]


def stored_changes(capture: Metadata) -> list[Confirmation]:
    """Return the results about other changes than a window (rows of advice), the latest last."""
    return [result for result in _followed(capture) if result.change]


def _followed(capture: Metadata) -> list[Confirmation]:
    return [result for result in capture.confirmations if _follows(result)]


def contradicting(capture: Metadata, read_ahead_kb: int) -> Confirmation | None:
    """Return the latest result about a window if it contradicts the window on an idle machine."""
    return _contradicting(capture, read_ahead_kb).get("")


def warnings_of(capture: Metadata, read_ahead_kb: int | None) -> list[str]:
    """Return a warning for each load, or memory, with which results contradict a window."""
    if read_ahead_kb is None:
        return []
    return [
        f"{conditions.lstrip()}, {read_ahead_kb:,} KiB {gain_text(result)} than "
        f"{result.present_kb:,} KiB: keep {result.present_kb:,} KiB if the board has "
        f"{'such a load' if result.memory_kib is None else 'no more memory'}"
        for conditions, result in _contradicting(capture, read_ahead_kb).items()
        if conditions
    ]


def _contradicting(capture: Metadata, read_ahead_kb: int) -> dict[str, Confirmation]:
    """Return the latest decided results that contradict a window, by their conditions."""
    about = [result for result in stored(capture) if result.proposed_kb == read_ahead_kb]
    latest = {result.conditions: result for result in about if result.outcome != "undecided"}
    return {name: result for name, result in latest.items() if result.outcome == "contradicted"}


def _follows(of: Confirmation) -> bool:
    assessment = assess(of.pairs, of.made_on)
    stated = (of.gain, of.low, of.high)
    close = all(
        computed is value
        or (computed is not None and value is not None and abs(computed - value) <= 1e-6)
        for computed, value in zip(
            (assessment.gain, assessment.low, assessment.high), stated, strict=True
        )
    )
    return close and assessment.outcome == of.outcome
