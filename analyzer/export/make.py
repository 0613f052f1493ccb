"""Exports a recorded start, and emulated runs of it, to the formats of other tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from foreread.analyzer.error import ArgumentError
from foreread.analyzer.export.chrome import chrome_of
from foreread.analyzer.export.emulated import emulated_events, replayed
from foreread.analyzer.export.events import Exported, Track, file_names, joined
from foreread.analyzer.export.lanes import rows_of
from foreread.analyzer.export.perfetto import perfetto_of
from foreread.analyzer.export.recorded import recorded_events, start_ns
from foreread.analyzer.export.rows import csv_of, parquet_of
from foreread.analyzer.export.tracedat import tracedat_of
from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Table
from foreread.analyzer.predict.disk.device_model import device_from
from foreread.analyzer.predict.inputs import inputs
from foreread.analyzer.predict.kib import all_pages_of
from foreread.analyzer.predict.linux import PREFIX, asked_version
from foreread.analyzer.predict.start import prepare
from foreread.boards.base.document import Document, Encoded, says
from foreread.boards.base.outputs import check_file
from foreread.boards.base.printable import printable
from foreread.boards.base.written import write_whole
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.linux.rules import version_text

Format = Literal["perfetto", "chrome", "parquet", "csv", "trace-dat"]
FORMATS: dict[Format, Callable[[Exported], bytes] | None] = {
    "perfetto": perfetto_of,
    "chrome": chrome_of,
    "parquet": parquet_of,
    "csv": csv_of,
    "trace-dat": None,  # needs the recording's own events
}


class ExportedRun(Encoded, frozen=True, kw_only=True):
    """One run in an exported file."""

    name: str
    read_ahead_kb: Annotated[int | None, says("window in KiB; null if the file does not say")]
    accesses: Annotated[int, says("first touches of pages")]
    requests: int
    unused_pages: Annotated[int, says("pages read and never accessed")]
    waits: Annotated[int, says("times when a thread was off its processor")]


class ExportDocument(Document, frozen=True, kw_only=True):
    """The exported file and its contents: the document of `foreread export --json`."""

    file: str
    format: Format
    runs: Annotated[list[ExportedRun], says("the recorded run, then the emulated ones")]
    notes: list[str]


def export(
    recording: Recording,
    output: StrPath,
    form: Format,
    windows_kib: Sequence[int] = (),
    model: str = PREFIX,
    device_model: DeviceModel | StrPath | None = None,
) -> ExportDocument:
    """Write a recorded start, and its emulated runs, for another tool.

    Args:
        recording: a start, read by :func:`foreread.load`.
        output: the file to write.
        form: "perfetto", "chrome" (trace events as JSON), "parquet", "csv" or "trace-dat".
        windows_kib: window of each emulated run, in KiB.
        model: "linux" (the readahead of the recording's kernel) or "linux-X.Y".
        device_model: what requests of the disk cost in emulated runs, as for ``predict``.

    Raises:
        ArgumentError: an unknown format.
        WindowSizeError: a window that is not whole pages, or too large.
        OutputError: the file cannot be written.
        DeviceModelError: seconds cannot be predicted, so that no run can be emulated in time.
        MissingLibrary: the format needs a package that is not installed.
    """
    if form not in FORMATS:
        raise ArgumentError(f"{form!r} is not a format", f"choose one of {', '.join(FORMATS)}")
    check_file(Path(output), "output")
    exported = exported_runs(recording, windows_kib, model, device_model)
    write = FORMATS[form]
    if write is None:
        content = tracedat_of(exported, recording, start_ns(recording))
    else:
        content = write(exported)
    write_whole(output, content)
    kbs = [recording.recorded_read_ahead_kb, *windows_kib]
    runs = [_summary(exported, run, kb) for run, kb in enumerate(kbs)]
    return ExportDocument(file=str(output), format=form, runs=runs, notes=list(exported.notes))


def exported_runs(
    recording: Recording,
    windows_kib: Sequence[int],
    model: str = PREFIX,
    device_model: DeviceModel | StrPath | None = None,
) -> Exported:
    """Return the events of the recorded run, and of a run emulated under each window."""
    parts = list(recorded_events(recording))
    names, notes = ["recorded run"], list(_missing(parts))
    if windows_kib:
        windows = all_pages_of(windows_kib, recording.page_size)
        version = asked_version(recording, model)
        start = prepare(inputs(recording, version), version, device_from(device_model))
        for run, (kb, window) in enumerate(zip(windows_kib, windows, strict=True), 1):
            parts += emulated_events(run, start, replayed(start, window))
            names.append(f"emulated at {kb} KiB, Linux {version_text(version)}")
        notes += start.notes
    files = recording.files
    return Exported(
        events=joined(parts),
        runs=tuple(names),
        files=file_names(recording.paths, files["dev"], files["ino"]),
        threads=_threads(recording),
        page_size=recording.page_size,
        notes=tuple(printable(note) for note in (*notes, *recording.notes)),
    )


def _missing(parts: Sequence[Table]) -> Iterator[str]:
    """Yield a sentence for each kind of event that the recording lacks."""
    tracks = {int(track) for part in parts if part.rows for track in part["track"][:1]}
    if Track.REQUESTS not in tracks:
        yield "the recording has no block events: no requests are exported of it"
    if Track.WAITING not in tracks:
        yield "the recording has no scheduler events of the command: no waits are exported of it"


def _threads(recording: Recording) -> dict[int, str]:
    capture = recording.capture
    if capture.pid is None or not capture.command:
        return {}
    return {capture.pid: printable(PurePosixPath(capture.command[0]).name)}


def _summary(exported: Exported, run: int, kb: int | None) -> ExportedRun:
    events = exported.events
    rows = {track: rows_of(exported, run, track) for track in Track}
    return ExportedRun(
        name=exported.runs[run],
        read_ahead_kb=kb,
        accesses=len(rows[Track.ACCESSES]),
        requests=len(rows[Track.REQUESTS]),
        unused_pages=int(events["pages"][rows[Track.UNUSED]].sum()),
        waits=len(rows[Track.WAITING]),
    )
