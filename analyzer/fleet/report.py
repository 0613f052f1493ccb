"""Writes the report of a store: one page, its figures as JSON, and examples of SQL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from foreread.analyzer.fleet.document import FleetFigures
from foreread.analyzer.fleet.figures import figures
from foreread.analyzer.fleet.plots import plots
from foreread.analyzer.fleet.queries import script
from foreread.analyzer.fleet.sections import fleet_sections
from foreread.analyzer.fleet.store import Store
from foreread.analyzer.fleet.tables import tables
from foreread.analyzer.report.page import render
from foreread.analyzer.report.style import drawing
from foreread.boards.base.brief import brief
from foreread.boards.base.counted import plural
from foreread.boards.base.written import write_whole


@dataclass(frozen=True, repr=False)
class FleetReportFiles:
    """The written files, and what they say."""

    __repr__ = brief

    html: Path
    json: Path
    sql: Path
    figures: FleetFigures


def write_fleet_report(store: Store, output: Path, version: str) -> FleetReportFiles:
    """Write the report of a store into a folder, which is made if needed.

    Raises FleetError for a store without captures, or with damaged files; OSError.
    """
    address = store.place.url()
    with tables(store) as database:
        fleet = figures(database, address)
        drawn = plots(database, store.rows_sql(), fleet)
    output.mkdir(parents=True, exist_ok=True)
    html, numbers, sql = (output / name for name in ("index.html", "fleet.json", "queries.sql"))
    where = f"{plural(fleet.boards, 'board')}, {plural(fleet.captures, 'capture')}"
    with drawing():
        page = render(f"foreread fleet: {where}", address, fleet_sections(fleet, drawn), version)
    write_whole(html, page.encode())
    write_whole(numbers, f"{fleet.to_json()}\n".encode())
    write_whole(sql, script(address).encode())
    return FleetReportFiles(html, numbers, sql, fleet)
