"""Trials on a loop device, made as on a target by the shells that boards have."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from loop_image import LoopImage
from waiting import left_s

from foreread.boards.target import LocalTarget
from foreread.tracer.remote.trials import TargetTrials, trials_on
from foreread.tracer.runs.options import RunOptions, Streams
from foreread.tracer.trials.trial import Trial, TrialOptions

# Other work on this machine may be noticed; nothing is asserted about it.
MEASURED = ("ok", "contended", "warm")

Make = Callable[..., AbstractContextManager[TargetTrials]]


@contextmanager
def trials_by(shell: tuple[str, ...], loop: LoopImage) -> Iterator[Make]:
    """Yield a function that makes trials of a command; without words it reads the data."""
    with open(os.devnull, "wb") as file:  # noqa: PTH123
        nowhere = Streams(stdout=file.fileno(), stderr=file.fileno())

        def trials(
            *words: str, streams: Streams = nowhere, **options: Any
        ) -> AbstractContextManager[TargetTrials]:
            command = list(words) or [str(loop.busybox), "cat", str(loop.data)]
            run = RunOptions(command, streams=streams, allow_warm=True)
            asked = TrialOptions(run, devices=(loop.device,), wait_s=left_s(), **options)
            return trials_on(LocalTarget(), asked, shell)

        yield trials


def at(loop: LoopImage, kb: int) -> Trial:
    """Return the trial of a window."""
    return Trial(((str(loop.knob), str(kb)),))
