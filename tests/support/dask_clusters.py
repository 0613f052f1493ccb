"""A Dask cluster of this machine: a scheduler and workers, each a process that can be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from waiting import left_s, wait_until

ROOT = Path(__file__).resolve().parents[2]
_SCHEDULER = "from distributed.cli.dask_scheduler import main; main()"
_WORKER = "from distributed.cli.dask_worker import main; main()"


@dataclass
class Cluster:
    """The processes of a cluster. ``paths`` are put before those that Python imports from."""

    folder: Path
    paths: tuple[Path, ...] = (ROOT,)
    address: str = ""
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start_scheduler(self) -> None:
        """Start a scheduler on a free port, and wait for its address."""
        file = self.folder / "scheduler.json"
        file.unlink(missing_ok=True)
        scheduler = self.scheduler = self._process(
            *("-c", _SCHEDULER, "--host", "127.0.0.1", "--port", "0", "--no-dashboard"),
            *("--scheduler-file", str(file)),
        )
        wait_until(
            lambda: (
                scheduler.poll() is not None or (file.exists() and file.read_text().endswith("}"))
            )
        )
        assert scheduler.poll() is None, "the scheduler has ended"
        self.address = json.loads(file.read_text())["address"]

    def start_worker(self) -> subprocess.Popen[bytes]:
        """Start a worker with one thread, without a nanny that would start it again."""
        made = self._process(
            *("-c", _WORKER, self.address, "--nthreads", "1", "--no-dashboard", "--no-nanny"),
            *("--local-directory", str(self.folder)),
        )
        self.workers.append(made)
        return made

    def await_workers(self) -> None:
        """Wait until the scheduler knows all workers."""
        import distributed  # a second, which other workers of the tests need not pay

        options = {"timeout": left_s(), "set_as_default": False}
        with distributed.Client(self.address, **options) as client:
            client.wait_for_workers(len(self.workers), timeout=left_s())

    def worker_pids(self) -> list[int]:
        """Return the workers' processes."""
        return [worker.pid for worker in self.workers]

    def end(self) -> None:
        """Kill all."""
        for process in (*self.workers, self.scheduler):
            if process is not None:
                process.kill()
                process.wait()

    def _process(self, *words: str) -> subprocess.Popen[bytes]:
        path = os.pathsep.join(map(str, self.paths))
        return subprocess.Popen(
            [sys.executable, *words],
            env={**os.environ, "PYTHONPATH": path},
            cwd=self.folder,  # which Python imports from first
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


@contextmanager
def cluster(folder: Path, workers: int = 2, paths: tuple[Path, ...] = (ROOT,)) -> Iterator[Cluster]:
    """Yield a cluster of one scheduler and some workers."""
    made = Cluster(folder, paths)
    try:
        made.start_scheduler()
        for _ in range(workers):
            made.start_worker()
        made.await_workers()
        yield made
    finally:
        made.end()


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process as the kernel does when memory is short."""
    process.send_signal(signal.SIGKILL)
    process.wait()
