"""The interface of a target: run commands, transfer files, read and write its knobs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from foreread.boards.base.child import completed
from foreread.boards.error import BoardsError

NOT_EXECUTABLE, NOT_FOUND = 126, 127


class TargetError(BoardsError, RuntimeError):
    """A target that cannot be reached, or did not answer; ``remedy`` says what to do."""


class NoRights(BoardsError, PermissionError):
    """An operation that needs root on the target; ``remedy`` says how to become root there."""

    def __init__(self, code: int, reason: str, path: str, remedy: str) -> None:
        PermissionError.__init__(self, code, reason, path)
        self.remedy = remedy


def too_slow(place: str, step: str, limit_s: float) -> TargetError:
    """Return the error of a step that took too long."""
    return TargetError(
        f"{place}: {step} took longer than {limit_s:g} s",
        "allow more time, or see the board's console for the reason",
    )


@dataclass(frozen=True)
class Result:
    """The result of a command: its exit status, as a POSIX shell reports it, and its output.

    126 and 127: the command could not be started or found; 128 + n: signal n killed it.
    """

    status: int
    stdout: bytes
    stderr: bytes


class Target(Protocol):
    """A machine with commands to run, and with files and knobs to read and write.

    Knobs are files of /sys and /proc/sys. A refusal of the target is an OSError: FileNotFoundError
    for a missing file, PermissionError without the rights, and the kernel's error for a value that
    it refuses. A target that is unreachable, or slower than ``timeout_s``, is a TargetError.
    Undecodable bytes of words and paths are surrogate escapes (PEP 383), on the target too.
    """

    def run(
        self,
        command: Sequence[str],
        stdin: bytes = b"",
        timeout_s: float | None = None,
        stdout: IO[bytes] | None = None,
    ) -> Result:
        """Run the words of ``command``, which no shell expands, and wait for its end.

        Output goes to the file ``stdout`` of this machine, which has a descriptor, as it arrives,
        or into the result.
        """

    def push(self, source: Path, destination: str, mode: int = 0o644) -> None:
        """Copy a file of this machine to the target, whole or not at all."""

    def pull(self, source: str, destination: Path) -> None:
        """Copy a file of the target to this machine, whole or not at all."""

    def read_knob(self, path: str) -> str:
        """Return the knob's value without the newline at its end."""

    def write_knob(self, path: str, value: str) -> str:
        """Set the knob and return the value read back, which may be rounded."""

    def reboot(self, timeout_s: float) -> None:
        """Restart the target and return once it answers again."""


class LocalTarget:
    """This machine; ``root`` replaces ``/`` in tests, for files and knobs."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def run(
        self,
        command: Sequence[str],
        stdin: bytes = b"",
        timeout_s: float | None = None,
        stdout: IO[bytes] | None = None,
    ) -> Result:
        """Run the words of ``command`` and wait for its end."""
        try:
            done = completed(command, stdin, stdout, timeout_s=timeout_s)
        except FileNotFoundError as error:
            return Result(NOT_FOUND, b"", os.fsencode(f"{command[0]}: {error.strerror}\n"))
        except PermissionError as error:
            return Result(NOT_EXECUTABLE, b"", os.fsencode(f"{command[0]}: {error.strerror}\n"))
        except subprocess.TimeoutExpired as error:
            raise TargetError(
                f"running {command[0]} took longer than {timeout_s:g} s",
                "allow more time, or find out why it hangs",
            ) from error
        status = done.returncode if done.returncode >= 0 else 128 - done.returncode
        return Result(status, done.stdout, done.stderr)

    def push(self, source: Path, destination: str, mode: int = 0o644) -> None:
        """Copy a file of this machine to another place on it."""
        _copy(source, self._file(destination), mode)

    def pull(self, source: str, destination: Path) -> None:
        """Copy a file of this machine to another place on it."""
        _copy(self._file(source), destination)

    def read_knob(self, path: str) -> str:
        """Return the knob's value without the newline at its end."""
        return self._file(path).read_text(errors="surrogateescape").rstrip("\n")

    def write_knob(self, path: str, value: str) -> str:
        """Set the knob and return the value read back."""
        # No O_CREAT: a knob that is gone must not become a file.
        knob = os.open(self._file(path), os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(knob, os.fsencode(value))
        finally:
            os.close(knob)
        return self.read_knob(path)

    def reboot(self, timeout_s: float) -> None:
        """Raise TargetError: a restart would end the process that waits for it."""
        raise TargetError(
            "foreread does not restart the machine that it runs on",
            "restart it by hand, or run foreread on another machine with --target ssh://USER@HOST",
        )

    def _file(self, path: str) -> Path:
        return self.root / path.lstrip("/")


def _copy(source: Path, destination: Path, mode: int | None = None) -> None:
    part = destination.with_name(destination.name + ".part")
    try:
        shutil.copyfile(source, part)
        if mode is not None:
            part.chmod(mode)
        part.replace(destination)
    finally:
        part.unlink(missing_ok=True)
