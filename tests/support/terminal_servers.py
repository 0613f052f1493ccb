"""A real ser2net, which offers a tty by RFC 2217 as the exporters of a lab do."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from ssh_servers import free_port
from waiting import wait_until

PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
MISSING = not shutil.which("ser2net", path=PATH)


@contextlib.contextmanager
def ser2net(tty: str, folder: Path) -> Iterator[int]:
    """Yield the port on loopback at which ``tty`` is offered."""
    port = free_port()
    settings = folder / "ser2net.yaml"
    settings.write_text(
        f"connection: &board\n  accepter: telnet(rfc2217),tcp,127.0.0.1,{port}\n"
        f"  connector: serialdev,{tty},115200n81,local\n"
    )
    program = shutil.which("ser2net", path=PATH)
    assert program
    server = subprocess.Popen(
        [program, "-d", "-l", "-c", settings],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: listens(port) or server.poll() is not None)
        assert server.poll() is None, "ser2net has ended"
        yield port
    finally:
        server.kill()
        server.wait()


def listens(port: int) -> bool:
    """Return whether a server listens at the port; a connection would open its tty."""
    tables = [Path(f"/proc/net/{name}") for name in ("tcp", "tcp6")]
    lines = [line for one in tables if one.exists() for line in one.read_text().splitlines()]
    return any(f":{port:04X} " in line and " 0A " in line for line in lines)
