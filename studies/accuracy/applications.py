"""Compares the predicted reads of an application with cold runs at every window.

    python -m studies.accuracy.applications -o DIR [--windows KiB,KiB] [--on PATH] [--twice]
        -- COMMAND [ARGUMENT ...]

One run at read_ahead_kb=0 is recorded, and one at each window; the emulation of this kernel's
readahead on the first is compared with the kernel's reads in the others. Only files of the file
system of PATH count (default: the command's file system). ``--twice`` adds a second run at each
window: how much two runs of the application themselves differ. Needs root. DIR gets the captures
and applications.json; stdout has its rows.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Kind
from foreread.analyzer.predict.inputs import Inputs, inputs
from foreread.analyzer.program.steps import own_requests
from foreread.boards.base.units import kib_to_pages
from foreread.boards.mounts import mount_of, read_mounts
from foreread.emulator.linux.requests import Layout, requests
from foreread.emulator.linux.rules import rules_for, version_of
from foreread.emulator.stepwise.replay import emulate
from foreread.recording.steps import recorded as named
from foreread.tracer.backends.base import WANTED_EVENTS
from foreread.tracer.backends.tracefs import TracefsBackend
from foreread.tracer.formats import capture as capture_files
from foreread.tracer.formats.capture import dev_of
from foreread.tracer.local.files import find_files
from foreread.tracer.local.record import record, run_here
from foreread.tracer.runs.options import RunOptions, Streams
from foreread.tracer.runs.recording import RecordOptions

WINDOWS_KB = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
_WAIT_S = 600.0  # for another foreread that uses the machine's knobs
_ATTEMPTS = 5
_CALLS = "readahead:page_cache_ra_order"  # a readahead decision, Linux 6.18


@dataclass(frozen=True)
class Reads:
    """The reads of one file system, predicted or measured.

    ``folios`` are (inode, page index, order), ``calls`` (inode, start, size, async size), in
    order; ``requests`` are of file data.
    """

    folios: list[tuple[int, int, int]]
    calls: list[tuple[int, int, int, int]]
    requests: int

    def pages(self) -> set[tuple[int, int]]:
        """Return the pages that entered the page cache, as (inode, page index)."""
        return {
            (ino, page)
            for ino, index, order in self.folios
            for page in range(index, index + (1 << order))
        }


@dataclass(frozen=True)
class Row:
    """An application's reads at one window, as a pair: ``of`` first, and the measured run.

    ``of`` is "prediction" or "run", another run. ``jaccard`` is the similarity of the two page
    sets. ``identical``: the same folios, of the same order and size; ``in_order``: the folios and
    the readahead calls also came in the same order.
    """

    read_ahead_kb: int
    of: str
    pages: tuple[int, int]
    requests: tuple[int, int]
    calls: tuple[int, int]
    jaccard: float
    identical: bool
    in_order: bool


def judge(
    command: Sequence[str],
    windows_kb: Sequence[int] = WINDOWS_KB,
    *,
    on: Path,
    directory: Path,
    twice: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Row]:
    """Record ``command`` at 0 and at each window into ``directory``; return the comparisons.

    Rows with ``of`` "prediction" have (predicted, measured) figures; with ``twice``, rows with
    ``of`` "run" follow, with the figures of two runs at the window. ``on`` is a path on the file
    system to count files on. A capture that exists in ``directory`` is not made again. Raises
    RecordError and TraceError, and RuntimeError if the caches were dropped in every run of a
    window.
    """
    dev = _device_of(on)
    base = recorded(command, 0, directory / "0", dev)
    base_inputs = inputs(base, version_of(base.kernel or ""))
    rows: list[Row] = []
    for kb in windows_kb:
        predicted = prediction(base_inputs, dev, kb)
        runs = [f"at{kb}", *([f"at{kb}-again"] if twice else [])]
        seen = [measured(recorded(command, kb, directory / name, dev), dev) for name in runs]
        rows.append(compare(kb, "prediction", predicted, seen[0]))
        if twice:
            rows.append(compare(kb, "run", seen[1], seen[0]))
        for row in rows[-len(runs) :]:
            tell(text_of(row))
    return rows


def recorded(command: Sequence[str], kb: int, directory: Path, dev: int) -> Recording:
    """Return a run at a window, which is recorded unless ``directory`` has it already.

    A run is made again if pages of its file system were dropped meanwhile: anybody's drop_caches
    is the whole machine's.
    """
    if not (directory / capture_files.METADATA).exists():
        _record(command, kb, directory)
    for _ in range(_ATTEMPTS):
        recording = load(directory)
        if not dropped(recording, dev):
            return recording
        shutil.rmtree(directory)
        _record(command, kb, directory)
    raise RuntimeError(f"{kb} KiB: something drops the caches again and again")


def _record(command: Sequence[str], kb: int, directory: Path) -> None:
    quiet = os.open(os.devnull, os.O_WRONLY)
    try:
        run = RunOptions(list(command), allow_warm=True, streams=Streams(quiet, quiet))
        options = RecordOptions(
            run, wait_s=_WAIT_S, read_ahead_kb=kb, events=(*WANTED_EVENTS, _CALLS)
        )
        # Only the prediction needs the places of files, and finding them takes long.
        if kb:
            record(options, TracefsBackend(), directory)
        else:
            running = run_here(options, TracefsBackend(), directory, probe_disk=False)
            named(running, probe_disk=False)
    finally:
        os.close(quiet)
    _look_again(directory)


def dropped(recording: Recording, dev: int) -> int:
    """Return how many pages of a file system other processes dropped during the run."""
    events = recording.trace.events
    begin, end = recording.capture.span_ns or (0, 1 << 63)
    chosen = (events["kind"] == Kind.DELETE) & (events["dev"] == dev)
    chosen &= (events["time_ns"] >= begin) & (events["time_ns"] < end)
    return int((chosen & ~_own(recording, events["pid"])).sum())


def _look_again(directory: Path) -> None:
    """Look for the files of a capture, with patience, if the search for them was cut."""
    capture, files = capture_files.read(directory)
    if not any("was cut" in note for note in capture.notes):
        return
    lost = {(entry.dev, entry.ino) for entry in files if entry.path is None}
    located, _ = find_files(lost, read_mounts(), {}, limit_s=_WAIT_S)
    with_paths = [entry for entry in files if entry.path is not None]
    capture_files.write(directory, capture, [*with_paths, *located])


def prediction(start_inputs: Inputs, dev: int, kb: int) -> Reads:
    """Return the reads that the emulation of one window (``kb``, KiB) predicts."""
    recording = start_inputs.recording
    machine, limits = start_inputs.machine(
        start_inputs.disks.index(recording.devices.get(dev, dev))
    )
    rules = rules_for(version_of(recording.kernel or ""))
    outcome = emulate(start_inputs.program, rules, kib_to_pages(kb, recording.page_size), machine)
    own = recording.files["dev"] == dev
    ino = recording.files["ino"].tolist()
    data_requests = requests(outcome, Layout(start_inputs.extents), limits, recording.page_size)
    return Reads(
        [(ino[file], index, order) for file, index, order, _ in outcome.inserts if own[file]],
        [(ino[file], *window) for file, *window in outcome.windows if own[file]],
        sum(bool(own[request[0]]) for request in data_requests),
    )


def measured(recording: Recording, dev: int) -> Reads:
    """Return the kernel's reads for the application in a run."""
    assert recording.inserts is not None
    data = recording.inserts.data
    data = data.take((data["dev"] == dev) & _own(recording, data["pid"]))
    folios = zip(*(data[name].tolist() for name in ("ino", "index", "value")), strict=True)
    return Reads(list(folios), _calls(recording, dev), _requests(recording, dev))


def _own(recording: Recording, pid: Array) -> Array:
    if recording.threads is None:
        return np.ones(len(pid), bool)
    return np.isin(pid, list(recording.threads))


def _calls(recording: Recording, dev: int) -> list[tuple[int, int, int, int]]:
    trace, span = recording.trace, recording.capture.span_ns
    names = ("s_dev", "i_ino", "index", "size", "async_size")
    if trace.read_fields is None or span is None or _CALLS not in trace.event_names:
        return []
    columns = trace.read_fields(_CALLS, names)
    time = columns["time_ns"]
    chosen = (columns["s_dev"] == dev) & (time >= span[0]) & (time < span[1])
    chosen &= _own(recording, columns["pid"])
    return list(zip(*(columns[name][chosen].tolist() for name in names[1:]), strict=True))


def _requests(recording: Recording, dev: int) -> int:
    """Return the number of the application's requests of file data to a file system's disk.

    Any thread that is on the CPU may issue the application's requests. Requests of threads that
    read files of the same file system and are not the application's are not counted.
    """
    disk_requests = recording.requests
    chosen = own_requests(replace(recording, threads=None), disk_requests)
    chosen &= disk_requests["dev"] == recording.devices.get(dev, dev)
    if recording.inserts is not None:
        data = recording.inserts.data
        readers = np.unique(data["pid"][data["dev"] == dev])
        chosen &= ~np.isin(disk_requests["pid"], readers[~_own(recording, readers)])
    return int(chosen.sum())


def compare(kb: int, of: str, reads: Reads, other: Reads) -> Row:
    """Compare a prediction (or another run) with the measurement."""
    mine, theirs = reads.pages(), other.pages()
    both = len(mine | theirs)
    same = sorted(reads.folios) == sorted(other.folios)
    return Row(
        read_ahead_kb=kb,
        of=of,
        pages=(len(mine), len(theirs)),
        requests=(reads.requests, other.requests),
        calls=(len(reads.calls), len(other.calls)),
        jaccard=len(mine & theirs) / both if both else 1.0,
        identical=same,
        in_order=reads.folios == other.folios and reads.calls == other.calls,
    )


def text_of(row: Row) -> str:
    """Return a row as a line of a table."""
    counts = (f"{name} {_text(getattr(row, name))}" for name in ("pages", "requests", "calls"))
    verdict = "identical" if row.identical else f"Jaccard {row.jaccard:.5f}"
    return f"{row.read_ahead_kb:5} KiB {row.of:10} {'  '.join(counts)}  {verdict}"


def _text(pair: tuple[int, int]) -> str:
    figure, other = pair
    return f"{figure}/{other} ({(figure - other) / other if other else 0:+.2%})"


def _device_of(path: Path) -> int:
    mount = mount_of(path, read_mounts())
    if mount is None:
        raise SystemExit(f"{path} is on no file system")
    return dev_of(mount.dev)


def main(words: Iterable[str] | None = None) -> int:
    """Judge one command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--windows", default=",".join(map(str, WINDOWS_KB)))
    parser.add_argument("--on", type=Path)
    parser.add_argument("--twice", action="store_true")
    parser.add_argument("command", nargs="+")
    args = parser.parse_args(None if words is None else list(words))
    windows = [int(kb) for kb in args.windows.split(",")]
    args.output.mkdir(parents=True, exist_ok=True)
    rows = judge(
        args.command,
        windows,
        on=args.on or RunOptions(args.command).executable(),
        directory=args.output,
        twice=args.twice,
        tell=lambda line: print(line, file=sys.stderr),
    )
    document = {"command": args.command, "rows": [asdict(row) for row in rows]}
    (args.output / "applications.json").write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
