"""The stacks of a recording, and the windows that count for reads from a disk."""

from __future__ import annotations

from foreread.boards.stack import Stack
from foreread.tracer.formats.capture import Metadata


def stacks_of(capture: Metadata, dev: str) -> list[Stack]:
    """Return the stacks of the file systems that read from disk ``dev``; overlays have no files.

    ``dev`` is the "major:minor" of a disk, or of a file system without one. Empty if the capture
    does not say.
    """
    own = {dev, *(fs for disk in capture.devices if disk.dev == dev for fs in disk.filesystems)}
    return [
        stack for stack in capture.stacks if stack.dev in own and stack.file_system != "overlay"
    ]


def deciding(capture: Metadata, dev: str) -> list[Stack]:
    """Return one stack for each window that counts for reads from disk ``dev``."""
    stacks = [stack for stack in stacks_of(capture, dev) if stack.knob and not stack.unknown]
    return list({stack.knob: stack for stack in reversed(stacks)}.values())[::-1]


def current_kb(capture: Metadata, dev: str) -> int | None:
    """Return the window (KiB) of the files on disk ``dev``, if all have the same."""
    windows = {stack.read_ahead_kb for stack in deciding(capture, dev)}
    return windows.pop() if len(windows) == 1 else None
