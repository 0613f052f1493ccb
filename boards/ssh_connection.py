"""One connection of the system's OpenSSH client, shared by all commands (ControlMaster).

The master runs in the background, belongs to a private directory, and ends when it is closed, or by
itself after a minute without use: also if this process is killed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Self

from foreread.boards.base import guard
from foreread.boards.base.child import completed
from foreread.boards.base.owner import marked
from foreread.boards.base.scratch import prefix
from foreread.boards.client import run_client, through_stdin
from foreread.boards.target import Result, TargetError, too_slow

CONNECT_S = 10
# A board is lost after SILENT_TIMES probes without an answer, SILENT_S apart.
SILENT_S, SILENT_TIMES = 5, 3
PERSIST_S = 60
SSH_FAILED = 255
# dropbear hangs up on a command of more than 9000 bytes (MAX_CMD_LEN in its sysoptions.h).
LONGEST_LINE = 8000
# Written by the remote shell, since a status of 255 alone may also mean a lost connection.
OWN_255 = b"foreread: the command itself ended with 255\n"

# The command line comes before the user's configuration: it sets the options that would weaken or
# disturb the connection, and leaves all else (host aliases, keys, jump hosts) to the user.
_OPTIONS = {
    "BatchMode": "yes",
    "StrictHostKeyChecking": "yes",
    "UpdateHostKeys": "no",
    "ConnectTimeout": str(CONNECT_S),
    "ServerAliveInterval": str(SILENT_S),
    "ServerAliveCountMax": str(SILENT_TIMES),
    "RequestTTY": "no",
    "RemoteCommand": "none",
    "PermitLocalCommand": "no",
    "ClearAllForwardings": "yes",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "EscapeChar": "none",
    "LogLevel": "ERROR",
}

# No leading dash, which would start an option, and nothing that ssh expands.
_WORD = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_URL = re.compile(
    rf"ssh://(?:(?P<user>{_WORD})@)?(?:(?P<host>{_WORD})|\[(?P<v6>[0-9a-fA-F:.]+)\])"
    r"(?::(?P<port>[0-9]{1,5}))?/?"
)
LARGEST_PORT = 65535

_REMEDIES = {
    "Host key verification failed": "compare the board's key fingerprint on its console, then add"
    " it: ssh-keyscan [-p PORT] HOST >> ~/.ssh/known_hosts",
    "Permission denied": "put a public key on the board: ssh-copy-id, or for dropbear append it to"
    " /etc/dropbear/authorized_keys",
}
_UNREACHED = "check that the board is running and in the network: ssh -v shows what fails"


@dataclass(frozen=True)
class SshAddress:
    """An ssh server; the user's configuration decides a missing ``user`` or ``port``."""

    host: str
    user: str | None = None
    port: int | None = None

    @classmethod
    def parse(cls, url: str) -> SshAddress:
        """Return the address in ``ssh://[USER@]HOST[:PORT]``; raises TargetError."""
        match = _URL.fullmatch(url)
        port = int(match["port"]) if match and match["port"] else None
        if match is None or (port is not None and not 0 < port <= LARGEST_PORT):
            raise TargetError(
                f"{url!r} is not an ssh target", "write ssh://USER@HOST or ssh://USER@HOST:PORT"
            )
        return cls(match["v6"] or match["host"], match["user"], port)

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"ssh://{user}{host}" + (f":{self.port}" if self.port else "")


class SshConnection:
    """The connection to one address; opened by its first command, closed by ``close``.

    ``known_hosts`` replaces all other lists of host keys, ``identity`` all other keys of the user.
    After a lost connection, the next command connects again.
    """

    def __init__(
        self, address: SshAddress, known_hosts: Path | None = None, identity: Path | None = None
    ) -> None:
        self.address = address
        # In /tmp: a socket's path has 107 characters at most, and TMPDIR may be longer.
        guard.hold()  # a guard removes the master and folder of a killed foreread
        self.directory = Path(tempfile.mkdtemp(prefix=prefix("ssh"), dir="/tmp"))
        self.socket = self.directory / "master"
        self._finalizer = weakref.finalize(self, _close, self.directory)
        self._options = {**_OPTIONS, **self._files(known_hosts, identity)}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection and remove its files."""
        self._finalizer()

    def execute(
        self,
        line: str,
        step: str,
        stdin: bytes | IO[bytes] = b"",
        stdout: IO[bytes] | None = None,
        timeout_s: float | None = None,
    ) -> Result:
        """Run one line of the remote shell; ``step`` is its name in errors; raises TargetError.

        ``line`` reaches a POSIX shell unchanged: the caller quotes it. A long line needs dd.
        """
        self.open()
        line, stdin = through_stdin(line, stdin, LONGEST_LINE)
        guarded = (
            f"(\n{line}\n); s=$?; [ $s != {SSH_FAILED} ] || echo '{OWN_255.decode()[:-1]}' >&2"
        )
        done = self._ssh([f"{guarded}; exit $s"], step, stdin, stdout, timeout_s)
        own = done.stderr.endswith(OWN_255)
        if done.status == SSH_FAILED and not own:
            raise self._failure(step, _of_master(done.stderr))
        return replace(done, stderr=done.stderr.removesuffix(OWN_255))

    def open(self) -> None:
        """Connect unless the connection is open; raises TargetError."""
        if self._master_answers():
            return
        if not self.directory.exists():
            raise TargetError(f"{self.address} was closed", "open the target again")
        persist = ["-o", "ControlMaster=yes", "-o", f"ControlPersist={PERSIST_S}", "-fN"]
        errors = self.directory / "errors"
        # The master would keep a pipe open for as long as it lives: hence a file.
        with errors.open("wb+") as log:
            try:
                done = completed(
                    self._command(persist),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=log,
                    timeout_s=3 * CONNECT_S,
                    environment=marked(),
                )
            except subprocess.TimeoutExpired:
                raise too_slow(str(self.address), "connecting", 3 * CONNECT_S) from None
        if done.returncode:
            raise self._failure("connecting", errors.read_bytes())

    def _master_answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(self.socket))
            except OSError:
                self.socket.unlink(missing_ok=True)  # left by a killed master
                return False
        return True

    def _ssh(
        self,
        words: Sequence[str],
        step: str,
        stdin: bytes | IO[bytes],
        stdout: IO[bytes] | None,
        timeout_s: float | None,
    ) -> Result:
        # ssh would run the command over a connection of its own when the master fails: perhaps
        # for the second time. Without a way to the host it cannot.
        command = [*self._command(["-o", "ControlMaster=no", "-o", "ProxyCommand=false"]), *words]
        try:
            return run_client(command, stdin, stdout, timeout_s, marked())
        except TimeoutError:
            raise too_slow(str(self.address), step, timeout_s or 0) from None

    def _command(self, more: Sequence[str]) -> list[str]:
        options = [f"-o{name}={value}" for name, value in self._options.items()]
        port = ["-p", str(self.address.port)] if self.address.port else []
        user = ["-l", self.address.user] if self.address.user else []
        return [_client(), *options, "-S", str(self.socket), *more, *port, *user, self.address.host]

    def _files(self, known_hosts: Path | None, identity: Path | None) -> dict[str, str]:
        """Return options for files, through links: ssh splits and expands the paths in options."""
        options: dict[str, str] = {}
        if known_hosts is not None:
            link = self._link("known_hosts", known_hosts)
            options |= {"UserKnownHostsFile": link, "GlobalKnownHostsFile": "none"}
        if identity is not None:
            options |= {"IdentityFile": self._link("identity", identity), "IdentitiesOnly": "yes"}
        return options

    def _link(self, name: str, path: Path) -> str:
        if why := _unusable(path):
            self.close()
            raise TargetError(f"{path}: {why}", f"give the {name} that is there")
        (self.directory / name).symlink_to(path.absolute())
        return str(self.directory / name)

    def _failure(self, step: str, stderr: bytes) -> TargetError:
        text = os.fsdecode(stderr).strip()
        reason = text.splitlines()[-1] if text else "the connection was lost"
        remedy = next((r for sign, r in _REMEDIES.items() if sign in text), _UNREACHED)
        return TargetError(f"{self.address}: {step}: {reason}", remedy)


def _of_master(stderr: bytes) -> bytes:
    """Return ssh's messages about its master; others are the command's, or consequences."""
    return b"\n".join(line for line in stderr.splitlines() if line.startswith(b"mux_client"))


def _client() -> str:
    path = shutil.which("ssh")
    if path is None:
        raise TargetError("ssh is not installed here", "apt-get install openssh-client")
    return path


def _close(directory: Path) -> None:
    """End the master, if it still runs, and remove its directory."""
    ssh = shutil.which("ssh")
    if ssh and (directory / "master").exists():
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                [ssh, "-S", str(directory / "master"), "-O", "exit", "foreread"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=CONNECT_S,
                check=False,
            )
    shutil.rmtree(directory, ignore_errors=True)
    guard.release()


def _unusable(path: Path) -> str:
    """Return why ssh could not read a file, or would wait for it; "" if ssh can read it."""
    if not path.exists():
        return "there is no such file"
    if not path.is_file():
        return "it is not a regular file"
    return "" if os.access(path, os.R_OK) else "it cannot be read"
