"""A real ssh server on this machine, in a mount namespace of its own, as a target."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ssh_servers import SshServer, missing

from foreread.boards.base.owner import MARK

# The client of foreread finds this one first, which knows the server's key.
SSH = """#!/bin/sh
exec {ssh} -o UserKnownHostsFile={known} "$@"
"""


class NoServer(RuntimeError):
    """No ssh server can be run here."""


def client(folder: Path, known_hosts: Path) -> str:
    """Make such a client; return the setting of PATH with which it is found."""
    folder.mkdir()
    ssh = folder / "ssh"
    ssh.write_text(SSH.format(ssh=shutil.which("ssh"), known=known_hosts))
    ssh.chmod(0o755)
    return f"PATH={folder}:{os.environ['PATH']}"


class Remote:
    """The server; what a recording leaves below its /run, and its processes there, are facts."""

    def __init__(self, folder: Path) -> None:
        if reason := missing("openssh"):
            raise NoServer(reason)
        folder.mkdir()
        self.server = SshServer("openssh", folder)
        self.ssh = client(folder / "bin", self.server.known_hosts)
        self.options = ["--target", self.server.url, "--identity", str(self.server.identity)]

    def end_leases(self) -> None:
        """Let the time pass within which the target waits for its host: minutes."""
        for lease in (self._root / "run").glob("foreread-*/lease"):
            with suppress(OSError):
                lease.write_text("0\n")

    @property
    def _root(self) -> Path:
        return Path(f"/proc/{self.server.process.pid}/root")

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield what is there of foreread."""
        with suppress(OSError):
            for top in (self._root / "run").glob("foreread*"):
                yield f"target's /run/{top.name}", ""
        here = Path(f"/proc/{self.server.process.pid}/ns/mnt").readlink()
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                own = (process / "ns/mnt").readlink() == here
                if own and f"{MARK}=".encode() in (process / "environ").read_bytes():
                    name = (process / "cmdline").read_bytes().replace(b"\0", b" ")
                    yield f"target's process {process.name}", name.decode(errors="replace")
