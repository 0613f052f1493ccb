"""Findings from the replays of a start about faults in its capture.

The replay at window 0 cannot reveal time that is charged to the wrong thread, since everything
takes as long as in the recording. These checks examine how the replay changes with the window,
where it differs from the recorded run, and other captures of the same start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from analyzer.ingest.tables import Array, Rwbs
from analyzer.predict.bands import DEVIATIONS
from analyzer.predict.checks import Finding
from analyzer.predict.start import Start
from analyzer.program.inode_tables import recorded_reads
from boards.base.counted import plural
from boards.base.units import KIB
from emulator.devices.stateful import Stateful
from emulator.linux.steps import Timed

# In parts of the seconds: below the first no finding; above the second the seconds are unusable.
LEAST, MOST = 0.01, 0.25
# In parts of the recorded requests: the replay at window 0 has to send the same ones.
LEAST_REQUESTS, MOST_REQUESTS = 0.01, 0.10
MOST_OF_FAST = 0.5  # in parts of the fast KiB: what was read before the start may be the rest


def replay_findings(
    start: Start, windows: Sequence[int], replays: Sequence[Timed]
) -> Iterator[Finding]:
    """Yield the findings of one start, replayed under ``windows`` (pages), 0 among them."""
    at_zero = replays[list(windows).index(0)]
    yield from _other_requests(start, at_zero)
    yield from _sleep_that_grows(start.recording.page_size, windows, replays, at_zero)
    yield from _strangers(start, windows, replays)
    yield from _speed_that_drops(start, replays)


def _speed_that_drops(start: Start, replays: Sequence[Timed]) -> Iterator[Finding]:
    """A disk that is fast after a rest only: what was read before the start is unknown."""
    if not isinstance(start.device, Stateful) or not start.device.fast_kib:
        return
    page_kib = start.recording.page_size / KIB
    most_kib = max(float(one.work[:, 1].sum()) for one in replays) * page_kib
    if most_kib <= MOST_OF_FAST * start.device.fast_kib:
        return
    yield Finding(
        f"the disk reads {start.device.fast_kib:,} KiB at full speed after a rest, the start-up up "
        f"to {most_kib:,.0f} KiB, and what is read before it is unknown",
        unusable=True,
    )


def disagreement(page_size: int, windows: Sequence[int], each: Array) -> Iterator[Finding]:
    """Yield a finding if captures of the same start differ; ``each`` (captures × windows) is in s.

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
    yield Finding(text, spread, unusable=bool(apart[row] > MOST))


def _other_requests(start: Start, at_zero: Timed) -> Iterator[Finding]:
    """The replay at window 0 does not send the requests that were recorded."""
    flags = start.requests["flags"]
    recorded = int(np.count_nonzero((flags & Rwbs.READ) > 0))
    replayed = recorded_reads(start.run, at_zero.work, start.inode_tables)
    off = abs(replayed - recorded) / max(recorded, 1)
    if start.cpu_samples is None or off <= LEAST_REQUESTS:
        return
    text = f"{plural(recorded, 'request', 'was')} recorded, and the replay sends {replayed:,}"
    yield Finding(text, off, unusable=off > MOST_REQUESTS)


def _sleep_that_grows(
    page_size: int, windows: Sequence[int], replays: Sequence[Timed], at_zero: Timed
) -> Iterator[Finding]:
    """All threads sleep for longer under a larger window.

    A clock or another process lets a start sleep as long as before. A sleep that grows with fewer
    requests may in truth be a wait for the disk, or for a thread whose start is unknown.
    """
    asleep = np.array([_asleep_ns(one) for one in replays])
    total = np.array([one.total_ns for one in replays])
    grown = (asleep - _asleep_ns(at_zero)) / np.maximum(total, 1.0)
    row = int(grown.argmax())
    if grown[row] <= LEAST:
        return
    text = (
        f"the time in which all threads sleep increases from {_asleep_ns(at_zero) / 1e9:.2f} s to "
        f"{asleep[row] / 1e9:.2f} s with a window of {windows[row] * page_size // 1024} KiB: a "
        "recorded sleep may be a wait for the disk"
    )
    yield Finding(text, float(grown[row]) / DEVIATIONS, unusable=bool(grown[row] > MOST))


def _asleep_ns(run: Timed) -> float:
    return run.total_ns - run.compute_ns - run.waited_ns


def _strangers(start: Start, windows: Sequence[int], replays: Sequence[Timed]) -> Iterator[Finding]:
    """Reads by other processes are replayed at their recorded times, whatever the window."""
    alone = start.without_strangers()
    if alone is None:
        return
    with_them = np.array([one.total_ns for one in replays])
    without = np.array([one.total_ns for one in alone.timed(list(windows))])
    off = np.abs(with_them - without) / np.maximum(with_them, 1.0)
    row = int(off.argmax())
    if off[row] <= LEAST:
        return
    sectors = [one.run.steps["sectors"] for one in (start, alone)]
    number = int(np.count_nonzero(sectors[0]) - np.count_nonzero(sectors[1]))
    text = (
        f"{plural(number, 'read')} of other processes are replayed at their recorded times; "
        "without them "
        f"the seconds change by up to {off[row]:.0%}"
    )
    yield Finding(text, float(off[row]) / DEVIATIONS, unusable=bool(off[row] > MOST))
