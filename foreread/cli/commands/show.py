"""``foreread show``: what is inside a capture, or the result of a tuning."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

import numpy as np

from foreread.analyzer.ingest.accesses import of_threads
from foreread.analyzer.ingest.load import load_any
from foreread.analyzer.ingest.losses import losses_text, lost_by_cpu, lost_events
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Kind, Rwbs
from foreread.analyzer.load.document import ShownLoad, shown
from foreread.analyzer.load.recorded import seen_load
from foreread.analyzer.predict.disk.probed import probe_text
from foreread.analyzer.predict.kib import emulated_pages
from foreread.analyzer.predict.prediction import NO_READAHEAD
from foreread.analyzer.predict.waste import Waste, waste
from foreread.analyzer.predict.window import predict
from foreread.analyzer.tuner.findings.results import read_results
from foreread.analyzer.tuner.store.store_file import is_store
from foreread.boards.base.counted import plural
from foreread.boards.base.printable import printable
from foreread.boards.base.units import KIB, pages_to_kib
from foreread.cli.arguments import UsageError
from foreread.cli.arguments.capture import add_capture
from foreread.cli.arguments.verbose import add_verbose
from foreread.cli.text.answer import answer_text, columns, cut, cut_path
from foreread.cli.text.load import load_table
from foreread.cli.text.table import render, render_cut
from foreread.cli.text.tuning import outcome_text
from foreread.cli.text.wording import ended_text
from foreread.documents.show import ShowDocument, ShownFile, Slice
from foreread.tracer.formats.capture import dev_text
from foreread.tracer.formats.scenario import IDLE

_TIMELINE_BINS = 20
_FILES, _MORE_FILES = 8, 20
_LEAST_PATH = 20  # columns
_MORE = "the events, the sizes of reads, when pages were accessed, and all notes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser, metavar="CAPTURE|TUNING")
    parser.add_argument(
        "--files",
        type=int,
        metavar="N",
        help=f"number of files to list (default: {_FILES}, with --verbose {_MORE_FILES})",
    )
    parser.add_argument(
        "--by",
        choices=("accessed", "wasted"),
        default="accessed",
        help="sort the files by pages accessed, or by unused pages that a fixed window of the "
        "current size reads",
    )
    add_verbose(parser, _MORE)


def run(args: argparse.Namespace) -> int:
    """Print the summary."""
    if is_store(args.capture):
        results = read_results(args.capture)
        print(results.to_json() if args.json else outcome_text(results, verbose=args.verbose))
        return 0
    recording = load_any(args.capture, args.pids, page_size=args.page_size, inodes=args.inodes)
    at_window = _waste(recording)
    if args.by == "wasted" and at_window is None:
        raise UsageError(
            f"{args.capture} does not say which window the disk has: remove --by wasted"
        )
    if args.json:
        print(document(recording, at_window).to_json())
    else:
        print(_text(recording, at_window, args))
    return 0


def document(recording: Recording, at_window: Waste | None) -> ShowDocument:
    """Return the document; without a known window it has no figures of a window."""
    capture, probe, trace = recording.capture, recording.probe, recording.trace
    return ShowDocument(
        format=trace.format,
        kernel=recording.kernel,
        page_size=recording.page_size,
        page_size_assumed=trace.page_size_assumed,
        recorded_read_ahead_kb=recording.recorded_read_ahead_kb,
        contaminated=recording.contaminated,
        command=capture.command,
        exit_status=capture.exit_status,
        ended_by=capture.ended_by,
        wall_seconds=capture.wall_seconds,
        backend=capture.backend,
        cold=capture.cold.proven if capture.cold else None,
        resident_pages=capture.cold.resident_pages if capture.cold else None,
        events=event_counts(recording),
        lost=lost_by_cpu(recording),
        lost_events=lost_events(recording),
        accesses=recording.accesses.rows,
        not_accesses=recording.counts,
        window=None if at_window is None else at_window.window,
        files=[_file_of(recording, row, at_window) for row in _order(recording)],
        disk=probe_text(probe) if probe else None,
        requests_by_sectors=request_sizes(recording),
        timeline=timeline(recording),
        scenario=capture.scenario,
        load=None if recording.load_requests is None else shown(seen_load(recording)),
        notes=[*recording.notes, *capture.notes],
    )


def event_counts(recording: Recording) -> dict[str, int]:
    """Return how many events of each kind were decoded."""
    counts = np.bincount(recording.trace.events["kind"], minlength=max(Kind) + 1)
    return {kind.name.lower(): int(counts[kind]) for kind in Kind if counts[kind]}


def _waste(recording: Recording) -> Waste | None:
    """Return the unused pages of a fixed window of the size found on the board.

    If that is unknown: of the kernel's default for the disk; None if both are, and for a load.
    """
    if recording.capture.is_load:
        return None
    reference = predict(recording).reference
    if reference.name == NO_READAHEAD:
        return None
    return waste(recording, emulated_pages(reference.kb, recording.page_size))


def _order(recording: Recording, wasted: Array | None = None) -> list[int]:
    """Return the rows of ``files``, those with most pages (accessed or wasted) first."""
    pages = recording.files["accessed"].astype(np.int64) if wasted is None else wasted
    rows: list[int] = np.argsort(-pages, kind="stable").tolist()
    return rows


def _file_of(recording: Recording, row: int, at_window: Waste | None) -> ShownFile:
    files = recording.files
    return ShownFile(
        dev=dev_text(int(files["dev"][row])),
        ino=int(files["ino"][row]),
        path=recording.paths[row],
        size_bytes=int(files["size_bytes"][row]),
        pages_accessed=int(files["accessed"][row]),
        requests=None if at_window is None else int(at_window.requests[row]),
        pages_wasted=None if at_window is None else int(at_window.wasted[row]),
    )


def request_sizes(recording: Recording) -> dict[int, int]:
    """Return how many read requests the application's threads issued, by length in sectors."""
    requests = recording.requests
    if recording.threads is not None:
        requests = requests.take(of_threads(requests, recording.threads))
    reads = (requests["flags"] & Rwbs.READ) != 0
    sizes, counts = np.unique(requests["sectors"][reads], return_counts=True)
    return dict(zip(sizes.tolist(), counts.tolist(), strict=True))


def timeline(recording: Recording) -> list[Slice]:
    """Return pages accessed in equal slices of the run: start (s) and pages."""
    time = recording.accesses["time_ns"]
    if not len(time):
        return []
    start, end = recording.capture.span_ns or (int(time[0]), int(time[-1]))
    seconds = (time.astype(np.float64) - start) / 1e9
    pages, edges = np.histogram(seconds, _TIMELINE_BINS, (0.0, max((end - start) / 1e9, 1e-9)))
    return [Slice(float(edge), int(n)) for edge, n in zip(edges[:-1], pages, strict=True)]


def _text(recording: Recording, at_window: Waste | None, args: argparse.Namespace) -> str:
    summary, verbose = document(recording, at_window), args.verbose
    number = args.files if args.files is not None else _MORE_FILES if verbose else _FILES
    by_waste = at_window.wasted if at_window and args.by == "wasted" else None
    order = _order(recording, by_waste)[:number]
    facts = _facts(recording, summary, verbose)
    load = [load_table(summary.load)] if summary.load else []
    notes = [*summary.notes, *(summary.load.notes if summary.load else [])]
    if not verbose:
        facts = [cut(fact, columns()) for fact in facts]
    parts = [*load, "\n".join(facts), _files_text(recording, order, at_window, verbose)]
    if verbose:
        parts += [_sizes_text(summary.requests_by_sectors), _timeline_text(summary.timeline)]
    return answer_text(
        [_answer(recording, summary)],
        filter(None, parts),
        doubts=list(_doubts(recording, summary)),
        notes=notes,
        more=f"--verbose ({_MORE})",
        verbose=verbose,
    )


def _answer(recording: Recording, summary: ShowDocument) -> str:
    """Return the command, its pages and files, and whether events were lost."""
    capture, load = recording.capture, summary.load
    if capture.is_load and load is not None:
        return _load_answer(recording, load)
    command, seconds = capture.command, capture.wall_seconds
    name = f"a recording of {summary.format}" if command is None else shlex.join(command)
    took = "" if seconds is None else f" in {seconds:.3f} s"
    cold = ", cold" if capture.cold and capture.cold.proven else ""
    files = plural(recording.files.rows, "file")
    lost = "" if summary.lost_events is None or summary.lost_events else ", 0 events lost"
    return f"{name}: {plural(summary.accesses, 'page')} of {files} accessed{took}{cold}{lost}"


def _load_answer(recording: Recording, load: ShownLoad) -> str:
    """Return how many programs use the disk."""
    disks = {device.dev: device.name for device in recording.capture.devices}
    disk = printable(disks.get(load.disk, load.disk))
    programs = plural(len(load.clients), "program")
    return f"a load of {load.seconds:.1f} s on disk {disk}, and no start: {programs}"


def _doubts(recording: Recording, summary: ShowDocument) -> Iterator[str]:
    """Yield the differences from an undisturbed, completely recorded cold start."""
    cold = recording.capture.cold
    if summary.load and summary.load.unpredicted:
        yield f"nothing is predicted beside it: {summary.load.unpredicted}"
    if cold and not cold.proven and not recording.capture.is_load:
        yield f"cold NOT PROVEN: {cold.how}"
    if summary.lost_events is None or summary.lost_events:
        yield f"lost events: {losses_text(recording)}"
    if recording.contaminated and not recording.capture.is_load:
        yield "CONTAMINATED: pages of the kernel's own readahead are mixed in"
    if summary.page_size_assumed:
        yield (
            f"pages of {summary.page_size} bytes, ASSUMED: nothing in the trace proves their "
            "size; --page-size sets another"
        )


def _facts(recording: Recording, summary: ShowDocument, verbose: bool) -> list[str]:
    capture = recording.capture
    of_load = summary.load if capture.is_load else None
    window = of_load.read_ahead_kb if of_load else summary.recorded_read_ahead_kb
    lines = [f"format      {summary.format}"] if verbose else []
    lines.append(f"kernel      {printable(summary.kernel or 'unknown')}")
    if capture.command:
        lines.append(f"command     {printable(' '.join(capture.command))}")
    if capture.wall_seconds is not None:
        took = f"{capture.wall_seconds:.3f} s"
        lines.append(f"ended by    {capture.ended_by}, {ended_text(capture)}, {took}")
    host, cold = capture.host, capture.cold
    if host is not None:
        name = printable(f"{host.machine}, {host.cpu_count} x {host.cpu_model}")
        lines.append(f"board       {name}, {host.memory_kib // KIB} MiB")
    if capture.scenario != IDLE:
        lines.append(f"beside      the load {printable(capture.scenario)}")
    if cold is not None and not capture.is_load:
        proven = "proven" if cold.proven else "NOT PROVEN"
        lines.append(f"cold        {proven}: {printable(cold.how)}")
    by = f" ({recording.windows.event})" if recording.windows and window is not None else ""
    kib = "unknown" if window is None else f"{window:,} KiB"
    lines.append(f"window      {kib} when recorded{by}")
    if recording.probe:
        lines.append(f"disk        {printable(probe_text(recording.probe))}")
    lines.append(f"lost        {losses_text(recording)}")
    if not verbose:
        return lines
    counts = ", ".join(f"{n} {name}" for name, n in summary.events.items())
    lines.append(f"events      {counts or 'none that foreread uses'}")
    others = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in recording.counts.items())
    return [*lines, f"not counted {others} pages"]


def _files_text(
    recording: Recording, order: list[int], at_window: Waste | None, verbose: bool
) -> str:
    rows: list[tuple[str, ...]] = []
    for row in order:
        entry = _file_of(recording, row, at_window)
        size = entry.size_bytes
        pages = "?" if size < 0 else str(-(-size // recording.page_size))
        name = entry.path or f"inode {entry.ino} on {entry.dev}"
        counts = (entry.requests, entry.pages_wasted) if at_window else ()
        rows.append((*map(str, (entry.pages_accessed, *counts)), pages, name))
    of_window: tuple[str, ...] = ()
    if at_window:
        of_window = (
            f"requests at {pages_to_kib(at_window.window, recording.page_size)} KiB",
            "unused",
        )
    head = ("accessed", *of_window, "of pages", "file")
    if not rows:
        return ""
    return render(head, rows) if verbose else render_cut(head, rows, _LEAST_PATH, cut_last=cut_path)


def _sizes_text(sizes: dict[int, int]) -> str:
    rows = [(f"{sectors / 2:g}", str(count)) for sectors, count in sizes.items()]
    return render(("KiB a read", "requests"), rows[:16]) if rows else ""


def _timeline_text(slices: list[Slice]) -> str:
    most = max((s.pages for s in slices), default=0)
    if not most:
        return ""
    rows = [
        (f"{s.start_seconds:.3f}", str(s.pages), "#" * round(40 * s.pages / most)) for s in slices
    ]
    return render(("from s", "pages", ""), rows)
