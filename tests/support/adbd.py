"""A device for the real adb client: adb's protocol over TCP, with shell_v2 and a local shell.

Written after AOSP's packages/modules/adb: protocol.txt, SERVICES.TXT and shell_protocol.h. One
thread serves a connection, one more each stream.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from foreread.boards.adb import AdbAddress, AdbTarget

CNXN, OPEN, OKAY, WRTE, CLSE = (
    int.from_bytes(name, "little") for name in (b"CNXN", b"OPEN", b"OKAY", b"WRTE", b"CLSE")
)
VERSION, MAX_DATA = 0x01000001, 1 << 18
STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = range(5)


class Adbd:
    """Listens on a port of loopback; ``features`` and ``shell`` are what it offers."""

    def __init__(
        self, shell: Sequence[str] = ("busybox", "sh", "-c"), features: str = "shell_v2"
    ) -> None:
        self.shell = shell
        self.features = features
        self.services: list[str] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self._connections: list[_Connection] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def serial(self) -> str:
        return f"127.0.0.1:{self._server.getsockname()[1]}"

    def cut(self) -> None:
        """Cut all connections, as a pulled cable would."""
        for connection in self._connections:
            connection.close()

    def stop(self) -> None:
        self._server.close()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                end, _ = self._server.accept()
                connection = _Connection(self, end)
                self._connections.append(connection)
                threading.Thread(target=connection.serve, daemon=True).start()


class _Connection:
    def __init__(self, device: Adbd, end: socket.socket) -> None:
        self.device = device
        self.streams: dict[int, _Stream] = {}
        self._end = end
        self._sending = threading.Lock()

    def serve(self) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                command, arg0, arg1, size = struct.unpack("<IIII8x", self._receive(24))
                self._obey(command, arg0, arg1, self._receive(size))
        self.close()

    def send(self, command: int, arg0: int, arg1: int, data: bytes = b"") -> None:
        head = struct.pack(
            "<IIIIII", command, arg0, arg1, len(data), sum(data) & 0xFFFFFFFF, command ^ 0xFFFFFFFF
        )
        with self._sending:
            self._end.sendall(head + data)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)
        for stream in list(self.streams.values()):
            stream.kill()

    def _obey(self, command: int, arg0: int, arg1: int, data: bytes) -> None:
        if command == CNXN:
            banner = f"device::ro.product.name=x;features={self.device.features}"
            self.send(CNXN, VERSION, MAX_DATA, banner.encode())
        elif command == OPEN:
            service = data.rstrip(b"\0").decode(errors="surrogateescape")
            self.device.services.append(service)
            if not service.startswith("shell,v2"):
                self.send(CLSE, 0, arg0)
                return
            own = len(self.device.services)
            self.streams[own] = stream = _Stream(self, own, arg0, service.partition(":")[2])
            self.send(OKAY, own, arg0)
            threading.Thread(target=stream.serve, daemon=True).start()
        elif arg1 in self.streams:
            self.streams[arg1].take(command, data)

    def _receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size and (piece := self._end.recv(size - len(data))):
            data += piece
        if len(data) < size:
            raise EOFError
        return data


class _Stream:
    """One command: packets of its outputs, and at the end its exit status."""

    def __init__(self, connection: _Connection, own: int, peer: int, line: str) -> None:
        self._connection, self._own, self._peer = connection, own, peer
        self._acknowledged = threading.Semaphore(1)
        self._incoming: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._packets = b""
        self._process = subprocess.Popen(
            [*connection.device.shell, line],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )

    def serve(self) -> None:
        threading.Thread(target=self._feed, daemon=True).start()
        readers = [
            threading.Thread(target=self._forward, args=(kind, pipe))
            for kind, pipe in ((STDOUT, self._process.stdout), (STDERR, self._process.stderr))
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        status = self._process.wait()
        with contextlib.suppress(OSError):
            self._packet(EXIT, bytes([status if status >= 0 else 128 - status]))
            self._acknowledged.acquire()
            self._connection.send(CLSE, self._own, self._peer)

    def take(self, command: int, data: bytes) -> None:
        if command == OKAY:
            self._acknowledged.release()
        elif command == CLSE:
            self.kill()
        elif command == WRTE:
            self._incoming.put(data)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGHUP)
        self._acknowledged.release()

    def _feed(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._to_stdin(self._incoming.get())
                self._connection.send(OKAY, self._own, self._peer)

    def _to_stdin(self, data: bytes) -> None:
        self._packets += data
        while len(self._packets) >= 5:
            kind, size = struct.unpack("<BI", self._packets[:5])
            if len(self._packets) < 5 + size:
                return
            body, self._packets = self._packets[5 : 5 + size], self._packets[5 + size :]
            with contextlib.suppress(OSError, ValueError):
                if kind == STDIN:
                    while body:
                        body = body[self._process.stdin.write(body) :]
                elif kind == CLOSE_STDIN:
                    self._process.stdin.close()

    def _forward(self, kind: int, pipe) -> None:
        with contextlib.suppress(OSError):
            while data := pipe.read(32768):
                self._packet(kind, data)

    def _packet(self, kind: int, data: bytes) -> None:
        self._acknowledged.acquire()
        packet = struct.pack("<BI", kind, len(data)) + data
        self._connection.send(WRTE, self._own, self._peer, packet)


@contextlib.contextmanager
def client_of(device: Adbd, folder: Path) -> Iterator[AdbTarget]:
    """Have the adb client connect to the device, by a server of its own; end that."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # Without the scan for emulators, without mDNS, with keys of its own.
    own = {"ANDROID_ADB_SERVER_PORT": str(port), "HOME": str(folder), "ADB_MDNS": "0"}
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    try:
        subprocess.run(["adb", "connect", device.serial], check=True, capture_output=True)
        with AdbTarget(AdbAddress(device.serial)) as target:
            yield target
    finally:
        subprocess.run(["adb", "kill-server"], check=False, capture_output=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value
