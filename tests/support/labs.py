"""A real labgrid lab on loopback: a coordinator, an exporter, and places of its boards."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from ssh_servers import free_port
from terminal_servers import listens
from waiting import wait_until

BESIDE = str(Path(sys.executable).parent)
MISSING = not shutil.which("labgrid-coordinator", path=BESIDE)
OTHERS = {"LG_USERNAME": "somebody", "LG_HOSTNAME": "elsewhere"}


class Lab:
    """A running lab; ``environment`` is what its users need."""

    def __init__(self, folder: Path, boards: Mapping[str, Mapping[str, Any]]) -> None:
        self.folder, self.port = folder, free_port()
        self.processes: list[subprocess.Popen[bytes]] = []
        self.environment = {
            "LG_COORDINATOR": f"127.0.0.1:{self.port}",
            "XDG_STATE_HOME": str(folder / "state"),
            "PATH": f"{BESIDE}:{os.environ['PATH']}",
        }
        exported = folder / "exporter.yaml"  # JSON is YAML
        exported.write_text(json.dumps(boards))
        # As the coordinator stores places: its client would take a second for each command.
        matches = {name: {"exporter": "lab", "group": name, "cls": "*"} for name in boards}
        places = {name: {"matches": [match]} for name, match in matches.items()}
        (folder / "places.yaml").write_text(json.dumps(places))
        try:
            self.start_coordinator()
            self._start("labgrid-exporter", "-c", f"127.0.0.1:{self.port}", "-n", "lab", exported)
            wait_until(lambda: self._exports(boards))
        except BaseException:
            self.stop()
            raise

    def start_coordinator(self) -> None:
        """Start the coordinator, which keeps its places in the folder, and wait for it."""
        self.coordinator = self._start("labgrid-coordinator", "-l", f"127.0.0.1:{self.port}")
        wait_until(lambda: listens(self.port) or self.coordinator.poll() is not None)
        assert self.coordinator.poll() is None, "the coordinator has ended"

    def client(self, place: str, *words: str, by: Mapping[str, str] | None = None) -> str:
        """Run labgrid-client for a place, as another user with ``by``; return its output."""
        done = subprocess.run(
            [shutil.which("labgrid-client", path=BESIDE) or "", "-p", place, *words],
            env={**os.environ, **self.environment, **(by or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def holders(self) -> dict[str, str]:
        """Return who holds each place that is not free."""
        lines = [line.split() for line in self.client("", "who").splitlines()[1:]]
        return {place: f"{host}/{user}" for user, host, place, *_ in lines}

    def holder(self, place: str) -> str | None:
        """Return who holds a place, None if it is free."""
        return self.holders().get(place)

    def stop(self) -> None:
        """End all of it."""
        for process in self.processes:
            process.kill()
            process.wait()

    def _exports(self, boards: Mapping[str, Mapping[str, Any]]) -> bool:
        shown = self.client("", "resources")
        return all(shown.count(f"lab/{name}/") == len(found) for name, found in boards.items())

    def _start(self, *words: object) -> subprocess.Popen[bytes]:
        program, *more = words
        path = shutil.which(str(program), path=BESIDE)
        assert path
        with (self.folder / f"{program}.log").open("ab") as log:
            process = subprocess.Popen(
                [path, *map(str, more)],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self.environment},
            )
        self.processes.append(process)
        return process


@contextlib.contextmanager
def power_port() -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Yield the resource of a power switch with a web interface, and what it was asked to do."""
    asked: list[str] = []

    class Switch(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"1")

        def log_message(self, *words: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Switch)
    serving = Thread(target=server.serve_forever)
    serving.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/{{index}}/{{value}}"
        yield {"model": "simplerest", "host": url, "index": 1}, asked
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
