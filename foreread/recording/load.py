"""Records what a running machine reads and writes by itself, without a start."""

from __future__ import annotations

import math
from collections.abc import Callable

from foreread.analyzer.ingest.arguments import StrPath
from foreread.boards.base.interrupts import orderly_exit
from foreread.boards.base.silent import silent
from foreread.boards.open import LOCAL, open_target
from foreread.checks import checked_path, key_of
from foreread.recording.steps import recorded_load
from foreread.recording.words import target_words
from foreread.tracer.backends.base import LOAD_EVENTS
from foreread.tracer.formats.capture import Capture
from foreread.tracer.machines import TARGETS_BACKEND, recorder_for
from foreread.tracer.runs.options import Ending, RunOptions
from foreread.tracer.runs.output import recording_folder
from foreread.tracer.runs.recording import RecordOptions
from foreread.version import VERSION

_LONGER_S = 60  # than the recording: what sleeps is ended with it


def record_load(
    output: StrPath,
    seconds: float,
    *,
    target: str = LOCAL,
    identity: StrPath | None = None,
    buffer_kib: int | None = None,
    wait_s: float = 0.0,
    tell: Callable[[str], None] = silent,
) -> Capture:
    """Record for ``seconds`` what a machine reads and writes, and return the capture's metadata.

    Nothing is started and no setting is changed: caches and windows are as they are. The capture
    says what :func:`foreread.record` of a start beside the same programs would meet.

    Args:
        output: the capture, a folder or an archive, as for :func:`foreread.record`.
        seconds: duration of the recording.
        target: the machine, as for :func:`foreread.record`.
        identity: private key that logs in to an ssh target.
        buffer_kib: trace buffer per CPU; None: by the machine's memory.
        wait_s: how long to wait for another foreread that holds the machine's settings.
        tell: is called with each step, in words.

    Raises:
        tracer.error.RecordError: the load cannot be recorded; ``remedy`` says what to do.
        boards.target.TargetError: the target cannot be reached.
    """
    ending = Ending(duration_s=seconds)
    ending.check()
    options = RecordOptions(
        run=RunOptions(["sleep", str(math.ceil(seconds) + _LONGER_S)], ending),
        events=LOAD_EVENTS,
        buffer_kib=buffer_kib,
        wait_s=wait_s,
        foreread=VERSION,
        words=(*target_words(target, key_of(identity)), "--load", f"{seconds:g}s"),
        tell=tell,
        note_mapped=False,
        is_load=True,
    )
    with (
        orderly_exit(),
        recording_folder(checked_path(output, "output")) as folder,
        open_target(target, identity=key_of(identity), tell=tell) as opened,
    ):
        return recorded_load(recorder_for(opened, TARGETS_BACKEND).run(options, folder))
