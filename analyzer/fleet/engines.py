"""Where batches are worked on: threads of this machine, or the workers of a Dask cluster.

An engine takes a batch more only when it has few, so that the number of captures changes no
memory. What it yields is stored at once; what is lost with a worker is done again.
"""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from foreread.analyzer.fleet.batch import Batch, Children, Done, run_batch
from foreread.analyzer.fleet.error import FleetError, extra

WAITING = 2  # batches for each worker: one that is worked on, and the next one
_CONNECT_S = 10
_POLL_S = 1.0
_START = "start one: dask worker {} --nthreads 1"


@dataclass(frozen=True)
class Outcome:
    """A batch with its rows, or with the reason why its worker returned none."""

    batch: Batch
    done: Done | None
    lost: str = ""


class Engine(Protocol):
    """Works on batches."""

    @property
    def workers(self) -> int:
        """How many batches are worked on at once."""

    def outcomes(self, batches: Iterator[Batch]) -> Iterator[Outcome]:
        """Yield the outcome of each batch, in the order of their ends."""

    def close(self) -> None:
        """End what still runs."""


class LocalEngine:
    """Threads of this process, each with a child process.

    With as many workers as processors each is held to one, with its children. A worker's processes
    take turns, and the kernel puts those of two workers on one processor while another is idle.
    """

    def __init__(self, workers: int | None = None) -> None:
        processors = sorted(os.sched_getaffinity(0))
        self.workers = workers or len(processors)
        self._children = Children()
        held = iter(processors if len(processors) == self.workers else ())
        self._pool = ThreadPoolExecutor(self.workers, initializer=_hold_to_next, initargs=(held,))

    def outcomes(self, batches: Iterator[Batch]) -> Iterator[Outcome]:
        """Yield the outcome of each batch."""
        running: dict[Future[Done], Batch] = {}
        while True:
            for batch in islice(batches, self.workers * WAITING - len(running)):
                running[self._pool.submit(run_batch, batch, self._children)] = batch
            if not running:
                return
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                yield Outcome(running.pop(future), future.result())

    def close(self) -> None:
        """End the child processes; batches that wait are not begun."""
        self._children.end()
        self._pool.shutdown(cancel_futures=True)


def _hold_to_next(processors: Iterator[int]) -> None:
    """Hold this thread, and the processes that it starts, to the next of the processors."""
    with suppress(StopIteration, OSError):  # none is left, or it has gone: the kernel chooses
        os.sched_setaffinity(0, {next(processors)})


class DaskEngine:
    """The workers of a Dask cluster. Its scheduler has everything in memory only.

    A batch whose worker is killed goes to another one, as often as ``allowed-failures`` of the
    scheduler's configuration says (3). ``task`` is what a worker does with a batch.
    """

    def __init__(self, address: str, task: Callable[[Batch], Done]) -> None:
        self._distributed = extra("distributed")
        self._address, self._task = address, task
        try:
            self._client = self._distributed.Client(
                address, timeout=_CONNECT_S, set_as_default=False
            )
        except (OSError, ValueError, TypeError) as error:
            raise FleetError(
                f"the Dask scheduler {address} does not answer: {str(error)[:200]}",
                "check the address, or start a scheduler: dask scheduler",
            ) from error
        self.workers = 0

    def check(self, of_worker: Callable[[], str], own: str) -> None:
        """Raise FleetError unless there are workers, all with this version of foreread."""
        with suppress(TimeoutError):
            self._client.wait_for_workers(1, timeout=_CONNECT_S)
        try:
            versions: dict[str, str] = self._client.run(of_worker)
        except ImportError as error:
            raise FleetError(
                f"a worker of {self._address} has no foreread: {error}",
                f'install it on all workers: pip install "foreread[fleet]=={own}"',
            ) from error
        if not versions:
            raise FleetError(
                f"the Dask scheduler {self._address} has no worker", _START.format(self._address)
            )
        for worker, version in versions.items():
            if version != own:
                raise other_version(own, version, worker)
        self.workers = self._threads()

    def outcomes(self, batches: Iterator[Batch]) -> Iterator[Outcome]:
        """Yield the outcome of each batch; raises FleetError if the scheduler is lost."""
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        running: dict[str, tuple[Any, Batch]] = {}
        while True:
            self.workers = max(self._threads(), 1)  # they come and go
            for batch in islice(batches, max(self.workers * WAITING - len(running), 0)):
                future = self._client.submit(self._task, batch, pure=False)
                running[future.key] = future, batch
                future.add_done_callback(ended.put)
            if not running:
                return
            with suppress(queue.Empty):
                future = ended.get(timeout=_POLL_S)
                yield _outcome(future, running.pop(future.key)[1], self._lost)
            if self._client.status != "running":
                raise self._lost()

    def close(self) -> None:
        """Cancel what waits, and leave the cluster."""
        with suppress(Exception):  # a cluster that is lost cancels nothing
            self._client.close(timeout=_CONNECT_S)

    def _threads(self) -> int:
        threads_by_worker: dict[str, int] = {}
        with suppress(OSError, TimeoutError):
            threads_by_worker = self._client.nthreads()
        return sum(threads_by_worker.values())

    def _lost(self) -> FleetError:
        return FleetError(
            f"the Dask scheduler {self._address} was lost; what was analysed is stored",
            "start it again, and repeat the command: only what is missing will be analysed",
        )


def other_version(version: str, own: str, worker: str = "a worker") -> FleetError:
    """Return the error for a worker with another version of foreread than the command's."""
    return FleetError(
        f"this command is foreread {version}, but {worker} has foreread {own}",
        f"install the same version on all workers: pip install foreread=={version}",
    )


def _outcome(future: Any, batch: Batch, lost: Callable[[], FleetError]) -> Outcome:
    """Return the outcome of a task that has ended; raises FleetError for what all tasks meet."""
    if future.cancelled():
        raise lost()
    error = future.exception()
    if error is None:
        return Outcome(batch, future.result())
    if type(error).__name__ == "KilledWorker":
        return Outcome(batch, None, "the workers that worked on it were killed")
    raise error
