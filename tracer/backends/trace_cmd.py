"""The trace-cmd back-end: ``trace-cmd record`` into an ftrace instance of its own.

``record`` drains the ring buffer while it fills, so that nothing is lost while its readers keep up;
``start`` and ``extract`` would lose every event that does not fit into the buffer.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

from foreread.tracer.backends.base import Recorded
from foreread.tracer.backends.recorder import Recorder
from foreread.tracer.backends.supervised import Supervised
from foreread.tracer.backends.tool import output_of, version_of

_FTRACE_ENABLED = Path("/proc/sys/kernel/ftrace_enabled")
# trace-cmd opens these for writing although it records no functions.
_INSISTED = ("set_ftrace_filter", "set_ftrace_notrace", "set_ftrace_pid", "set_ftrace_notrace_pid")
_REMOVE_SECONDS = 5.0
_READERS_SECONDS = 30.0


class TraceCmdBackend(Recorder):
    """Records with trace-cmd, system-wide, into ``trace.dat``."""

    name = program = package = "trace-cmd"
    file = "trace.dat"

    def _begin(
        self, recording: Supervised, place: Path, events: list[str], buffer_kib: int
    ) -> None:
        instance = place / "instances" / recording.scratch.name
        instance.mkdir()
        self._undo.callback(_remove_instance, instance)
        self._undo.callback(recording.clean)  # goes first: trace-cmd's readers hold the instance
        output = recording.scratch / self.file
        standins = unwritable(instance)
        self._notes += _standin_notes(standins)
        command = record_command(instance.name, events, buffer_kib, output)
        recording.start(command, instance, standins)
        await_readers(recording, output)

    def _judge(self, file: Path) -> Recorded:
        return Recorded(read_lost(file))


def record_command(instance: str, events: list[str], buffer_kib: int, output: Path) -> list[str]:
    """Return the ``trace-cmd record`` command line, ready for a workload to be appended."""
    command = ["trace-cmd", "record", "-B", instance, "-C", "mono", "-b", str(buffer_kib)]
    for event in events:
        command += ["-e", event]
    if re.search(r"version ([3-9]|\d\d)\.", version_of("trace-cmd")):
        command += ["--compression", "none"]
    return [*command, "-o", str(output)]


def await_readers(recording: Supervised, output: Path) -> None:
    """Return once every CPU's buffer has its reader at work.

    trace-cmd 3.1.6 does not wait for them: a reader that is signalled to end before it has begun
    leaves its CPU's events in the buffer without a warning.
    """
    until = time.monotonic() + _READERS_SECONDS
    while sum(_is_reading(pid, output) for pid in recording.processes()) < (os.cpu_count() or 1):
        if time.monotonic() > until:
            raise recording.failure("does not read every CPU's buffer")
        time.sleep(0.005)


def _is_reading(pid: int, output: Path) -> bool:
    """Return whether a process waits for a CPU's buffer or has read events from it."""
    with contextlib.suppress(OSError):
        files = [str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir()]
        sources = [file for file in files if file.endswith("/trace_pipe_raw")]
        sizes = [Path(file).stat().st_size for file in files if file.startswith(f"{output}.cpu")]
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return bool(sources) and (state == "S" or any(sizes))
    return False


def unwritable(instance: Path) -> list[Path]:
    """Return the files that trace-cmd tries to write but cannot, or must not.

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
    return [f"trace-cmd cannot write {names}: scratch files replaced them in a mount namespace"]
