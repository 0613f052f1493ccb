"""The stacks of a recording: whose window counts for what was read from a disk."""

from __future__ import annotations

from foreread.boards.stack import Stack
from foreread.tracer.formats.capture import Metadata


def stacks_of(capture: Metadata, dev: str) -> list[Stack]:
    """Return the stacks of the file systems that read from disk ``dev``; overlays have no files.

    ``dev`` is the "major:minor" of a disk, or of a file system without one. Empty if the capture
    does not say.
    """
    own = {dev, *(fs for disk in capture.devices if disk.dev == dev for fs in disk.filesystems)}
    return [one for one in capture.stacks if one.dev in own and one.file_system != "overlay"]


def deciding(capture: Metadata, dev: str) -> list[Stack]:
    """Return one stack for each window that counts for reads from disk ``dev``."""
    known = [one for one in stacks_of(capture, dev) if one.knob and not one.unknown]
    return list({one.knob: one for one in reversed(known)}.values())[::-1]


def current_kb(capture: Metadata, dev: str) -> int | None:
    """Return the window (KiB) found for the files on disk ``dev``, if all have the same."""
    found = {one.read_ahead_kb for one in deciding(capture, dev)}
    return found.pop() if len(found) == 1 else None
