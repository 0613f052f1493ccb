"""Doubts about the seconds of a start: what its recording lacks, and what its replays show.

The replay at window 0 cannot reveal time that is charged to the wrong thread, since everything
takes as long as in the recording. So the doubts are also about how the replay changes with the
window, where it differs from the recorded run, and about other captures of the same start. Each
constant says where its figure is from; docs/explanation/verdict.md has them together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Kind, Rwbs, Table
from foreread.analyzer.predict.bands import DEVIATIONS, REPLAY
from foreread.analyzer.predict.disk.observed import observed, unexplained
from foreread.analyzer.predict.disk.probed import probe_of
from foreread.analyzer.predict.doubts.doubt import Doubt
from foreread.analyzer.predict.doubts.kernel import setting_of, unconfirmed
from foreread.analyzer.predict.doubts.recording import of_recording
from foreread.analyzer.predict.memory import (
    available_kib,
    pages_of,
    recorded_run,
    shortage,
    with_memory,
)
from foreread.analyzer.predict.seconds import Seconds, seconds_of
from foreread.analyzer.predict.start import Start
from foreread.analyzer.program.cold import cold_samples
from foreread.analyzer.program.cpu import event_cost
from foreread.analyzer.program.frame import frame_of
from foreread.analyzer.program.inode_tables import recorded_reads
from foreread.analyzer.program.spared_faults import SparedFaults
from foreread.boards.base.counted import plural
from foreread.boards.base.units import KIB, percent_text, size_word
from foreread.emulator.devices.measured import Measured
from foreread.emulator.devices.paced import Paced
from foreread.emulator.devices.stateful import Stateful
from foreread.emulator.linux.steps import Timed
from foreread.tracer.formats.capture import dev_text
from foreread.tracer.formats.scenario import IDLE, beside

_EXIT = "sched:sched_process_exit"
# In parts of the run: the latest acceptable start of a thread with unknown parent.
MOST_UNLINKED = 0.01
# Relative standard deviations, from median errors / 0.67 of a normal distribution.
UNKNOWN_CPU = 0.06  # without the processor's cost of a request: 3 to 5 % in the median
# 12 captures predicted at 8 windows from their traces alone: 8.7 % rms off (verdict.md).
WITHOUT_CAPTURE = 0.087
_WITHOUT_CAPTURE = (
    "the trace has neither the command and its end nor the machine: the seconds are from the first "
    "page that was read to the last one"
)
# Of the recorded time. Thirteen captures of undisturbed starts are replayed within 0.8 % of the
# time that they took, less what recording took; one in which other processes read heavily, 10 %.
REPLAYED = 0.01
MOST_UNEXPLAINED = 0.05
# In parts of the seconds: below the first no doubt; above the second the seconds are unusable.
LEAST, MOST = 0.01, 0.25
# In parts of the recorded requests: the replay at window 0 has to send the same ones.
LEAST_REQUESTS, MOST_REQUESTS = 0.01, 0.10
MOST_OF_FAST = 0.5  # in parts of the fast KiB: what was read before the start may be the rest
# Of computing after a wait, where no probe shows it. Four probes on an x86_64 server, not quite
# idle, found 129 to 281 µs and 36 to 58 %.
COLD_NS, COLD_SHARE = 200e3, 0.4
_ALIKE = 1.5  # times as long at random as in order: less does not depend on the requests before


def of_seconds(seconds: Seconds) -> Iterator[Doubt]:
    """Yield the doubts about each start, and between several captures of it.

    Those about the first recording are known from its counts.
    """
    for start, runs in zip(seconds.starts, seconds.replays, strict=True):
        if start is not seconds.starts[0]:
            yield from of_recording(start.recording)
        yield from of_start(start, seconds.bands.windows, runs)
    each, page_size = seconds_of(seconds.replays), seconds.starts[0].recording.page_size
    yield from disagreement(page_size, seconds.bands.windows, each)
    yield from _short_of_memory(seconds)


def _short_of_memory(seconds: Seconds) -> Iterator[Doubt]:
    """The machine of the recording lacked memory for the start at its fastest window."""
    start, best = seconds.starts[0], seconds.bands.best
    idle = seconds.replays[0][seconds.bands.windows.index(best)]
    available = available_kib(start)
    if available is None or start.shows_later_uses:
        return
    short = shortage(start, best, available, pages_of(idle))
    if short is None:
        return
    (slow,) = with_memory(start, available).timed([best])
    yield Doubt(
        f"{short}: predict with --memory {size_word(available)}",
        spread=abs(slow.total_ns / idle.total_ns - 1),
    )


def of_start(start: Start, windows: Sequence[int], runs: Sequence[Timed]) -> Iterator[Doubt]:
    """Yield the doubts about a start that was replayed under ``windows`` (pages), 0 among them."""
    recorded = recorded_run(start, runs[list(windows).index(0)])
    yield from of_run(start, recorded.total_ns / 1e9 + _unsent_s(start, recorded))
    yield from other_requests(start, recorded)
    yield from by_window(start, windows, runs)


def _unsent_s(start: Start, run: Timed) -> float:
    """Return the seconds of recorded requests that the replay does not send, in hardly any memory.

    Pages are read again there that the emulation keeps, which ``other_requests`` doubts: their time
    is explained, and how they are used later is known all the same.
    """
    if not start.shows_later_uses:
        return 0.0
    recorded, sent = _reads(start, run)
    took_ns = start.requests["complete_ns"].astype(float) - start.requests["issue_ns"]
    is_read = (start.requests["flags"] & Rwbs.READ) > 0
    return (recorded - sent) * float(took_ns[is_read].mean()) / 1e9


def of_run(start: Start, replayed_s: float) -> Iterator[Doubt]:
    """Yield the doubts about what a start is prepared from, and about the recorded run's replay.

    ``replayed_s`` are the seconds of the start at a window of 0.
    """
    yield from _of_setup(start)
    if isinstance(start.device, Measured):
        each_ns = event_cost(start.recording.trace.events)
        yield from of_table(start.device, start.requests, each_ns)
    yield from _unknown_places(start)
    yield from _end_missing(start.recording)
    yield from _unlinked(start)
    yield from _of_recorded_run(start, replayed_s)


def _of_setup(start: Start) -> Iterator[Doubt]:
    """Yield doubts about the machine and its events, which the seconds rest on."""
    recording = start.recording
    if recording.capture.span_ns is None:
        yield Doubt(_WITHOUT_CAPTURE, spread=WITHOUT_CAPTURE)
    yield from unconfirmed(setting_of(recording, start.version, start.disk))
    threads = len(np.unique(recording.accesses["pid"]))
    cpus = frame_of(recording).cpus
    if threads > 1 and cpus > 1 and not start.threads:
        yield Doubt(
            f"{plural(threads, 'thread')} read on {plural(cpus, 'CPU')}, and the capture does "
            "not contain when each ran",
            unusable=True,
        )
    if (
        isinstance(start.device, Paced)
        and not (recording.trace.events["kind"] == Kind.SWITCH).any()
    ):
        yield Doubt(
            "the capture has no scheduler events: CPU time cannot be distinguished from time in "
            "which the limiter delayed reads",
            unusable=True,
        )
    if not any(start.cpu.numbers[:3]):
        yield Doubt(
            "the capture has no page fault events: CPU time per request is unknown",
            spread=UNKNOWN_CPU,
        )


def of_table(device: Measured, requests: Table, each_ns: float) -> Iterator[Doubt]:
    """Yield a doubt about a table whose disk depends on the requests before.

    A table has one time for all requests elsewhere than the last one. A disk that seeks, or keeps
    what it read, takes any time between that and the time in order. The table is not doubted if it
    explains the run's own ``requests``.
    """
    kib = min(point.kib for point in device.points)
    elsewhere, in_order = (float(device.times(pattern)[0].at(kib)) for pattern in (False, True))
    if elsewhere < _ALIKE * in_order or unexplained(observed(requests, each_ns), device) is None:
        return
    yield Doubt(
        f"the disk takes over {_ALIKE} times as long for {kib:g} KiB at random as in order, and "
        "its table does not explain the requests of the recorded run; if this is the disk of the "
        "recording, predict without --device-model",
        spread=(1 - in_order / elsewhere) / 2,
        of_disk=True,
    )


def _unknown_places(start: Start) -> Iterator[Doubt]:
    """A disk that seeks takes no time for a distance to a file whose place is unknown."""
    if not isinstance(start.device, Stateful) or not start.device.seek_ns_per_root:
        return
    on_disk = np.flatnonzero(start.inputs.disk_of_file == start.inputs.disks.index(start.disk))
    unknown = len(np.setdiff1d(on_disk, start.inputs.extents["file"]))
    if unknown:
        yield Doubt(
            f"the disk seeks, and the places of {unknown:,} of {plural(len(on_disk), 'file')} are "
            "unknown: a seek to one counts as one over no distance"
        )


def _end_missing(recording: Recording) -> Iterator[Doubt]:
    """The command exited, but the trace does not contain its exit: the end was not recorded.

    A thread that ran when the trace ended would count as computing until the end of the run.
    """
    capture, events = recording.capture, recording.trace.events
    if capture.span_ns is None or capture.ended_by != "exit" or not events.rows:
        return
    exits = events["pid"][events["kind"] == Kind.EXIT]
    if _EXIT not in recording.trace.event_names or capture.pid in exits:
        return
    start_ns, end_ns = capture.span_ns
    run_s = (end_ns - start_ns) / 1e9
    last_s = (int(events["time_ns"].max()) - start_ns) / 1e9
    yield Doubt(
        f"the trace does not hold the end of the command (it ends {last_s:.1f} s into a run of "
        f"{run_s:.1f} s)",
        unusable=True,
    )


def _unlinked(start: Start) -> Iterator[Doubt]:
    """A thread with unknown parent would sleep from the start until its recorded time."""
    late_ns = start.unlinked_ns
    if start.recorded_ns and late_ns > MOST_UNLINKED * start.recorded_ns:
        yield Doubt(
            f"a thread starts {late_ns / 1e9:.2f} s into the run, and the capture does "
            "not show what started it: with another window it would start at another time",
            unusable=True,
        )


def _of_recorded_run(start: Start, replayed_s: float) -> Iterator[Doubt]:
    """Yield doubts by the replay of the recorded run, on the disk that it ran on.

    ``replayed_s`` are the seconds of the start at a window of 0. Another disk may be given, to
    predict the start on it. The given disk counts as another one if the recorded run contradicts it
    but fits the disk in the capture.
    """
    scenario = start.recording.capture.scenario
    if scenario != IDLE:
        yield Doubt(
            f"the start was recorded{beside(scenario)}: the time that it took does not check the "
            "replay"
        )
        return
    doubts = list(of_replay(start.recording, start.recorded_s(replayed_s)))
    if doubts and start.recorded_on is not None:
        own = replace(start.as_recorded(), device=start.recorded_on).timed([0])[0]
        on_own = list(of_replay(start.recording, own.total_ns / 1e9))
        contradicted = any(doubt.unusable for doubt in doubts)
        if not on_own or (contradicted and not any(doubt.unusable for doubt in on_own)):
            yield from on_own
            yield Doubt("the start-up was recorded on a disk other than the given one")
            return
    yield from doubts


def of_replay(recording: Recording, replayed_s: float) -> Iterator[Doubt]:
    """Yield a doubt if the replay of the recorded run takes another time than the run.

    Without the cost of recording, the run is shorter by up to the cost of all events, and of the
    faults that fault-around spares other runs.
    """
    frame = frame_of(recording)
    if frame.end_ns <= frame.start_ns:
        return
    time_ns = recording.trace.events["time_ns"]
    within = (time_ns >= frame.start_ns) & (time_ns <= frame.end_ns)
    events = recording.trace.events.take(within)
    event_ns = event_cost(events)
    faults = SparedFaults(recording.trace, recording.page_size, event_ns)
    took_s = (frame.end_ns - frame.start_ns) / 1e9
    least_s = took_s - (event_ns * events.rows + faults.total_ns) / 1e9
    off = max(least_s - replayed_s, replayed_s - took_s) / took_s
    if off <= REPLAYED:
        return
    yield Doubt(
        f"the replay of the recorded run takes {replayed_s:.3f} s, the run took {took_s:.3f} s: "
        f"{percent_text(off, 0)} of the time is unexplained",
        spread=off,
        unusable=off > MOST_UNEXPLAINED,
        of_disk=True,
    )


def by_window(start: Start, windows: Sequence[int], replays: Sequence[Timed]) -> Iterator[Doubt]:
    """Yield the doubts about replays under ``windows`` (pages), 0 among them, and their changes."""
    at_zero = replays[list(windows).index(0)]
    yield from _sleep_that_grows(start.recording.page_size, windows, replays, at_zero)
    yield from _strangers(start, windows, replays)
    yield from _speed_that_drops(start, replays)
    yield from _cold_caches(start, windows, replays)


def _speed_that_drops(start: Start, replays: Sequence[Timed]) -> Iterator[Doubt]:
    """A disk that is fast after a rest only: what was read before the start is unknown."""
    if not isinstance(start.device, Stateful) or not start.device.fast_kib:
        return
    page_kib = start.recording.page_size / KIB
    most_kib = max(float(run.work[:, 1].sum()) for run in replays) * page_kib
    if most_kib <= MOST_OF_FAST * start.device.fast_kib:
        return
    yield Doubt(
        f"the disk reads {start.device.fast_kib:,} KiB at full speed after a rest, the start-up up "
        f"to {most_kib:,.0f} KiB, and what is read before it is unknown",
        unusable=True,
    )


def disagreement(page_size: int, windows: Sequence[int], each: Array) -> Iterator[Doubt]:
    """Yield a doubt if captures of the same start differ; ``each`` (captures × windows) is in s.

    The relative standard deviation of single captures is the spread, since each may be the right
    one.
    """
    if len(each) < 2:
        return
    apart = np.ptp(each, axis=0) / np.median(each, axis=0)
    row = int(apart.argmax())
    if apart[row] <= LEAST:
        return
    low, high = each[:, row].min(), each[:, row].max()
    text = (
        f"captures of the same start disagree: {low:.3f} to {high:.3f} s with a window of "
        f"{windows[row] * page_size // 1024} KiB"
    )
    spread = float((each.std(axis=0, ddof=1) / np.median(each, axis=0)).max())
    yield Doubt(text, spread, unusable=bool(apart[row] > MOST))


def other_requests(start: Start, run: Timed) -> Iterator[Doubt]:
    """Yield a doubt if the replay of the recorded run does not send the recorded requests."""
    recorded, replayed = _reads(start, run)
    off = abs(replayed - recorded) / max(recorded, 1)
    if start.cpu_samples is None or off <= LEAST_REQUESTS:
        return
    text = f"{plural(recorded, 'request', 'was')} recorded, and the replay sends {replayed:,}"
    yield Doubt(text, off, unusable=off > MOST_REQUESTS)


def _reads(start: Start, run: Timed) -> tuple[int, int]:
    """Return how many reads were recorded, and how many the replay of the recorded run sends."""
    recorded = int(np.count_nonzero((start.requests["flags"] & Rwbs.READ) > 0))
    return recorded, recorded_reads(start.run, run.work, start.inode_tables)


def _sleep_that_grows(
    page_size: int, windows: Sequence[int], replays: Sequence[Timed], at_zero: Timed
) -> Iterator[Doubt]:
    """All threads sleep for longer under a larger window.

    A clock or another process lets a start sleep as long as before. A sleep that grows with fewer
    requests may in truth be a wait for the disk, or for a thread whose start is unknown.
    """
    asleep = np.array([_asleep_ns(run) for run in replays])
    total = np.array([run.total_ns for run in replays])
    grown = (asleep - _asleep_ns(at_zero)) / np.maximum(total, 1.0)
    row = int(grown.argmax())
    if grown[row] <= LEAST:
        return
    text = (
        f"the time in which all threads sleep increases from {_asleep_ns(at_zero) / 1e9:.2f} s to "
        f"{asleep[row] / 1e9:.2f} s with a window of {windows[row] * page_size // 1024} KiB: a "
        "recorded sleep may be a wait for the disk"
    )
    yield Doubt(text, float(grown[row]) / DEVIATIONS, unusable=bool(grown[row] > MOST))


def _asleep_ns(run: Timed) -> float:
    return run.total_ns - run.compute_ns - run.waited_ns


def _strangers(start: Start, windows: Sequence[int], replays: Sequence[Timed]) -> Iterator[Doubt]:
    """Reads by other processes are replayed at their recorded times, whatever the window."""
    alone = start.without_strangers()
    if alone is None:
        return
    with_them = np.array([run.total_ns for run in replays])
    without = np.array([run.total_ns for run in alone.timed(list(windows))])
    off = np.abs(with_them - without) / np.maximum(with_them, 1.0)
    row = int(off.argmax())
    if off[row] <= LEAST:
        return
    sectors = [each.run.steps["sectors"] for each in (start, alone)]
    number = int(np.count_nonzero(sectors[0]) - np.count_nonzero(sectors[1]))
    text = (
        f"{plural(number, 'read')} of other processes are replayed at their recorded times; "
        "without them "
        f"the seconds change by up to {off[row]:.0%}"
    )
    yield Doubt(text, float(off[row]) / DEVIATIONS, unusable=bool(off[row] > MOST))


def _cold_caches(start: Start, windows: Sequence[int], replays: Sequence[Timed]) -> Iterator[Doubt]:
    """A start that computes much between its reads, on a processor that was not probed.

    After each wait the caches are cold. The recorded computing contains that for the waits of
    window 0, and larger windows have fewer.
    """
    probe = probe_of(start.recording.probe, dev_text(start.disk))
    if probe is not None and (probe.known or cold_samples(probe.computing)):
        return  # an emulated processor (boards/emulated) has no caches
    cpu = replace(start.cpu, cold_ns=COLD_NS, cold_share=COLD_SHARE)
    cold = replace(start, cpu=cpu, cpu_samples=None).timed(list(windows))
    now, then = (np.array([run.total_ns for run in runs]) for runs in (replays, cold))
    off = np.abs(now - then) / np.maximum(now, 1.0)
    row = int(off.argmax())
    if off[row] <= REPLAY:  # the band contains that
        return
    text = (
        "how slowly the processor computes after a wait is unknown, and this start computes much "
        f"between its reads: it may be up to {off[row]:.0%} faster with a window of "
        f"{windows[row] * start.recording.page_size // 1024} KiB"
    )
    yield Doubt(text, float(off[row]) / DEVIATIONS)
