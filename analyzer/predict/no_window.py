"""The verdict where no window counts for what was read: another remedy, or why none is known."""

from __future__ import annotations

from dataclasses import replace

from analyzer.ingest.recording import Recording
from analyzer.predict.prediction import Prediction, Verdict
from analyzer.predict.remedy import prefetch
from analyzer.predict.stacks import deciding, stacks_of
from boards.base.note import Note, NoteKind
from boards.stack import PREFETCH, Stack


def with_known_windows(prediction: Prediction, recording: Recording) -> Prediction:
    """Return the prediction; with another verdict if no window counts for any disk worth setting.

    A disk without a known window beside others that have one is mentioned in the notes.
    """
    capture = recording.capture
    worth = prediction.worth_setting
    without = [stack for curve in worth for stack in _without(recording, curve.dev)]
    if not without:
        return prediction
    reasons = dict.fromkeys(f"no window counts for {_reason(one)}" for one in without)
    notes = tuple(Note(reason, NoteKind.ANSWER) for reason in reasons)
    if any(deciding(capture, curve.dev) for curve in worth):
        return replace(prediction, notes=(*prediction.notes, *notes))
    return replace(prediction, verdict=_verdict(without[0], recording))


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
