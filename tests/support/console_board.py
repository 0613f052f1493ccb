"""A board's console: an interactive shell on a pty, behind a line with the faults of a real one."""

from __future__ import annotations

import contextlib
import os
import pty
import random
import select
import signal
import socket
import subprocess
import threading
import tty
from collections.abc import Iterator, Sequence
from pathlib import Path

from waiting import take_time

PRINTK = b"[ 1234.567890] mmcblk0: a message of the kernel, in the middle of a line\r\n"


class ConsoleBoard:
    """A program on a pty, reached by one client after another: at a TCP port, or a socket file.

    ``faults`` may be changed at any time. ``heard`` is what the board's side wrote.
    """

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        controls: bool = True,
        socket_file: Path | None = None,
    ) -> None:
        self.faults = Faults()
        self.heard = b""
        self.received = b""
        self._folder = folder
        self._controls = controls
        self._command = [*(["busybox", "setsid", "-c"] if controls else []), *command]
        if socket_file:
            self._server = socket.create_server(str(socket_file), family=socket.AF_UNIX)
        else:
            self._server = socket.create_server(("127.0.0.1", 0))
        self._client: socket.socket | None = None
        self._sending = threading.Lock()
        self._stopped = self._powered = False
        self.power_on()
        self._pumps = [threading.Thread(target=pump, daemon=True) for pump in (self._out, self._in)]
        for pump in self._pumps:
            pump.start()

    @property
    def url(self) -> str:
        where = self._server.getsockname()
        return f"serial://{where}" if isinstance(where, str) else "serial://{}:{}".format(*where)

    def power_on(self) -> None:
        """Start the program on a new pty."""
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            self._command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=self._folder,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self._folder),
                "TMPDIR": str(self._folder),
                "TERM": "vt100",
            },
            start_new_session=not self._controls,
        )
        self._slave = slave  # kept, so that the pty outlives what runs on it
        self._powered = True

    def power_off(self) -> None:
        """Kill all that runs at the console; the line stays."""
        # A shell that outlives its command prints a prompt, and a board without power nothing.
        self._powered = False
        for pid in reversed(session_of(self.process.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.kill()  # just started, it may not lead its session yet
        self.process.wait()

    def say(self, text: bytes) -> None:
        """Write to the client as the board's firmware or kernel would."""
        self._to_client(text)

    def hang_up(self) -> None:
        """Cut the client's connection."""
        if client := self._client:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        """End everything."""
        self._stopped = True
        self.power_off()
        self._server.close()
        self.hang_up()

    def _out(self) -> None:
        while not self._stopped:
            ready, _, _ = select.select([self.master], [], [], 0.05)
            if not ready:
                continue
            try:
                data = os.read(self.master, self.faults.piece)
            except OSError:  # nothing runs at the other end
                take_time(0.01)
                continue
            if not self._powered:
                continue
            self.heard += data
            self._to_client(self.faults.from_board(data))

    def _in(self) -> None:
        self._server.settimeout(0.05)
        while not self._stopped:
            try:
                client, _ = self._server.accept()
            except (TimeoutError, OSError):
                continue
            if client.family == socket.AF_INET:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._client = client
            with contextlib.suppress(OSError):
                while data := client.recv(self.faults.piece):
                    self.received += data
                    os.write(self.master, self.faults.to_board(data))
            self._client = None
            client.close()

    def _to_client(self, data: bytes) -> None:
        # One at a time: else what firmware says comes in pieces, between those of the shell.
        with self._sending, contextlib.suppress(OSError):
            client = self._client  # the other thread forgets it as soon as the line is cut
            if client and not self.faults.silent:
                client.sendall(data)


class Faults:
    """What goes wrong on a line: nothing, until it is set."""

    def __init__(self) -> None:
        self.piece = 4096
        self.random = random.Random(1)
        self.dropped_to_board = 0.0  # the share of bytes that a UART without a buffer loses
        self.dropped_from_board = 0.0
        self.printk_each = 0  # bytes between two messages of the kernel
        self.noise = PRINTK
        self.byte_s = 0.0
        self.silent = False
        self._since = 0

    def to_board(self, data: bytes) -> bytes:
        take_time(self.byte_s * len(data))
        return self._dropped(data, self.dropped_to_board)

    def from_board(self, data: bytes) -> bytes:
        take_time(self.byte_s * len(data))
        kept = self._dropped(data, self.dropped_from_board)
        if not self.printk_each:
            return kept
        out = b""
        for start in range(len(kept)):
            out += kept[start : start + 1]
            self._since += 1
            if self._since >= self.printk_each:
                self._since = 0
                out += self.noise
        return out

    def _dropped(self, data: bytes, share: float) -> bytes:
        if not share:
            return data
        return bytes(byte for byte in data if self.random.random() >= share)


def session_of(leader: int) -> list[int]:
    """Return the processes of the session, the leader last."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == leader:
                    found.append(int(entry.name))
    return sorted(found, key=lambda pid: pid == leader)


@contextlib.contextmanager
def tty_to(board: ConsoleBoard) -> Iterator[str]:
    """Yield the path of a tty that leads to the board, as a USB adapter's does."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    end = socket.create_connection(board._server.getsockname())
    open_ends = {master: end.sendall, end.fileno(): lambda data: os.write(master, data)}
    ending, ended = os.pipe()

    def relay() -> None:
        while ending not in (ready := select.select([*open_ends, ending], [], [])[0]):
            for fd in ready:
                open_ends[fd](os.read(fd, 4096))

    pump = threading.Thread(target=relay)
    pump.start()
    try:
        yield os.ttyname(slave)
    finally:
        os.write(ended, b"end")
        pump.join()
        end.close()
        for fd in (master, slave, ending, ended):
            os.close(fd)
