"""Sentences about confirmations, for every command that cites one."""

from __future__ import annotations

from analyzer.confirm.sequential import TOO_SMALL, assess
from boards.base.counted import plural
from boards.base.units import percent
from tracer.formats.capture import Capture
from tracer.formats.confirmation import Confirmation
from tracer.formats.scenario import IDLE, beside


def interval_text(low: float, high: float) -> str:
    """Return an interval of the gain in per cent: ``5.8-10.7``."""
    return f"{percent(low)} to {percent(high)}"


def gain_text(of: Confirmation) -> str:
    """Return the result of the runs, as the end of a sentence."""
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
    """Return what the two runs of a pair have, as the beginning of a sentence."""
    text = f"{of.present_kb} -> {of.proposed_kb} KiB"
    if of.change and of.present_kb == of.proposed_kb:
        return f"{of.change}, at {of.present_kb} KiB,"
    return f"{text}, {of.change}," if of.change else text


def cited(of: Confirmation) -> str:
    """Return the line with which other commands cite a result."""
    windows = windows_text(of)
    board = f"on {of.target or 'this machine'} ({board_text(of)}) on {of.date}"
    where = f"{beside(of.scenario).lstrip()} {board}".lstrip()
    word = "measured, too small to matter" if of.outcome == "too small" else of.outcome
    return f"{word} {where}: {windows} {gain_text(of)}, {plural(len(of.pairs), 'pair')} of runs"


def cited_upper(of: Confirmation) -> str:
    """Return the same as a sentence."""
    text = cited(of)
    return f"{text[:1].upper()}{text[1:]}."


def board_text(of: Confirmation) -> str:
    """Return the board's name."""
    return f"{of.model or of.machine}, Linux {of.kernel}"


def stored(capture: Capture | None) -> list[Confirmation]:
    """Return the results about windows whose outcome follows from their runs, the latest last.

    A capture may come from anybody: a result that does not follow from its runs is not cited.
    """
    return [one for one in _followed(capture) if not one.change]


def stored_changes(capture: Capture | None) -> list[Confirmation]:
    """Return the same about other changes than that of a window alone (rows of advice)."""
    return [one for one in _followed(capture) if one.change]


def _followed(capture: Capture | None) -> list[Confirmation]:
    return [one for one in capture.confirmations if _follows(one)] if capture else []


def contradicting(capture: Capture | None, read_ahead_kb: int) -> Confirmation | None:
    """Return the latest result about a window if it contradicts the window on an idle machine."""
    return _contradicting(capture, read_ahead_kb).get(IDLE)


def warnings_of(capture: Capture | None, read_ahead_kb: int | None) -> list[str]:
    """Return a warning for each load beside which results contradict a window."""
    if read_ahead_kb is None:
        return []
    found = _contradicting(capture, read_ahead_kb)
    return [
        f"{beside(scenario).lstrip()}, {read_ahead_kb:,} KiB {gain_text(one)} than "
        f"{one.present_kb:,} KiB: keep {one.present_kb:,} KiB if the board has such a load"
        for scenario, one in found.items()
        if scenario != IDLE
    ]


def _contradicting(capture: Capture | None, read_ahead_kb: int) -> dict[str, Confirmation]:
    """Return by scenario the latest decided result about a window, if it contradicts the window."""
    about = [one for one in stored(capture) if one.proposed_kb == read_ahead_kb]
    latest = {one.scenario: one for one in about if one.outcome != "undecided"}
    return {name: one for name, one in latest.items() if one.outcome == "contradicted"}


def _follows(of: Confirmation) -> bool:
    found = assess(of.pairs, of.made_on)
    said = (of.gain, of.low, of.high)
    close = all(
        one is two or (one is not None and two is not None and abs(one - two) <= 1e-6)
        for one, two in zip((found.gain, found.low, found.high), said, strict=True)
    )
    return close and found.outcome == of.outcome
