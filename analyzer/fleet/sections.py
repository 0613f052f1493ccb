"""The sections of a fleet's report: what to set, what it saves, and what to look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from foreread.analyzer.fleet.document import FleetFigures, FleetStart
from foreread.analyzer.fleet.figures import MOST_ROWS
from foreread.analyzer.fleet.queries import QUERIES, setup
from foreread.analyzer.fleet.tables import APART, FEWEST
from foreread.analyzer.report.blocks import (
    Block,
    Bullets,
    Code,
    Column,
    Facts,
    Figure,
    Paragraph,
    Section,
)
from foreread.analyzer.report.blocks import Table as Shown
from foreread.analyzer.report.plots import Plot
from foreread.analyzer.report.wording import count, percent, seconds, shortened
from foreread.boards.base.counted import plural
from foreread.boards.base.units import kib_text

_COMMAND = 60  # characters
_SHOWN = 60  # rows of a table; fleet.json has more


def fleet_sections(found: FleetFigures, plots: Mapping[str, Plot]) -> list[Section]:
    """Return the sections of the page."""
    return [
        Section("answer", fleet_title(found), list(_answer(found))),
        Section("starts", "Boards and starts", [*_figures(plots, _OF_STARTS), *_starts(found)]),
        Section("boards", "Boards", list(_boards(found))),
        Section("drift", "Drift over builds", [*_drift(found), *_figures(plots, ("drift",))]),
        Section("outliers", "Outliers", list(_outliers(found))),
        Section("unconfirmed", "Not confirmed by measurement", list(_unconfirmed(found))),
        Section("errors", "Captures that were not analysed", list(_failures(found))),
        Section("sql", "Questions in SQL", list(_sql(found))),
    ]


_OF_STARTS = ("boards-and-starts", "recommended-windows", "seconds-by-window")


def _figures(plots: Mapping[str, Plot], names: tuple[str, ...]) -> Iterator[Block]:
    yield from (Figure(plots[name]) for name in names if name in plots)


def fleet_title(found: FleetFigures) -> str:
    """Return how many starts would be faster with another window."""
    if not found.gaining:
        return "No start gains 1 % by another window"
    most = percent(max(one.gain for one in found.start_rows if one.gain is not None))
    return f"{plural(found.gaining, 'start')} would be faster, by up to {most}"


def _answer(found: FleetFigures) -> Iterator[Block]:
    yield Facts(
        [
            ("store", found.store),
            ("captures", f"{count(found.captures)}, {_failed(found.errors)}"),
            ("boards", count(found.boards)),
            ("starts on boards", count(found.starts)),
            ("saved, each start once", seconds(found.saved_seconds)),
            ("analysed by", f"foreread {', '.join(found.versions)}"),
        ]
    )
    if doubts := fleet_doubts(found):
        yield Bullets(doubts, warning=True)


def fleet_doubts(found: FleetFigures) -> list[str]:
    """Return what could make differences between captures meaningless."""
    doubts = []
    if len(found.versions) > 1:
        doubts.append(
            "Several versions of foreread analysed these captures: differences between builds may "
            "be differences between versions. Analyse all captures with the newest one."
        )
    if found.same_names:
        named = ", ".join(found.same_names)
        doubts.append(
            f"Different machines share a name: {named}. They are kept apart by a digest of "
            "machine, CPU and page size."
        )
    return doubts


def _failed(errors: int) -> str:
    return f"{count(errors)} of them with an error" if errors else "all analysed"


def _starts(found: FleetFigures) -> Iterator[Block]:
    rows = [_start(one) for one in found.start_rows[:_SHOWN]]
    columns = [
        Column("board", "left"),
        Column("start", "left", 2.0),
        Column("captures"),
        Column("now"),
        Column("recommended"),
        Column("agree"),
        Column("seconds now"),
        Column("then"),
        Column("gain"),
    ]
    most = f"The {_SHOWN} with the largest gains. " if found.starts > _SHOWN else ""
    yield Shown(
        columns,
        rows,
        f"{most}Seconds are medians of the captures; "
        "agree: share of the captures that recommend this window.",
    )


def _start(one: FleetStart) -> list[str]:
    return [
        one.board,
        shortened(one.command, _COMMAND),
        count(one.captures),
        kib_text(one.now_kb),
        "–" if one.proposed_kb is None else kib_text(one.proposed_kb),
        percent(one.agreeing),
        seconds(one.seconds_now),
        seconds(one.seconds_proposed),
        percent(one.gain),
    ]


def _boards(found: FleetFigures) -> Iterator[Block]:
    rows = [
        [
            one.board,
            one.board_name or "unknown",
            one.machine or "unknown",
            one.cpu_model or "unknown",
            count(one.starts),
            count(one.captures),
        ]
        for one in found.board_rows
    ]
    columns = [Column(title, "left") for title in ("board", "name", "machine", "CPU")]
    columns += [Column("starts"), Column("captures")]
    yield Shown(columns, rows, _first(rows, "The boards with the most captures."))


def _first(rows: Sequence[list[str]], which: str) -> str:
    """Return which rows a table has that may have left out some; nothing if it has all."""
    return f"{which} At most {MOST_ROWS} are listed." if len(rows) >= MOST_ROWS else ""


def _drift(found: FleetFigures) -> Iterator[Block]:
    if not found.builds:
        yield Paragraph("No start has captures of two builds.")
        return
    yield Paragraph(
        "A build is a kernel with the programs and libraries that a start reads. The starts whose "
        "newest build differs most from their oldest one."
    )
    rows = [
        [
            one.board,
            shortened(one.command, _COMMAND),
            one.build,
            one.kernel or "unknown",
            one.first or "unknown",
            count(one.captures),
            seconds(one.seconds),
            "–" if one.requests is None else count(one.requests),
        ]
        for one in found.builds
    ]
    left = ("board", "start", "build", "kernel", "first recorded")
    columns = [*(Column(title, "left") for title in left)]
    yield Shown([*columns, Column("captures"), Column("seconds"), Column("requests")], rows)


def _outliers(found: FleetFigures) -> Iterator[Block]:
    rule = (
        f"A capture is an outlier if its predicted seconds differ from the median of its start on "
        f"its board by more than three robust standard deviations and by more than "
        f"{percent(APART)}; a start needs {FEWEST} captures for that."
    )
    yield Paragraph(rule if found.outliers else f"There is none. {rule}")
    if found.outliers:
        rows = [
            [
                one.source,
                shortened(one.command, _COMMAND),
                seconds(one.seconds),
                seconds(one.median),
                percent(one.seconds / one.median - 1, signed=True),
            ]
            for one in found.outliers
        ]
        head = [Column("capture", "left", is_path=True), Column("start", "left")]
        columns = [*head, Column("seconds"), Column("median"), Column("apart")]
        yield Shown(columns, rows, _first(rows, "The captures that differ most."))


def _unconfirmed(found: FleetFigures) -> Iterator[Block]:
    if not found.unconfirmed:
        yield Paragraph("Every recommended window is confirmed by a measurement.")
        return
    yield Paragraph(
        "Recommended windows that no capture of their start proves. foreread confirm CAPTURE "
        "--target BOARD measures one, and stores the result in the capture; analyse it again then."
    )
    rows = [
        [
            one.board,
            shortened(one.command, _COMMAND),
            kib_text(one.proposed_kb),
            percent(one.predicted),
            one.outcome,
            percent(one.measured),
            count(one.captures),
        ]
        for one in found.unconfirmed
    ]
    columns = [Column("board", "left"), Column("start", "left"), Column("window")]
    columns += [Column("predicted gain"), Column("result", "left"), Column("measured gain")]
    against = frozenset(
        row for row, one in enumerate(found.unconfirmed) if one.outcome == "contradicted"
    )
    columns += [Column("captures")]
    most = _first(rows, "Contradicted windows first, then those with the largest predicted gains.")
    yield Shown(columns, rows, most, against)


def _failures(found: FleetFigures) -> Iterator[Block]:
    if not found.failures:
        yield Paragraph("There is none.")
        return
    rows = [
        [count(one.captures), one.error, one.remedy or "", one.example] for one in found.failures
    ]
    columns = [Column("captures"), Column("error", "left"), Column("remedy", "left")]
    columns += [Column("one of them", "left", is_path=True)]
    yield Shown(columns, rows, _first(rows, "The commonest errors."))


def _sql(found: FleetFigures) -> Iterator[Block]:
    yield Paragraph("The store is Parquet; DuckDB reads it. Begin with:")
    yield Code(setup(found.store).splitlines())
    for title, query in QUERIES:
        yield Paragraph(f"{title}:")
        yield Code(query.splitlines())
