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


def fleet_sections(fleet: FleetFigures, plots: Mapping[str, Plot]) -> list[Section]:
    """Return the sections of the page."""
    return [
        Section("answer", fleet_title(fleet), list(_answer(fleet))),
        Section("starts", "Boards and starts", [*_figures(plots, _OF_STARTS), *_starts(fleet)]),
        Section("boards", "Boards", list(_boards(fleet))),
        Section("drift", "Drift over builds", [*_drift(fleet), *_figures(plots, ("drift",))]),
        Section("outliers", "Outliers", list(_outliers(fleet))),
        Section("unconfirmed", "Not confirmed by measurement", list(_unconfirmed(fleet))),
        Section("errors", "Captures that were not analysed", list(_failures(fleet))),
        Section("sql", "Questions in SQL", list(_sql(fleet))),
    ]


_OF_STARTS = ("boards-and-starts", "recommended-windows", "seconds-by-window")


def _figures(plots: Mapping[str, Plot], names: tuple[str, ...]) -> Iterator[Block]:
    yield from (Figure(plots[name]) for name in names if name in plots)


def fleet_title(fleet: FleetFigures) -> str:
    """Return how many starts would be faster with another window."""
    if not fleet.gaining:
        return "No start gains 1 % by another window"
    most = percent(max(start.gain for start in fleet.start_rows if start.gain is not None))
    return f"{plural(fleet.gaining, 'start')} would be faster, by up to {most}"


def _answer(fleet: FleetFigures) -> Iterator[Block]:
    yield Facts(
        [
            ("store", fleet.store),
            ("captures", f"{count(fleet.captures)}, {_failed(fleet.errors)}"),
            ("boards", count(fleet.boards)),
            ("starts on boards", count(fleet.starts)),
            ("saved, each start once", seconds(fleet.saved_seconds)),
            ("analysed by", f"foreread {', '.join(fleet.versions)}"),
        ]
    )
    if doubts := fleet_doubts(fleet):
        yield Bullets(doubts, warning=True)


def fleet_doubts(fleet: FleetFigures) -> list[str]:
    """Return what could make differences between captures meaningless."""
    doubts = []
    if len(fleet.versions) > 1:
        doubts.append(
            "Several versions of foreread analysed these captures: differences between builds may "
            "be differences between versions. Analyse all captures with the newest one."
        )
    if fleet.same_names:
        named = ", ".join(fleet.same_names)
        doubts.append(
            f"Different machines share a name: {named}. They are kept apart by a digest of "
            "machine, CPU and page size."
        )
    return doubts


def _failed(errors: int) -> str:
    return f"{count(errors)} of them with an error" if errors else "all analysed"


def _starts(fleet: FleetFigures) -> Iterator[Block]:
    rows = [_start(start) for start in fleet.start_rows[:_SHOWN]]
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
    most = f"The {_SHOWN} with the largest gains. " if fleet.starts > _SHOWN else ""
    yield Shown(
        columns,
        rows,
        f"{most}Seconds are medians of the captures; "
        "agree: share of the captures that recommend this window.",
    )


def _start(start: FleetStart) -> list[str]:
    return [
        start.board,
        shortened(start.command, _COMMAND),
        count(start.captures),
        kib_text(start.now_kb),
        "–" if start.proposed_kb is None else kib_text(start.proposed_kb),
        percent(start.agreeing),
        seconds(start.seconds_now),
        seconds(start.seconds_proposed),
        percent(start.gain),
    ]


def _boards(fleet: FleetFigures) -> Iterator[Block]:
    rows = [
        [
            board.board,
            board.board_name or "unknown",
            board.machine or "unknown",
            board.cpu_model or "unknown",
            count(board.starts),
            count(board.captures),
        ]
        for board in fleet.board_rows
    ]
    columns = [Column(title, "left") for title in ("board", "name", "machine", "CPU")]
    columns += [Column("starts"), Column("captures")]
    yield Shown(columns, rows, _first(rows, "The boards with the most captures."))


def _first(rows: Sequence[list[str]], which: str) -> str:
    """Return which rows a table has that may have left out some; nothing if it has all."""
    return f"{which} At most {MOST_ROWS} are listed." if len(rows) >= MOST_ROWS else ""


def _drift(fleet: FleetFigures) -> Iterator[Block]:
    if not fleet.builds:
        yield Paragraph("No start has captures of two builds.")
        return
    yield Paragraph(
        "A build is a kernel with the programs and libraries that a start reads. The starts whose "
        "newest build differs most from their oldest one."
    )
    rows = [
        [
            build.board,
            shortened(build.command, _COMMAND),
            build.build,
            build.kernel or "unknown",
            build.first or "unknown",
            count(build.captures),
            seconds(build.seconds),
            "–" if build.requests is None else count(build.requests),
        ]
        for build in fleet.builds
    ]
    left = ("board", "start", "build", "kernel", "first recorded")
    columns = [*(Column(title, "left") for title in left)]
    yield Shown([*columns, Column("captures"), Column("seconds"), Column("requests")], rows)


def _outliers(fleet: FleetFigures) -> Iterator[Block]:
    rule = (
        f"A capture is an outlier if its predicted seconds differ from the median of its start on "
        f"its board by more than three robust standard deviations and by more than "
        f"{percent(APART)}; a start needs {FEWEST} captures for that."
    )
    yield Paragraph(rule if fleet.outliers else f"There is none. {rule}")
    if fleet.outliers:
        rows = [
            [
                outlier.source,
                shortened(outlier.command, _COMMAND),
                seconds(outlier.seconds),
                seconds(outlier.median),
                percent(outlier.seconds / outlier.median - 1, signed=True),
            ]
            for outlier in fleet.outliers
        ]
        head = [Column("capture", "left", is_path=True), Column("start", "left")]
        columns = [*head, Column("seconds"), Column("median"), Column("apart")]
        yield Shown(columns, rows, _first(rows, "The captures that differ most."))


def _unconfirmed(fleet: FleetFigures) -> Iterator[Block]:
    if not fleet.unconfirmed:
        yield Paragraph("Every recommended window is confirmed by a measurement.")
        return
    yield Paragraph(
        "Recommended windows that no capture of their start proves. foreread confirm CAPTURE "
        "--target BOARD measures one, and stores the result in the capture; analyse it again then."
    )
    rows = [
        [
            start.board,
            shortened(start.command, _COMMAND),
            kib_text(start.proposed_kb),
            percent(start.predicted),
            start.outcome,
            percent(start.measured),
            count(start.captures),
        ]
        for start in fleet.unconfirmed
    ]
    columns = [Column("board", "left"), Column("start", "left"), Column("window")]
    columns += [Column("predicted gain"), Column("result", "left"), Column("measured gain")]
    against = frozenset(
        row for row, start in enumerate(fleet.unconfirmed) if start.outcome == "contradicted"
    )
    columns += [Column("captures")]
    most = _first(rows, "Contradicted windows first, then those with the largest predicted gains.")
    yield Shown(columns, rows, most, against)


def _failures(fleet: FleetFigures) -> Iterator[Block]:
    if not fleet.failures:
        yield Paragraph("There is none.")
        return
    rows = [
        [count(failure.captures), failure.error, failure.remedy or "", failure.example]
        for failure in fleet.failures
    ]
    columns = [Column("captures"), Column("error", "left"), Column("remedy", "left")]
    columns += [Column("one of them", "left", is_path=True)]
    yield Shown(columns, rows, _first(rows, "The commonest errors."))


def _sql(fleet: FleetFigures) -> Iterator[Block]:
    yield Paragraph("The store is Parquet; DuckDB reads it. Begin with:")
    yield Code(setup(fleet.store).splitlines())
    for title, query in QUERIES:
        yield Paragraph(f"{title}:")
        yield Code(query.splitlines())
