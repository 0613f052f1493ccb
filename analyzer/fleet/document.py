"""What ``fleet analyse`` and ``fleet report`` print as JSON."""

from __future__ import annotations

from typing import Annotated

import msgspec

from foreread.boards.base.document import Document, says

Share = Annotated[float | None, says("a part of the seconds with the window now")]


class FleetLeft(msgspec.Struct, frozen=True, kw_only=True):
    """A capture, or a folder of them, that is not in the store."""

    source: Annotated[str, says("its address")]
    why: str


class FleetAnalysed(Document, frozen=True, kw_only=True):
    """What ``fleet analyse`` did. Captures with an error are in the store, too."""

    store: Annotated[str, says("address of the store")]
    listed: Annotated[int, says("captures that the sources have")]
    stored_before: Annotated[int, says("of them, those that the store had")]
    analysed: Annotated[int, says("captures that were added to the store")]
    errors: Annotated[int, says("of the added ones, those whose row has an error")]
    copies: Annotated[int, says("captures with the content of another one, left out")]
    other_files: Annotated[int, says("other files than captures, left out")]
    left: Annotated[int, says("captures and folders that are not in the store; see left_some")]
    left_some: Annotated[list[FleetLeft], says("the first of them")]
    workers: Annotated[int, says("batches that were worked on at once")]
    seconds: Annotated[float, says("wall time")]
    cpu_seconds: Annotated[float, says("processor time of the analysis of the added captures")]


class FleetStart(msgspec.Struct, frozen=True, kw_only=True):
    """One start on one board, over all its captures."""

    board: Annotated[str, says("partition of the board")]
    board_name: str
    machine: str | None
    cpu_model: str | None
    start: Annotated[str, says("partition of the start")]
    command: str
    captures: int
    builds: Annotated[int, says("different kernels, programs and libraries")]
    now_kb: Annotated[int | None, says("the commonest window now, in KiB")]
    proposed_kb: Annotated[int | None, says("the window that most captures recommend, in KiB")]
    agreeing: Annotated[float | None, says("share of the captures with a window that propose it")]
    seconds_now: Annotated[float | None, says("median of the predicted seconds now")]
    seconds_proposed: Annotated[float | None, says("median with the recommended windows")]
    gain: Share
    measure: Annotated[int, says("captures whose seconds cannot be predicted")]
    outliers: int
    drift: Annotated[float | None, says("seconds of the newest build against the oldest one's")]
    confirmed: Annotated[int, says("captures whose proof confirms the recommended window")]
    contradicted: int
    undecided: Annotated[int, says("proofs that are undecided, or of too small a difference")]


class FleetBoard(msgspec.Struct, frozen=True, kw_only=True):
    """One board."""

    board: Annotated[str, says("partition of the board")]
    board_name: str | None
    machine: str | None
    cpu_model: str | None
    starts: int
    captures: int


class FleetWindow(msgspec.Struct, frozen=True, kw_only=True):
    """A window, and how many starts on boards have it."""

    read_ahead_kb: int
    now: Annotated[int, says("starts whose window now it is")]
    proposed: Annotated[int, says("starts that it is recommended for")]


class FleetOutlier(msgspec.Struct, frozen=True, kw_only=True):
    """A capture that differs from the others of its start on its board."""

    source: str
    board: str
    board_name: str
    start: str
    command: str
    seconds: Annotated[float, says("predicted seconds with the window now")]
    median: Annotated[float, says("median over the captures of its start")]


class FleetBuild(msgspec.Struct, frozen=True, kw_only=True):
    """The captures of one build of a start on a board."""

    board: str
    board_name: str
    start: str
    command: str
    build: str
    kernel: str | None
    first: Annotated[str | None, says("when the first one was recorded, UTC")]
    captures: int
    seconds: Annotated[float, says("median of the predicted seconds with the window now")]
    requests: Annotated[float | None, says("median of the requests with the window now")]


class FleetUnconfirmed(msgspec.Struct, frozen=True, kw_only=True):
    """A window with a predicted gain that no measurement confirms."""

    board: str
    board_name: str
    start: str
    command: str
    proposed_kb: int
    predicted: Share
    outcome: Annotated[str, says("contradicted, undecided, too small, or not measured")]
    measured: Share
    captures: int


class FleetFailure(msgspec.Struct, frozen=True, kw_only=True):
    """An error, and how many captures have it."""

    error: str
    remedy: str | None
    captures: int
    example: Annotated[str, says("address of one of them")]


class FleetFigures(Document, frozen=True, kw_only=True):
    """The figures of a fleet's report: fleet.json.

    Lists have the largest gains, outliers, drifts and failures; SQL finds the rest (queries.sql).
    """

    store: str
    captures: Annotated[int, says("captures in the store, each source once")]
    errors: Annotated[int, says("of them, those that were not analysed")]
    boards: int
    starts: Annotated[int, says("starts on boards")]
    versions: Annotated[list[str], says("versions of foreread that analysed them")]
    same_names: Annotated[list[str], says("node names that several different machines have")]
    saved_seconds: Annotated[float | None, says("predicted seconds saved, one start of each")]
    gaining: Annotated[int, says("of them, those that gain more than 1 %")]
    board_rows: Annotated[list[FleetBoard], says("the most captures first")]
    windows: list[FleetWindow]
    start_rows: Annotated[list[FleetStart], says("the largest gains first")]
    outliers: list[FleetOutlier]
    builds: Annotated[list[FleetBuild], says("the starts that drift most first")]
    unconfirmed: list[FleetUnconfirmed]
    failures: Annotated[list[FleetFailure], says("the commonest first")]


class FleetReportDocument(Document, frozen=True, kw_only=True):
    """Paths of the files of a fleet's report."""

    html: str
    json: Annotated[str, says("the figures as numbers")]
    sql: Annotated[str, says("examples for DuckDB")]
