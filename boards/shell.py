"""A target that runs lines of a POSIX shell (ssh, a serial console, adb), with a few applets.

The target needs ``cat``, ``wc``, ``mv``, ``rm`` and ``chmod``.

Quoting: every word and path is quoted by shlex.quote for a POSIX shell and reaches the command
unchanged, byte by byte, including newlines and undecodable bytes, but never NUL. The login shell of
the user has to be a POSIX shell.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Self

from foreread.boards.target import NoRights, Result, TargetError

BOOT_ID = "/proc/sys/kernel/random/boot_id"
REBOOT = "reboot"
KNOB_S = 30.0
_SHOWN = 60
_ERRNO = {os.strerror(code): code for code in errno.errorcode}


class ShellTarget(ABC):
    """A target implemented on top of ``execute``; a context manager, closed at its end.

    ``rights`` says how to become root on the target.
    """

    rights = "log in as root"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    @abstractmethod
    def place(self) -> str:
        """The name of the target in messages."""

    @abstractmethod
    def close(self) -> None:
        """End the connection."""

    @abstractmethod
    def execute(
        self,
        line: str,
        step: str,
        stdin: bytes | IO[bytes] = b"",
        stdout: IO[bytes] | None = None,
        timeout_s: float | None = None,
    ) -> Result:
        """Run one line of the target's shell, of any length, and wait for its end.

        ``line`` reaches a POSIX shell unchanged: the caller quotes it. ``step`` is its name in
        errors. Output goes to ``stdout``, a file of this machine with a descriptor, or into the
        result. Raises TargetError.
        """

    def run(
        self,
        command: Sequence[str],
        stdin: bytes = b"",
        timeout_s: float | None = None,
        stdout: IO[bytes] | None = None,
    ) -> Result:
        """Run the words of ``command`` and wait for its end.

        A command abandoned after ``timeout_s`` may continue on the target: an ssh server ends only
        commands with a terminal.
        """
        line = " ".join(map(_quote, command))
        shown = command[0] if "\n" in line else line  # errors do not show a script
        step = f"running {shown[:_SHOWN]}{'…' if len(shown) > _SHOWN else ''}"
        return self.execute(line, step, stdin, stdout, timeout_s)

    def push(self, source: Path, destination: str, mode: int = 0o644) -> None:
        """Copy a file to the target; the file gets its name when it is complete."""
        _absolute(destination)
        with source.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            # The count: on a lost connection, cat sees an ordinary end.
            line = (
                f'export LC_ALL=C; p={_quote(destination)}; cat > "$p.part"'
                f' && [ "$(wc -c < "$p.part")" -eq {size} ]'
                f' && chmod {mode:o} "$p.part" && mv -f "$p.part" "$p"'
                ' || { rm -f "$p.part"; exit 1; }'
            )
            done = self.execute(line, f"pushing {destination}", file)
        if done.status:
            raise self._os_error(done.stderr or b"its size changed on the way", destination)

    def pull(self, source: str, destination: Path) -> None:
        """Copy a file from the target; the file gets its name when it is complete."""
        part = destination.with_name(destination.name + ".part")
        try:
            with part.open("wb") as file:
                line = f"export LC_ALL=C; {_present(source)}; cat {_quote(source)}"
                done = self.execute(line, f"pulling {source}", stdout=file)
            if done.status:
                raise self._os_error(done.stderr, source)
            part.replace(destination)
        finally:
            part.unlink(missing_ok=True)

    def read_knob(self, path: str) -> str:
        """Return the knob's value without the newline at its end."""
        return self._knob(path, f"cat {_quote(path)}", f"reading {path}")

    def write_knob(self, path: str, value: str) -> str:
        """Set the knob and return the value read back."""
        # cat, not the shell's printf: the built-in ones of some shells hide the kernel's error.
        line = f"cat > {_quote(path)} && cat {_quote(path)}"
        return self._knob(path, line, f"writing {path}", os.fsencode(value))

    def reboot(self, timeout_s: float) -> None:
        """Restart the target and return once it answers again, after another boot."""
        end = time.monotonic() + timeout_s
        before = self.read_knob(BOOT_ID)
        # In the background, so that the shell can report the start.
        line = f"({_quote(REBOOT)} </dev/null >/dev/null 2>&1 &)"
        with contextlib.suppress(TargetError):  # the connection may be lost at once
            self.execute(line, "rebooting", timeout_s=KNOB_S)
        self.await_boot(before, end, timeout_s)

    def await_boot(self, before: str | None, end: float, allowed_s: float) -> None:
        """Return once the target answers with another boot id than ``before``; None: with any.

        Raises TargetError at ``end``, a time of the monotonic clock, ``allowed_s`` after the start.
        """
        while time.monotonic() < end:
            with contextlib.suppress(TargetError, OSError):
                self._settle(end)
                if time.monotonic() < end and self.read_knob(BOOT_ID) != before:
                    return
            time.sleep(min(1.0, max(0.0, end - time.monotonic())))
        raise TargetError(
            f"{self.place}: not reachable {allowed_s:g} s after the reboot", "see its console"
        )

    def _settle(self, end: float) -> None:  # noqa: B027  (most have nothing to do)
        """Prepare for the first command after a reboot."""

    def _os_error(self, stderr: bytes, path: str) -> OSError:
        """Return the OSError that the last line of stderr describes."""
        text = os.fsdecode(stderr).strip()
        last = text.splitlines()[-1] if text else "failed without a message"
        reason = last.rpartition(": ")[2]
        code = _ERRNO.get(reason, errno.EIO)
        if code in (errno.EACCES, errno.EPERM):
            return NoRights(code, reason, path, self.rights)
        return OSError(code, reason, path)

    def _knob(self, path: str, line: str, step: str, stdin: bytes = b"") -> str:
        whole = f"export LC_ALL=C; {_present(path)}; {line}"
        done = self.execute(whole, step, stdin, timeout_s=KNOB_S)
        if done.status:
            raise self._os_error(done.stderr, path)
        return os.fsdecode(done.stdout).rstrip("\n")


def _quote(word: str) -> str:
    if "\0" in word:
        raise ValueError("an argument of a command cannot contain a NUL")
    return shlex.quote(word)


def _present(path: str) -> str:
    """Return a command that ends the shell if ``path`` is missing; shells' messages differ."""
    _absolute(path)
    missing = shlex.quote(os.strerror(errno.ENOENT))
    return f"[ -e {_quote(path)} ] || {{ echo {missing} >&2; exit 1; }}"


def _absolute(path: str) -> None:
    """Raise ValueError for a path that a command or shell might misread: an option, or relative."""
    if not path.startswith("/"):
        raise ValueError(f"{path!r} is not an absolute path")
