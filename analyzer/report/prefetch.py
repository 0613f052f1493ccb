"""The report's section of the prefetch list: window, list, both and neither side by side."""

from __future__ import annotations

from statistics import median

from foreread.analyzer.prefetch.cases import Case, Comparison
from foreread.analyzer.prefetch.measured import Listed, MeasuredCase, Measurement
from foreread.analyzer.report.blocks import Block, Bullets, Column, Paragraph, Section, Table
from foreread.analyzer.report.wording import count, seconds
from foreread.boards.base.counted import plural
from foreread.boards.base.units import kib_text, size_text

_NAMES = {
    "neither": "as it was",
    "window": "proposed window",
    "list": "list",
    "both": "list and proposed window",
}


def prefetch(listed: Listed | None, command: list[str] | None) -> Section:
    """Return the section; ``command`` is the recorded one."""
    section = Section("prefetch", "Window against prefetch list")
    if listed is None:
        return section
    compared, runs = listed.comparison, listed.measurement
    section.blocks.extend((Paragraph(_list(compared)), _table(compared.cases, runs)))
    section.blocks.extend(_notes(compared, runs, command))
    return section


def _list(compared: Comparison) -> str:
    prefetch_list = compared.found
    listing = prefetch_list.listing
    gaps = (
        f"; it also reads gaps of up to {size_text(prefetch_list.gap_bytes)}, in sum "
        f"{size_text(prefetch_list.wasted_bytes)}"
        if prefetch_list.wasted_bytes
        else ""
    )
    return (
        f"foreread prefetch lists what this start reads: {plural(len(listing.ranges), 'range')} of "
        f"{plural(listing.files, 'file')}, {size_text(listing.size_bytes)}{gaps}. Replayed while "
        "the application starts, the list replaces readahead and needs memory for everything it "
        "reads."
    )


def _table(cases: tuple[Case, ...], runs: Measurement | None) -> Table:
    columns = [Column("", "left", share=2), Column("window"), Column("predicted")]
    if runs is not None:
        columns += [Column("measured"), Column("from"), Column("to")]
    columns += [Column("requests"), Column("memory"), Column("unused")]
    measured: list[MeasuredCase | None] = [*runs.cases] if runs else [None] * len(cases)
    rows = [_row(case, measured_case) for case, measured_case in zip(cases, measured, strict=True)]
    times = [
        case.seconds if measured_case is None else median(measured_case.seconds)
        for case, measured_case in zip(cases, measured, strict=True)
    ]
    known_times = [time for time in times if time is not None]
    best = frozenset({times.index(min(known_times))}) if known_times else frozenset()
    return Table(
        columns,
        rows,
        "Requests, memory (what is read into the page cache) and what of it the start does not "
        "need are predicted, of file data alone.",
        best,
    )


def _row(case: Case, measured_case: MeasuredCase | None) -> list[str]:
    row = [_NAMES[case.name], kib_text(case.read_ahead_kb), seconds(case.seconds)]
    if measured_case is not None:
        middle, least, most = (
            median(measured_case.seconds),
            min(measured_case.seconds),
            max(measured_case.seconds),
        )
        row += [seconds(middle), seconds(least), seconds(most)]
    return [*row, count(case.requests), size_text(case.read_bytes), size_text(case.wasted_bytes)]


def _notes(
    compared: Comparison, runs: Measurement | None, command: list[str] | None
) -> list[Block]:
    notes = list(compared.notes)
    if compared.found.unnamed_bytes:
        unnamed = size_text(compared.found.unnamed_bytes)
        notes.append(f"not in the list, because the files' paths are unknown: {unnamed}")
    if runs is not None:
        notes.append(f"measured: medians of {plural(len(runs.cases[0].seconds), 'cold run')}")
        if command and runs.command and runs.command != command:
            notes.append("measured with a command other than the recorded one")
        pairs = zip(compared.cases, runs.cases, strict=True)
        if any(case.read_ahead_kb != measured_case.read_ahead_kb for case, measured_case in pairs):
            windows = ", ".join(
                kib_text(measured_case.read_ahead_kb) for measured_case in runs.cases
            )
            notes.append(f"measured with other windows: {windows}")
    return [Bullets(notes)] if notes else []
