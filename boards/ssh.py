"""A target reached by ssh: any server and a POSIX shell; no scp, no sftp."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from foreread.boards.shell import ShellTarget
from foreread.boards.ssh_connection import SshAddress, SshConnection
from foreread.boards.target import Result


class SshTarget(ShellTarget):
    """A machine behind an ssh server; a context manager, closed at its end."""

    rights = "log in as root: ssh://root@HOST"

    def __init__(
        self, address: SshAddress, known_hosts: Path | None = None, identity: Path | None = None
    ) -> None:
        self.connection = SshConnection(address, known_hosts, identity)

    @property
    def place(self) -> str:
        """Its URL."""
        return str(self.connection.address)

    def close(self) -> None:
        """End the connection."""
        self.connection.close()

    def execute(
        self,
        line: str,
        step: str,
        stdin: bytes | IO[bytes] = b"",
        stdout: IO[bytes] | None = None,
        timeout_s: float | None = None,
    ) -> Result:
        """Run one line of the login shell."""
        return self.connection.execute(line, step, stdin, stdout, timeout_s)
