"""The load of a capture: its clients, from the block events, and what is left out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from foreread.analyzer.ingest.accesses import process_tree
from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.ingest.load import load_any
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Table
from foreread.analyzer.load.client import Load
from foreread.analyzer.load.derived import Frame, SeenClient
from foreread.analyzer.load.error import LoadError
from foreread.analyzer.load.programs import (
    JOURNAL,
    KERNEL,
    MOST,
    WRITEBACK,
    Asker,
    askers_of,
    busy_periods,
)
from foreread.analyzer.load.requests import requests_of
from foreread.analyzer.predict.basis import MOST_LOST, lost_share
from foreread.analyzer.predict.start import Start
from foreread.boards.base.counted import plural
from foreread.boards.base.printable import printable
from foreread.boards.base.units import KIB, size_text
from foreread.emulator.linux.requests import SECTOR
from foreread.tracer.formats.capture import dev_of, dev_text
from foreread.tracer.formats.scenario import IDLE

_LEAST_SHARE = 0.02  # of the load's bytes, requests or time: less is not a client
_LEAST_REQUESTS = 20
_LEAST_ENDS = 0.5  # of the requests: without their ends nothing is known of a client
_QUIET = 0.01  # of the time: a disk that works less rests


@dataclass(frozen=True)
class SeenLoad:
    """The clients of a recorded load on one disk (dev_t), over ``seconds``.

    ``window_kb`` was the disk's window; None if it is unknown.
    """

    load: Load
    disk: int
    window_kb: int | None
    seconds: float
    clients: tuple[SeenClient, ...]


def load_in(path: StrPath, start: Start | None = None) -> Load:
    """Return the load of the capture ``path``, on the disk of the start that it is to run beside.

    Raises LoadError for a capture without a load, or of a machine without that disk; TraceError and
    CaptureError for one that cannot be read.
    """
    recording = load_any(path)
    return load_of(recording, None if start is None else _disk_like(start, recording))


def _disk_like(start: Start, recording: Recording) -> int:
    """Return the disk (dev_t) of a load's recording that is the start's."""
    disk = start.inputs.device(start.inputs.disks.index(start.disk))
    if disk is None:
        return start.disk
    devices = recording.capture.devices
    same = [
        each for each in devices if (each.name, each.size_bytes) == (disk.name, disk.size_bytes)
    ]
    if not same:
        names = ", ".join(printable(each.name) for each in devices)
        raise LoadError(
            f"{recording.path} is of another machine: it has no disk {printable(disk.name)} of "
            f"{size_text(disk.size_bytes)} (it has {names})",
            "record the load on the board of the start: foreread record --load 10s --target TARGET",
        )
    return dev_of(same[0].dev)


def load_of(recording: Recording, disk: int | None = None) -> Load:
    """Return the load of a capture of ``record --load`` or ``record --scenario``.

    ``disk`` is the start's (dev_t); None: the disk that the load moved most bytes of. Raises
    LoadError.
    """
    return seen_load(recording, disk).load


def seen_load(recording: Recording, disk: int | None = None) -> SeenLoad:
    """Return the load with what was counted of it; as ``load_of``."""
    capture = recording.capture
    load = recording.load_requests
    if load is None:
        raise LoadError(
            f"{recording.path or 'the capture'} holds no load",
            "record what the machine does: foreread record --load 10s -o load.capture",
        )
    begin_ns, end_ns = capture.span_ns or _span(recording)
    by_disk = _bytes_by_disk(load)
    disk = max(by_disk, key=lambda each: by_disk[each], default=0) if disk is None else disk
    rows, names = requests_of(recording, load, disk)
    own = _own_threads(recording)
    rows = rows[~np.isin(rows["pid"], np.fromiter(own, np.int64, len(own)))]
    askers = askers_of(rows, names)
    took_ns = max(end_ns - begin_ns, 1)
    frame = Frame(recording, disk, begin_ns, took_ns)
    matter = [asker for asker in askers if _matters(asker, rows, took_ns)][:MOST]
    clients = tuple(map(frame.client, matter))
    clients = _without_parts_of_syncs(clients)
    periods = busy_periods(rows)
    if float((periods[1] - periods[0]).sum()) < _QUIET * took_ns:
        clients = ()
    notes = [*_elsewhere(recording, by_disk, disk), *_small(askers, matter, clients)]
    notes += [f"{client.name}: {note}" for client in clients for note in client.notes]
    if capture.load_apart:
        notes.append(f"it is not limited as the start is: {capture.load_apart}")
    of_clients = Load(
        name=_name(recording),
        clients=tuple(client.client for client in clients),
        notes=tuple(notes),
        unpredicted=_unpredicted(recording, load, clients),
        limited=None if capture.is_load or not clients else not capture.load_apart,
    )
    return SeenLoad(of_clients, disk, frame.window_kb, took_ns / 1e9, clients)


def _name(recording: Recording) -> str:
    if recording.capture.scenario != IDLE:
        return recording.capture.scenario
    return Path(recording.path or "load").name


def _without_parts_of_syncs(clients: tuple[SeenClient, ...]) -> tuple[SeenClient, ...]:
    """Return the clients without the kernel's writes for a program that syncs what it writes.

    The replay of a sync writes the journal (replayed.py); what the kernel wrote back beside a
    larger writer is that program's.
    """
    syncing = (each for each in clients if each.client.burst_bytes and each.name not in KERNEL)
    most = max((each.nbytes for each in syncing), default=0)
    return tuple(
        each for each in clients if each.name not in (JOURNAL, WRITEBACK) or each.nbytes > most
    )


def _unpredicted(recording: Recording, load: Table, clients: Sequence[SeenClient]) -> str:
    """Return why nothing can be predicted beside the load; empty if it can."""
    if recording.capture.scenario.partition(":")[0] == "memory":
        return "what a start reads again when it lacks memory is not predicted"
    if lost_share(recording) > MOST_LOST:
        return "events of the load were lost: record it again with a larger --buffer-kib"
    if load.rows and (load["complete_ns"] > 0).mean() < _LEAST_ENDS:
        return "most requests of the load have no end in the recording"
    return next((client.unpredicted for client in clients if client.unpredicted), "")


def _span(recording: Recording) -> tuple[int, int]:
    times = recording.trace.events["time_ns"]
    return (int(times[0]), int(times[-1])) if len(times) else (0, 0)


def _bytes_by_disk(requests: Table) -> dict[int, int]:
    disks, number = np.unique(requests["dev"], return_inverse=True)
    moved = np.bincount(number, requests["sectors"].astype(np.float64), len(disks))
    return dict(zip(disks.tolist(), moved.astype(np.int64).tolist(), strict=True))


def _own_threads(recording: Recording) -> set[int]:
    """Return the threads of the start, or of the process that waited while a load was recorded."""
    pid = recording.capture.pid
    return process_tree(recording.trace.events, {pid} if pid is not None else set())


def _matters(asker: Asker, rows: Array, took_ns: int) -> bool:
    moved = int(rows["sectors"].sum()) * SECTOR
    return (
        asker.nbytes >= _LEAST_SHARE * moved
        or len(asker.rows) >= max(_LEAST_SHARE * len(rows), _LEAST_REQUESTS)
        or asker.busy_ns >= _LEAST_SHARE * took_ns
    )


def _elsewhere(recording: Recording, by_disk: dict[int, int], disk: int) -> Iterator[str]:
    """Yield which part of the load another disk has, which the start does not wait for."""
    below = {dev_of(device.dev): device.name for device in recording.capture.devices}
    total = sum(by_disk.values())
    for other, moved in by_disk.items():
        share = moved / max(total, 1)
        if other != disk and share >= _LEAST_SHARE:
            name = printable(below.get(other, dev_text(other)))
            yield f"{share:.0%} of its bytes are of another disk, {name}, and are left out"


def _small(
    askers: Sequence[Asker], matter: Sequence[Asker], clients: Sequence[SeenClient]
) -> Iterator[str]:
    """Yield how much is left out because it is too little."""
    left_out = [asker for asker in askers if not clients or asker not in matter]
    requests = sum(len(asker.rows) for asker in left_out)
    if requests:
        kib = sum(asker.nbytes for asker in left_out) // KIB
        programs = plural(len(left_out), "program")
        yield f"{plural(requests, 'request')} of {programs} ({kib:,} KiB) are left out: too few"
