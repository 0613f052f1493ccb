"""A window for each phase of a start: files that are first used in it are read with its window.

A struct file keeps the window that its disk had when it was opened (file_ra_state_init,
mm/readahead.c). So a change of read_ahead_kb acts on files that are opened later. The emulation has
one window for each file: the disk's at its first use.

The change itself takes time on Linux 6.11 to 6.18: while read_ahead_kb is written, the queue of the
disk is frozen for a grace period of RCU (queue_attr_store in block/blk-sysfs.c, af2814149883).
Linux 6.19 writes without the freeze.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from foreread.analyzer.advise.variant import LATEST_NS, Variant
from foreread.analyzer.ingest.tables import Array
from foreread.emulator.linux.operations import Op
from foreread.emulator.linux.rules import Version

# Between a shell's write and its return, on an idle disk and on a busy one: 9.7 to 11.6 ms (Linux
# 6.12 on arm64, 250 Hz).
FREEZE_NS = 10e6
_FREEZES = ((6, 11), (6, 18))


@lru_cache(maxsize=2)  # many windows are tried on one variant
def first_uses(variant: Variant) -> Array:
    """Return the step that first uses each file (by row); the number of steps where none does.

    A page that is in memory, or is read alone, is used without a window.
    """
    run = variant.run
    operation = run.steps["operation"]
    does = operation >= 0
    op = run.program.operations["op"][operation[does]]
    steps = np.flatnonzero(does)[~np.isin(op, (Op.PRESENT, Op.SINGLE))]
    file = run.program.file_of_operations()[operation[steps]]
    first_steps = np.full(len(run.program.files), len(run.steps))
    np.minimum.at(first_steps, file[file >= 0], steps[file >= 0])
    return first_steps


def boundaries(variant: Variant, number: int) -> list[int]:
    """Return steps at which a phase can begin: each has an equal share of the files before it."""
    uses = first_uses(variant)
    uses = np.sort(uses[uses < len(variant.run.steps)])
    cuts = [len(uses) * at // (number + 1) for at in range(1, number + 1)]
    return sorted({int(uses[cut]) for cut in cuts if 0 < cut < len(uses)} - {0})


def phased(variant: Variant, begins: Sequence[int], windows: Sequence[int]) -> Variant:
    """Return the variant with the window (pages) of each phase; ``begins``: of all but the first.

    ``begins`` are rows of its steps. A file system's own window, which the disk's does not change,
    stays.
    """
    files = variant.run.program.files.copy()
    phase = np.searchsorted(begins, first_uses(variant), side="right")
    files["window"] = np.where(files["window"] < 0, np.array(windows)[phase], files["window"])
    run = replace(variant.run, program=replace(variant.run.program, files=files))
    return replace(variant.with_run(run), window=windows[0])


def around(variant: Variant, begin: int, windows: Sequence[int]) -> list[int]:
    """Return the steps at which a phase may begin that is to begin at the step ``begin``.

    A process beside the start changes the window after a time, up to LATEST_NS sooner or later
    than the start uses the file.
    """
    begins = begins_ns(phased(variant, [begin], windows))
    steps = len(variant.run.steps)
    uses = [int(use) for use in np.unique(first_uses(variant)) if 0 < use < steps]
    return [use for use in uses if abs(begins[use] - begins[begin]) <= LATEST_NS]


def freeze_ns(version: Version) -> float:
    """Return for how long a kernel accepts no request when the window of a disk changes."""
    return FREEZE_NS if _FREEZES[0] <= version <= _FREEZES[1] else 0.0


def frozen(variant: Variant, row: int, for_ns: float) -> Variant:
    """Return the variant that waits for ``for_ns`` before a step."""
    run = variant.run
    if not for_ns or row >= len(run.steps):
        return variant
    steps = run.steps.copy()
    steps["sleep_ns"][row] += for_ns
    return variant.with_run(replace(run, steps=steps))


def begins_ns(variant: Variant) -> Array:
    """Return for each step how much of the variant's time has passed when all before it are over.

    All threads go on to their ends, also those that the run does not wait for.
    """
    whole = variant.with_run(replace(variant.run, ends=-1))
    timed, run = whole.timed()
    over = timed.over_ns[len(run.steps) - len(variant.run.steps) :]
    return np.maximum.accumulate(np.concatenate(([0.0], over)))[:-1]
