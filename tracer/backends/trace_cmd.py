"""The trace-cmd back-end: ``trace-cmd record`` into an ftrace instance of its own.

``record`` drains the ring buffer while it fills, so that nothing is lost as long as its readers
keep up; ``start`` and ``extract`` would lose whatever does not fit into the buffer at once.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from pathlib import Path

from tracer.backends.base import Probe, Recorded, RecordError
from tracer.backends.supervised import ON_DISK, Supervised
from tracer.backends.tool import output_of, version_of
from tracer.backends.trial import trial

TRACE_DAT = "trace.dat"
_FTRACE_ENABLED = Path("/proc/sys/kernel/ftrace_enabled")
# trace-cmd opens these for writing although it records no functions.
_INSISTED = ("set_ftrace_filter", "set_ftrace_notrace", "set_ftrace_pid", "set_ftrace_notrace_pid")
_REMOVE_SECONDS = 5.0


class TraceCmdBackend:
    """Records with trace-cmd, system-wide, into ``trace.dat``."""

    name = "trace-cmd"

    def __init__(self) -> None:
        self._recording: Supervised | None = None
        self._instance: Path | None = None
        self._standins: list[Path] = []

    def probe(self) -> Probe:
        """Return whether trace-cmd can record here, by recording for a moment."""
        if shutil.which("trace-cmd") is None:
            return Probe(self.name, False, "trace-cmd is not installed", "install trace-cmd")
        return trial(self, version_of(self.name))

    def start(self, trace_directory: Path, events: list[str], buffer_kib: int) -> None:
        """Begin recording ``events`` of all CPUs; RecordError when trace-cmd cannot."""
        self._recording = Supervised(self.name, trace_directory)
        try:
            self._instance = _make_instance(self._recording.scratch.name)
            self._standins = unwritable(self._instance)
            output = self._recording.scratch / TRACE_DAT
            command = record_command(self._instance.name, events, buffer_kib, output)
            self._recording.start(command, self._instance, self._standins)
        except BaseException:
            self._clean()
            raise

    def stop(self) -> Recorded:
        """End the recording, move ``trace.dat`` into the trace directory, count what was lost."""
        if self._recording is None:
            return Recorded({})
        try:
            self._recording.stop()
            notes = _standin_notes(self._standins)
            notes += [] if self._recording.in_memory else [ON_DISK]
            trace_dat = self._recording.deliver(TRACE_DAT)
        finally:
            self._clean()
        return Recorded(read_lost(trace_dat), notes)

    def _clean(self) -> None:
        if self._recording is not None:
            self._recording.clean()
            self._recording = None
        if self._instance is not None:
            _remove_instance(self._instance)
            self._instance = None


def record_command(instance: str, events: list[str], buffer_kib: int, output: Path) -> list[str]:
    """Return the ``trace-cmd record`` command line, ready for a workload to be appended."""
    command = ["trace-cmd", "record", "-B", instance, "-C", "mono", "-b", str(buffer_kib)]
    for event in events:
        command += ["-e", event]
    if re.search(r"version ([3-9]|\d\d)\.", version_of("trace-cmd")):
        command += ["--compression", "none"]
    return [*command, "-o", str(output)]


def unwritable(instance: Path) -> list[Path]:
    """Return the files trace-cmd insists on writing that cannot be (or must not be) written.

    Writing them takes CAP_SYS_RESOURCE, lockdown denies it. ``ftrace_enabled`` is also left
    alone where it is 0: trace-cmd would set it to 1 and leave it.
    """
    candidates = [instance / name for name in _INSISTED]
    denied = [path for path in candidates if path.exists() and not _opens(path)]
    return denied if _is_on(_FTRACE_ENABLED) else [_FTRACE_ENABLED, *denied]


def read_lost(trace_dat: Path) -> dict[int, int]:
    """Return CPU -> lost events from the kernel's statistics in ``trace_dat``."""
    return parse_lost(output_of(["trace-cmd", "report", "--stat", "-i", str(trace_dat)]))


def parse_lost(text: str) -> dict[int, int]:
    """Return CPU -> overwritten and dropped events from ``trace-cmd report --stat``."""
    lost: dict[int, int] = {}
    cpu = 0
    for line in text.splitlines():
        if match := re.fullmatch(r"\s*(CPU|overrun|commit overrun|dropped events):\s*(\d+)", line):
            if match[1] == "CPU":
                cpu = int(match[2])
            elif number := int(match[2]):
                lost[cpu] = lost.get(cpu, 0) + number
    return lost


def tracefs() -> Path:
    """Return where tracefs is mounted; RecordError when it is not, or not for this user."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, mountpoint, fstype, *_ = line.split(" ")
        if fstype == "tracefs":
            return Path(mountpoint)
    raise RecordError(
        "tracefs is not mounted", "mount it: mount -t tracefs tracefs /sys/kernel/tracing"
    )


def _make_instance(name: str) -> Path:
    instance = tracefs() / "instances" / name
    try:
        instance.mkdir()
    except OSError as error:
        raise RecordError(
            f"cannot make ftrace instance {instance}: {error.strerror}",
            "run as root; the kernel needs CONFIG_TRACING and instances (Linux 3.10)",
        ) from error
    return instance


def _remove_instance(instance: Path) -> None:
    """Remove ``instance``; its readers, just killed, may take a moment to let go of it."""
    until = time.monotonic() + _REMOVE_SECONDS
    while instance.exists():
        try:
            instance.rmdir()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def _opens(path: Path) -> bool:
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_WRONLY))
        return True
    return False


def _is_on(switch: Path) -> bool:
    with contextlib.suppress(OSError):
        value = switch.read_text()
        if value.strip() == "1":
            switch.write_text(value)
            return True
    return not switch.exists()


def _standin_notes(standins: list[Path]) -> list[str]:
    if not standins:
        return []
    names = ", ".join(path.name for path in standins)
    return [f"trace-cmd may not write {names}: scratch files stood in, in a mount namespace"]
