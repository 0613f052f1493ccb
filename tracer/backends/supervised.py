"""A recorder (perf, trace-cmd) as a child process that cannot outlive foreread.

The recorder's workload is ``hold.sh``. It reports when events are on, and ends when this process
closes its pipe or dies, with any version of the recorder. ``supervise.sh``, which runs the
recorder, then removes the scratch directory and the ftrace instance.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from foreread.boards.base.owner import MARK, PREFIX, is_left, owner_tag
from foreread.boards.base.scratch import prefix
from foreread.boards.base.units import KIB
from foreread.tracer.backends.tool import environment
from foreread.tracer.error import RecordError
from foreread.tracer.memory import available_memory_kib

_HERE = Path(__file__).resolve().parent
_START_SECONDS = 60.0
_STOP_SECONDS = 300.0
_MEMORY = Path("/dev/shm")
_MEMORY_KIB = 256 * KIB
_ENDED = "ended"


class Supervised:
    """One recording of a recorder: ``start``, ``stop``, ``deliver``, and ``clean`` in any case."""

    def __init__(self, name: str, trace_directory: Path) -> None:
        self.name = name
        self.in_memory = _memory_has_room()
        parent = _MEMORY if self.in_memory else trace_directory
        for scratch in leftovers(parent):
            shutil.rmtree(scratch, ignore_errors=True)
        self.scratch = Path(tempfile.mkdtemp(prefix=prefix(), dir=parent)).resolve()
        self._trace_directory = trace_directory
        self._process: subprocess.Popen[bytes] | None = None
        # The log has its own memory: if the recording runs out of space, the reason must still fit.
        self._log = os.fdopen(os.memfd_create("foreread-log"), "r+b")

    def start(
        self, command: list[str], instance: Path | None = None, standins: list[Path] | None = None
    ) -> None:
        """Run ``command`` and return once it records.

        ``standins`` are kernel files that it may not write: scratch files replace them in a
        separate mount namespace. Raises RecordError when recording does not begin.
        """
        hold = ["sh", str(_HERE / "hold.sh"), str(self.scratch / _ENDED)]
        supervise = [
            "sh",
            str(_HERE / "supervise.sh"),
            str(self.scratch),
            str(instance or ""),
            *map(str, standins or []),
            "--",
        ]
        # Slave, not private: an unmount elsewhere during the recording also takes effect here.
        namespace = ["unshare", "--mount", "--propagation", "slave"] if standins else []
        self._spawn([*namespace, *supervise, *command, *hold])
        self._await_recording()

    def processes(self) -> list[int]:
        """Return the ids of the supervisor, the recorder and all that it has started."""
        return [] if self._process is None else sorted(_members(self._process.pid))

    def stop(self) -> None:
        """End the recording in order; RecordError when the recorder failed or hangs."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(b"stop\n")
            self._process.stdin.close()
        try:
            status = self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raise self.failure("does not end its recording") from None
        if status != 0 or not (self.scratch / _ENDED).exists():
            raise self.failure(f"failed (exit status {status})")

    def deliver(self, name: str) -> Path:
        """Move the recorded file ``name`` into the trace directory and return its place there."""
        destination = self._trace_directory / name
        try:
            return Path(shutil.move(self.scratch / name, destination))
        except OSError as error:
            destination.unlink(missing_ok=True)
            raise RecordError(
                f"{destination}: {error.strerror or error}",
                "free space there or write the capture to another file system",
            ) from error

    def clean(self) -> None:
        """Kill the recorder's remaining processes and remove its scratch directory."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()
            self._process = None
        self._log.close()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _spawn(self, command: list[str]) -> None:
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env={**environment(), MARK: owner_tag()},
                cwd=self.scratch,  # trace-cmd leaves files there when it runs out of space
                start_new_session=True,  # Ctrl-C is foreread's to handle, not the recorder's
            )
        except OSError as error:
            raise self.failure(str(error)) from error

    def _await_recording(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], _START_SECONDS)
        if not ready:
            raise self.failure(f"does not record after {_START_SECONDS:.0f} s")
        if not self._process.stdout.readline():
            raise self.failure("does not start")

    def failure(self, what: str) -> RecordError:
        """Return the error of a recorder that ``what``, with its last output and the remedy."""
        output = self._log_text()
        return RecordError(
            f"{self.name} {what}" + (f": {output}" if output else ""), remedy_for(output)
        )

    def _log_text(self) -> str:
        text = os.pread(self._log.fileno(), 1 << 16, 0).decode(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return " ".join(lines[:6])[:400]


def _members(group: int) -> Iterator[int]:
    for pid in (int(process.name) for process in Path("/proc").glob("[0-9]*")):
        with contextlib.suppress(ProcessLookupError):
            if os.getpgid(pid) == group:
                yield pid


def leftovers(parent: Path = _MEMORY) -> list[str]:
    """Return this user's scratch directories whose foreread, and its supervisor, were killed."""
    return sorted(
        str(scratch)
        for scratch in parent.glob(f"{PREFIX}*-*-*")
        if is_left(scratch.name) and scratch.lstat().st_uid == os.geteuid()
    )


def remedy_for(output: str) -> str:
    """Return the remedy for the output of a recorder that failed."""
    text = output.lower()
    if "no space left" in text:
        return "free memory (recordings are kept in /dev/shm) or disk space and record again"
    if any(word in text for word in ("permission", "permitted", "paranoid", "no permissions")):
        return "run as root (CAP_PERFMON or CAP_SYS_ADMIN, and a readable tracefs)"
    if "mounted" in text:
        return "mount tracefs: mount -t tracefs tracefs /sys/kernel/tracing"
    return "read its message above, or use another recorder with --backend NAME"


def _memory_has_room() -> bool:
    """Whether a recording fits into memory; writing it there adds no events to the trace."""
    try:
        file_system = os.statvfs(_MEMORY)
        available_kib = available_memory_kib()
    except OSError:
        return False
    free_kib = file_system.f_bavail * file_system.f_frsize // KIB
    return os.access(_MEMORY, os.W_OK) and min(free_kib, available_kib // 2) >= _MEMORY_KIB
