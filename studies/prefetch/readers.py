"""What other ways to replay a prefetch list would change, predicted on every disk.

    python -m studies.prefetch.readers CAPTURE... [--draws N] [-o FILE]

Each capture is replayed with its list on the library's disks and on three of depth 8. A cell is the
change of the start's seconds against the present replayer, in per cent: the median of the captures,
then the least and the greatest. A capture's seconds are the mean of random draws, the same for all
ways. Optimistic: a further reader costs no processor time to begin, has its own 512 KiB under way,
and the first part is asked for, but has not arrived, when the start begins.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median

import numpy as np

from foreread.analyzer.advise.variant import raced
from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.bands import SEED
from foreread.analyzer.predict.disk.device_model import DeviceModelError
from foreread.analyzer.predict.disk.parts import library
from foreread.analyzer.predict.inputs import inputs
from foreread.analyzer.predict.kib import emulated_pages
from foreread.analyzer.predict.linux import PREFIX, asked_version
from foreread.analyzer.predict.start import Start, prepare
from foreread.analyzer.prefetch.launch import before
from foreread.analyzer.prefetch.ranges import cheapest_gap, find_ranges
from foreread.analyzer.prefetch.replayed import Row, application_ns, beside, with_replayer
from foreread.analyzer.program.added_steps import new_steps
from foreread.analyzer.program.opening import Opening
from foreread.boards.base.document import SCHEMA
from foreread.boards.base.interrupts import orderly_exit
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.devices.stateful import Stateful
from foreread.emulator.linux.steps import AHEAD, META, ONCE, WRITE, Run
from studies.accuracy.markdown import markdown

WINDOW_KB = 128
GAP_SECTORS, MOST_SECTORS = 32, 256  # of blocks that are read together
PRESENT = "present"
DEPTH_8: dict[str, DeviceModel] = {
    "UFS, depth 8": Stateful(latency_ns=150_000, ns_per_kib=3_000, parallel=8),
    "eMMC, depth 8": Stateful(latency_ns=250_000, ns_per_kib=6_000, parallel=8),
    "1 ms, depth 8": Stateful(latency_ns=1_000_000, ns_per_kib=10_000, parallel=8),
}
NO_WAITS = Stateful(latency_ns=1.0, ns_per_kib=0.001, parallel=32)


@dataclass(frozen=True, eq=False)
class Listed:
    """A start, and the ranges of its list that are on its disk."""

    start: Start
    rows: tuple[Row, ...]

    @property
    def cpus(self) -> int:
        """The processors of the board."""
        host = self.start.recording.capture.host
        return host.cpu_count if host else 1

    def beside(self, run: Run, rows: Sequence[Row], opening: Opening | None = None) -> Run:
        """Return a run with one more reader."""
        return with_replayer(run, rows, self.cpus, opening or self.start.opening)


def ways(listed: Listed) -> Iterator[tuple[str, Run]]:
    """Yield the ways to replay a list, the present one first."""
    run, rows = listed.start.run, listed.rows
    yield PRESENT, listed.beside(run, rows)
    for number in (2, 4, 8):
        yield f"{number} readers", readers(listed, number)
    yield "metadata first", with_blocks(listed)
    for share in (0.1, 0.5):
        yield f"first {share:.0%} before", first_part(listed, share)
    for share in (0.5, 0.75):
        yield f"memory for {share:.0%}", listed.beside(run, head(rows, share))
    yield "no list", run


def readers(listed: Listed, number: int) -> Run:
    """Return the run with readers that take the list's files in turn, and begin together."""
    files = {file: at for at, file in enumerate(dict.fromkeys(file for file, *_ in listed.rows))}
    parts = [[row for row in listed.rows if files[row[0]] % number == at] for at in range(number)]
    run, opening = listed.start.run, listed.start.opening
    begun: list[int] = []  # steps after each reader's first one
    for part in filter(None, parts[:0:-1]):
        run = listed.beside(run, part, replace(opening, exec_ns=0.0, program_bytes=0))
        begun.append(len(run.steps))
    return _after_exec(listed.beside(run, parts[0]), begun)


def with_blocks(listed: Listed) -> Run:
    """Return the run with a reader, and all blocks of metadata asked for before, in one go.

    These are the reads of the start that are in no file.
    """
    run, cpu = listed.start.run, listed.start.cpu
    rows = _of_no_file(listed.start)
    steps = run.steps.copy()
    steps["meta"][rows] |= ONCE
    sectors = [(int(step["sector"]), int(step["sectors"])) for step in steps[rows]]
    merged = together(sectors)
    added = new_steps(len(merged))
    added["sector"], added["sectors"] = np.array(merged, np.int64).reshape(-1, 2).T
    added["bios"], added["meta"] = 1, META | ONCE | AHEAD
    added["cpu_ns"] = cpu.request_ns
    added["thread"] = int(steps["thread"].max(initial=0)) + 1
    run = before(replace(run, steps=steps), added)
    return _after_exec(listed.beside(run, listed.rows), [len(run.steps)])


def _after_exec(run: Run, begun: Sequence[int]) -> Run:
    """Return a run whose further threads begin after its first step, the exec of a reader.

    ``begun`` are the steps from the first one of each of these threads to the end.
    """
    steps = run.steps.copy()
    steps["waits_for"][[len(steps) - after for after in begun]] = 0
    return replace(run, steps=steps)


def _of_no_file(start: Start) -> list[int]:
    """Return the steps that read what is in no file."""
    steps, extents = start.run.steps, start.run.layout.extents
    reads = (steps["operation"] < 0) & (steps["sectors"] > 0) & ((steps["meta"] & WRITE) == 0)
    begins, ends = extents["sector"], extents["sector"] + extents["sectors"]
    return [
        row
        for row in np.flatnonzero(reads).tolist()
        if not ((begins <= steps["sector"][row]) & (steps["sector"][row] < ends)).any()
    ]


def together(reads: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return reads (sector, sectors) merged over small gaps, in the order of their first use."""
    merged: list[tuple[int, int]] = []
    for sector, number in sorted(set(reads)):
        first, length = merged[-1] if merged else (-MOST_SECTORS - 1, 0)
        reach = max(first + length, sector + number) - first
        if merged and sector <= first + length + GAP_SECTORS and reach <= MOST_SECTORS:
            merged[-1] = (first, reach)
        else:
            merged.append((sector, number))
    use = {sector: at for at, (sector, _) in reversed([*enumerate(reads)])}
    return sorted(
        merged,
        key=lambda part: min(at for sector, at in use.items() if part[0] <= sector < sum(part)),
    )


def first_part(listed: Listed, share: float) -> Run:
    """Return the run that begins when a share of the list is asked for; then the rest is."""
    first = head(listed.rows, share)
    rest = listed.rows[len(first) :]
    run = listed.start.run
    waiting = [len(run.steps)]
    if rest:
        run = listed.beside(run, rest, replace(listed.start.opening, program_bytes=0))
        waiting.append(len(run.steps))
    run = listed.beside(run, first)
    steps = run.steps.copy()
    last = int(np.flatnonzero(steps["thread"] == steps["thread"].max())[-1])
    steps["waits_for"][[len(steps) - after for after in waiting]] = last
    return replace(run, steps=steps)


def head(rows: Sequence[Row], share: float) -> tuple[Row, ...]:
    """Return the first ranges that have a share of the list's pages, at least one."""
    pages = np.cumsum([number for *_, number in rows])
    return tuple(rows[: max(int(np.searchsorted(pages, share * pages[-1], side="right")), 1)])


def seconds(listed: Listed, draws: int) -> dict[str, float]:
    """Return the seconds of the ways to replay a list, and those of the start's computing."""
    start = listed.start
    window = emulated_pages(WINDOW_KB, start.recording.page_size)
    threads = np.unique(start.run.steps["thread"]).tolist()
    recorded = start.timed([0])[0]
    seconds_by_way: dict[str, float] = {}
    for name, run in ways(listed):
        own = len(run.steps) - len(start.run.steps)
        times = []
        for draw in range(draws):
            rng = np.random.default_rng((SEED, draw))
            drawn = replace(start, run=_drawn(run, own, rng) if own else run)
            (timed,) = drawn.timed([window], recorded=beside(recorded, run))
            times.append(application_ns(run, timed, threads) / 1e9)
        seconds_by_way[name] = mean(times)
    (computed,) = replace(start, device=NO_WAITS).timed([window], recorded=recorded)
    seconds_by_way["only computing"] = computed.total_ns / 1e9
    return seconds_by_way


def _drawn(run: Run, own: int, rng: np.random.Generator) -> Run:
    """Return a run of random times with ``own`` steps of readers, which begin with the start."""
    drawn = raced(run, own, rng)
    drawn.steps["sleep_ns"][0] = run.steps["sleep_ns"][0]
    return drawn


def listed_on(recording: Recording, device: DeviceModel | None) -> Listed:
    """Return a start on a disk (None: its own) with its list. Raises as ``prepare``."""
    version = asked_version(recording, PREFIX)
    made = inputs(recording, version)
    start = prepare(made, version, device)
    whole = find_ranges(recording, "access", cheapest_gap(start.device, recording.page_size))
    disk_of = made.disk_of_file
    return Listed(
        start, tuple(row for row in whole.rows if made.disks[int(disk_of[row[0]])] == start.disk)
    )


def predicted(captures: Sequence[str], draws: int) -> dict[str, dict[str, dict[str, float]]]:
    """Return the seconds by disk, capture and way; a capture that has none is named on stderr."""
    disks: dict[str, DeviceModel | None] = {"recorded": None}
    disks |= {part.name: part.device for part in library()} | DEPTH_8
    seconds_by_disk: dict[str, dict[str, dict[str, float]]] = {disk: {} for disk in disks}
    for capture in captures:
        recording = load(capture)
        for disk, device in disks.items():
            try:
                seconds_by_disk[disk][capture] = seconds(listed_on(recording, device), draws)
            except DeviceModelError as error:
                print(f"{capture} on {disk}: {error}", file=sys.stderr)
    return {disk: by_capture for disk, by_capture in seconds_by_disk.items() if by_capture}


def table(seconds_by_disk: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[str]:
    """Return the lines of a table: disks × ways."""
    every = next(iter(next(iter(seconds_by_disk.values())).values()))
    names = [name for name in every if name != PRESENT]
    rows = [
        [disk, *(_cell(by_capture, name) for name in names)]
        for disk, by_capture in seconds_by_disk.items()
    ]
    return markdown(["disk", *names], rows)


def _cell(by_capture: Mapping[str, Mapping[str, float]], name: str) -> str:
    changes = [100 * (by_way[name] / by_way[PRESENT] - 1) for by_way in by_capture.values()]
    return f"{median(changes):+.1f} ({min(changes):+.0f}…{max(changes):+.0f})"


def main() -> None:
    """Predict the captures named, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("captures", nargs="+", metavar="CAPTURE")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    args = parser.parse_args()
    with orderly_exit():
        seconds_by_disk = predicted(args.captures, args.draws)
    if args.output:
        document = {"schema": SCHEMA, "seconds": seconds_by_disk}
        args.output.write_text(json.dumps(document, indent=1) + "\n")
    print("\n".join(table(seconds_by_disk)))


if __name__ == "__main__":
    main()
