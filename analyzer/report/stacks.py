"""The device that the report means: its window, where its knob is, and its facts."""

from __future__ import annotations

from foreread.analyzer.predict.prediction import Curve
from foreread.analyzer.predict.stacks import deciding, stacks_of
from foreread.analyzer.report.subject import Subject
from foreread.boards.knobs import KnobError, check_setting, is_disk_name
from foreread.boards.stack import Stack
from foreread.boards.window import PREFIX

_MOST = 4  # stacks of one disk in the answer


def knobs_now(subject: Subject, curve: Curve) -> list[str]:
    """Return the files in sysfs with the windows that count for a disk until the next boot.

    A capture may have any text, and they are for a root's shell: others than knobs are left out.
    """
    stacks = stacks_of(subject.recording.capture, curve.dev)
    decisive = deciding(subject.recording.capture, curve.dev)
    knobs = [
        stack.knob if stack.lasting.startswith(PREFIX) else stack.lasting for stack in decisive
    ]
    if not stacks and is_disk_name(curve.name):
        knobs = [f"/sys/block/{curve.name}/queue/read_ahead_kb"]
    return [knob for knob in knobs if _is_knob(knob)]


def whose_window(subject: Subject) -> list[tuple[str, str]]:
    """Return rows that name the device of the answer's window; none if it is unknown."""
    capture = subject.recording.capture
    rows = []
    for curve in subject.prediction.worth_setting:
        for stack in stacks_of(capture, curve.dev)[:_MOST]:
            rows.append((f"Window of {stack.mountpoint}", _in_words(stack)))
    return rows


def stack_facts(subject: Subject) -> list[str]:
    """Return what matters about the stacks under the files that were read, each fact once."""
    capture = subject.recording.capture
    stacks = [
        stack for c in subject.prediction.worth_setting for stack in stacks_of(capture, c.dev)
    ]
    return list(dict.fromkeys(fact for stack in stacks for fact in stack.facts))


def _in_words(stack: Stack) -> str:
    under = f" on {' on '.join(stack.layers)}" if stack.layers else ""
    if stack.unknown:
        return f"{stack.file_system}{under}: no window counts: {stack.unknown}; {stack.remedy}"
    present = "" if stack.read_ahead_kb is None else f", {stack.read_ahead_kb:,} KiB found"
    return f"{stack.file_system}{under}: that of {stack.device} ({stack.knob}{present})"


def _is_knob(path: str) -> bool:
    try:
        check_setting(path, "128")
    except KnobError:
        return False
    return True
