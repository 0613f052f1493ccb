"""The window that the board's kernel gives each disk, beside the window found there."""

from __future__ import annotations

from collections.abc import Iterator

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.stacks import deciding
from foreread.emulator.linux.default_window import DefaultWindow, DiskQueue, default_window
from foreread.emulator.linux.rules import KernelError, Version, series_text, version_of
from foreread.tracer.formats.capture import Device

SINCE = "it was set, or the disk's limits changed, after the board started"
_DISKS = "/sys/block/"


def default_of(recording: Recording, device: Device | None) -> DefaultWindow | None:
    """Return the default of the recorded kernel for a disk; None if either is unknown.

    ``device`` is None where no capture describes the disk: kernels before 5.10 do not need it. A
    disk whose files have another window (btrfs) has no default that matters.
    """
    if device is not None and _has_no_say(recording, device):
        return None
    queue = None if device is None else DiskQueue.from_sysfs(device.queue)
    try:
        version = version_of(recording.kernel or "")
        default = default_window(version, queue, page_size=recording.page_size)
    except KernelError:
        return None
    return None if default.read_ahead_kb is None else default


def _has_no_say(recording: Recording, device: Device) -> bool:
    """Return whether the windows of a disk's files are known, and none of them is its own."""
    knobs = [stack.knob for stack in deciding(recording.capture, device.dev)]
    return bool(knobs) and not any(knob.startswith(_DISKS) for knob in knobs)


def described(recording: Recording, device: Device) -> str | None:
    """Say whether the window found is the kernel's default for the disk; None if unknown."""
    default = default_of(recording, device)
    if default is None:
        return None
    version = version_of(recording.kernel or "")
    text = beside_default(version, default, device.read_ahead_kb_before)
    return f"{text}: {SINCE}" if text.startswith("not ") else text


def beside_default(
    version: Version, default: DefaultWindow, read_ahead_kb: int, what: str = "disk"
) -> str:
    """Say whether the window of ``what`` is the default of a kernel, and the rule."""
    linux = series_text(version)
    if default.read_ahead_kb == read_ahead_kb:
        return f"the default of {linux} for this {what} ({default.why})"
    return (
        f"not the default of {linux} for this {what}, {default.read_ahead_kb:,} KiB ({default.why})"
    )


def notes(recording: Recording, used: set[str]) -> Iterator[str]:
    """Yield a note on the window of each disk that was read; ``used`` are their major:minor."""
    for device in recording.capture.devices:
        text = described(recording, device)
        if device.dev in used and text is not None:
            yield f"{device.name}: {device.read_ahead_kb_before:,} KiB now is {text}"
