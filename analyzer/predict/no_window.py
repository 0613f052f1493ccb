"""The verdict where no window counts for what was read: another remedy, or why none is known."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.ingest.recording import Recording
from analyzer.predict.prediction import Curve, Verdict
from analyzer.predict.remedy import prefetch
from analyzer.predict.stacks import deciding, stacks_of
from boards.base.note import Note, NoteKind
from boards.stack import PREFETCH, Stack


def windowless(
    recording: Recording, worth: Sequence[Curve]
) -> tuple[Verdict | None, tuple[Note, ...]]:
    """Return the verdict if no window counts for any disk ``worth`` setting, else None.

    The notes mention disks without a known window beside others that have one.
    """
    capture = recording.capture
    without = [stack for curve in worth for stack in _without(recording, curve.dev)]
    if not without:
        return None, ()
    if not any(deciding(capture, curve.dev) for curve in worth):
        return _verdict(without[0], recording), ()
    reasons = dict.fromkeys(f"no window counts for {_reason(stack)}" for stack in without)
    return None, tuple(Note(reason, NoteKind.ANSWER) for reason in reasons)


def _without(recording: Recording, dev: str) -> list[Stack]:
    """Return the stacks that leave a disk without a known window."""
    if deciding(recording.capture, dev):
        return []
    return [stack for stack in stacks_of(recording.capture, dev) if stack.unknown]


def _verdict(stack: Stack, recording: Recording) -> Verdict:
    why = f"no window counts for {_reason(stack)}"
    if stack.remedy != PREFETCH:
        return Verdict("none", None, f"{why}; {stack.remedy}")
    return Verdict("none", None, why, remedy=prefetch(recording))


def _reason(stack: Stack) -> str:
    return f"the files of {stack.mountpoint} ({stack.file_system}): {stack.unknown}"
