"""The fleet: thousands of captures on this machine or on a Dask cluster, and their report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from foreread.analyzer.error import ArgumentError
from foreread.analyzer.fleet.analyse import BATCH, analyse
from foreread.analyzer.fleet.batch import Batch, Done, run_batch
from foreread.analyzer.fleet.document import FleetAnalysed
from foreread.analyzer.fleet.engines import DaskEngine, Engine, LocalEngine, other_version
from foreread.analyzer.fleet.listing import open_source
from foreread.analyzer.fleet.question import Reader, question_of
from foreread.analyzer.fleet.store import open_store
from foreread.analyzer.ingest.arguments import StrPath
from foreread.boards.base.silent import silent
from foreread.version import VERSION

if TYPE_CHECKING:
    from foreread.analyzer.fleet.report import FleetReportFiles  # which imports matplotlib


def fleet_analyse(
    sources: Sequence[StrPath],
    store: StrPath,
    *,
    dask: str | None = None,
    jobs: int | None = None,
    model: str | None = None,
    device_model: str | None = None,
    batch: int = BATCH,
    reader: Reader | None = None,
    progress: Callable[[int, int], None] = silent,
) -> FleetAnalysed:
    """Predict every capture that a store does not have, and add the rows to the store.

    Args:
        sources: captures, and folders of them: paths, or addresses that fsspec opens.
        store: a folder or an address; it is made if nothing is there.
        dask: address of a Dask scheduler; None: processes of this machine.
        jobs: captures that are analysed at once on this machine; None: one for each processor.
        model: as of :func:`foreread.predict`, for all captures.
        device_model: as of :func:`foreread.predict`: a file, or a board profile.
        batch: captures that one process analyses; their rows are written together.
        reader: reads captures of another format: a function of an importable module that takes a
            path of this machine and returns a Recording. It runs in the batch's process: if it
            crashes, that capture's row has the error, and the next captures go on.
        progress: is called with the numbers of captures added and listed.

    Raises:
        FleetError: a source, the store or the cluster cannot be used.
        ArgumentError, DeviceModelError, ProfileError: arguments that make no sense.
    """
    if jobs is not None and (jobs < 1 or dask is not None):
        raise ArgumentError("jobs are for this machine, at least 1", "leave them out with Dask")
    question = question_of(VERSION, model, device_model, reader)
    addresses = [str(source) for source in sources]
    for address in addresses:  # an error before any work, and before a store is made
        open_source(address)
    with closing(_engine(dask, jobs)) as engine:
        opened = open_store(str(store), create=True)
        return analyse(addresses, opened, question, engine, batch, progress)


def fleet_report(store: StrPath, output: StrPath) -> FleetReportFiles:
    """Write the report of a store into the folder ``output``: index.html, fleet.json, queries.sql.

    Raises FleetError for a place without a store or without captures, OSError if writing fails.
    """
    from foreread.analyzer.fleet.report import write_fleet_report  # noqa: PLC0415  (matplotlib)

    return write_fleet_report(open_store(str(store)), Path(output), VERSION)


def worker_version() -> str:
    """Return the version of foreread of a worker."""
    return VERSION


def work(batch: Batch) -> Done:
    """Analyse a batch on a worker of Dask; its foreread must have the driver's version."""
    if batch.question.version != VERSION:  # it has come after the others were asked
        raise other_version(batch.question.version, VERSION)
    return run_batch(batch)


def _engine(dask: str | None, jobs: int | None) -> Engine:
    if dask is None:
        return LocalEngine(jobs)
    engine = DaskEngine(dask, work)
    try:
        engine.check(worker_version, VERSION)
    except BaseException:
        engine.close()
        raise
    return engine
