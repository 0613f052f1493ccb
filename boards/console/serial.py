"""A target at the end of a serial console: a shell or login prompt, over a tty, TCP or a socket.

Needs, in addition to other shell targets: printf, dd, mkdir and rm; md5sum, sha1sum or sha256sum;
base64, uuencode, hexdump or od; and a writable /tmp, /run, /dev/shm, /var/tmp or /dev for a
command's stdin and stderr.
"""

from __future__ import annotations

import contextlib
import getpass
import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import IO

from foreread.boards.console.agent import Console
from foreread.boards.console.line import SerialAddress, SerialLine
from foreread.boards.console.prompt import wait_until_up
from foreread.boards.shell import ShellTarget
from foreread.boards.target import Result, TargetError, too_slow

PASSWORD_VARIABLE = "FOREREAD_CONSOLE_PASSWORD"
# The agent ends by itself after five minutes without a line.
IDLE_S = 240.0
PIECE_BYTES = 1 << 16


def console_password() -> str:
    """Return root's password, from the environment or from the terminal."""
    password = os.environ.get(PASSWORD_VARIABLE)
    if password is not None:
        return password
    if not sys.stdin.isatty():
        raise TargetError(
            "the console asks for root's password",
            f"set the environment variable {PASSWORD_VARIABLE}",
        )
    return getpass.getpass("root's password at the board's console: ")


class SerialTarget(ShellTarget):
    """A machine at a console; opened by its first command, a context manager."""

    def __init__(
        self, address: SerialAddress, password: Callable[[], str] = console_password
    ) -> None:
        self.address = address
        self._password = password
        self._console: Console | None = None

    @property
    def place(self) -> str:
        """Its URL."""
        return str(self.address)

    def close(self) -> None:
        """Return the console to its initial state, logged out if it was."""
        if self._console:
            self._console.close()
        self._release()

    def execute(
        self,
        line: str,
        step: str,
        stdin: bytes | IO[bytes] = b"",
        stdout: IO[bytes] | None = None,
        timeout_s: float | None = None,
    ) -> Result:
        """Run one line of the shell; after ``timeout_s`` the shell gets a Ctrl-C."""
        out, err = io.BytesIO(), io.BytesIO()
        try:
            console = self._open()
            end = None if timeout_s is None else time.monotonic() + timeout_s
            status = console.run(os.fsencode(line), _pieces(stdin), stdout or out, err, end)
        except TargetError as error:
            self._release()
            raise TargetError(f"{self.place}: {step}: {error}", error.remedy) from error
        except BaseException as error:
            self._interrupt()
            if isinstance(error, TimeoutError):
                raise too_slow(self.place, step, timeout_s or 0) from None
            raise
        return Result(status, out.getvalue(), err.getvalue())

    def _open(self) -> Console:
        if self._console and time.monotonic() - self._console.used > IDLE_S:
            self.close()
        if self._console is None:
            line = SerialLine(self.address)
            try:
                self._console = Console(line, self._password)
            except BaseException:
                line.close()
                raise
        return self._console

    def _interrupt(self) -> None:
        if self._console:
            self._console.interrupt()
        self._release()

    def _release(self) -> None:
        if self._console:
            self._console.line.close()
        self._console = None

    def _settle(self, end: float) -> None:
        self._release()
        with contextlib.closing(SerialLine(self.address)) as line:
            wait_until_up(line, end)


def _pieces(stdin: bytes | IO[bytes]) -> Iterator[bytes]:
    source = io.BytesIO(stdin) if isinstance(stdin, bytes) else stdin
    while piece := source.read(PIECE_BYTES):
        yield piece
