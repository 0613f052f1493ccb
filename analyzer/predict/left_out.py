"""The error that predicted seconds do not contain, from measured starts on known disks."""

from __future__ import annotations

from math import sqrt

import numpy as np

from analyzer.ingest.tables import Array
from emulator.devices.device import DeviceModel
from emulator.devices.paced import Paced

# Standard deviation of measured seconds from predicted ones on boards of known cost, in parts:
# the median error of nine starts, 1.3 % (docs/explanation/verdict.md), / 0.67 of a normal
# distribution.
REPLAY = 0.019
# With a limiter, both by maximum likelihood from eight captures of ffmpeg, initdb and libreoffice
# (docs/explanation/verdict.md, "Band"). In parts of the seconds: the difference between consecutive
# runs. Equal starts send requests that differ by 0.8 %; ten starts that were repeated, on a machine
# that was not always idle, differed by 2.9 % beside the slice.
RUN = 0.015
# In parts of the seconds that a window saves or adds.
CHANGED = 0.0075


def left_out(device: DeviceModel, seconds: Array, recorded: float) -> Array:
    """Return the standard deviation in s of a measured start from each of ``seconds``.

    ``recorded`` are the seconds with the window of the recording. A limiter grants a slice's budget
    at once, and the phase at which a start begins and ends is unknown: both are uniform over a
    slice.
    """
    if not isinstance(device, Paced) or not device.slice_ns:
        return REPLAY * seconds
    phase = device.slice_ns / 1e9 * sqrt(2 / 12)
    changed = CHANGED * (seconds - recorded)
    return np.sqrt(phase**2 + (RUN * seconds) ** 2 + changed**2)
