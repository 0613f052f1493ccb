"""What is known of the readahead model on the kernel of a recording.

The project compared some setups (confirmed.py). Users judge their own kernels with ``foreread
doctor --judge`` (boards/judged.py), and what they find comes first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from analyzer.ingest.recording import Recording
from analyzer.predict.confirmed import PAGES, Setting, setting_of, unlike
from boards.base.note import Note, NoteKind
from boards.judged import JudgedError, JudgedKernel, judged_kernels
from emulator.linux.rules import KernelError, Version, version_of


@dataclass
class Known:
    """Doubts about the readahead model, and notes on what dispels them."""

    doubts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def readahead_judged(recording: Recording, version: Version) -> Known:
    """Return what is known of the readahead of kernel ``version`` for a recording."""
    try:
        judged = judged_kernels()
    except JudgedError as error:
        known = _known(recording, version, [])
        known.notes.append(f"judged kernels are not considered: {error}")
        return known
    return _known(recording, version, judged)


def _known(recording: Recording, version: Version, judged: Iterable[JudgedKernel]) -> Known:
    setting, known = setting_of(recording, version), Known()
    own = [one for one in judged if _is_of(one, recording, version)]
    own = [one for one in own if one.file_system in setting.filesystems]
    for one in own:
        if one.result == "different":
            known.doubts.append(
                f"this kernel's readahead on {one.file_system} differs from the model (judged on "
                f"{one.date}): {one.difference}"
            )
        else:
            text = (
                f"readahead on {one.file_system}: confirmed on this kernel by foreread doctor "
                f"--judge, {one.date}"
            )
            known.notes.append(Note(text, NoteKind.BASIS))
    rest = setting.filesystems - {one.file_system for one in own}
    if rest or not own:
        known.doubts += (
            f"the readahead model was not compared with a running kernel for {what}"
            for what in unlike(Setting(version, setting.machine, rest), PAGES)
        )
    return known


def _is_of(one: JudgedKernel, recording: Recording, version: Version) -> bool:
    """Return whether a judgement is of this recording's very kernel, and that is predicted for."""
    capture = recording.capture
    if capture is None:
        return False
    host = capture.host
    try:
        same = version_of(one.release) == version
    except KernelError:
        return False
    names = (one.release, one.version, one.machine, one.page_size)
    return same and names == (host.kernel, host.version, host.machine, host.page_size)
