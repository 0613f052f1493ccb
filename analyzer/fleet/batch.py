"""One batch of captures: fetched here, analysed by a child process, returned as rows.

The same function runs in a thread of this machine and as a task of Dask.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from foreread.analyzer.fleet.error import FleetError
from foreread.analyzer.fleet.fetch import Fetched, fetched
from foreread.analyzer.fleet.listing import Found, source_key
from foreread.analyzer.fleet.names import digest
from foreread.analyzer.fleet.place import is_far
from foreread.analyzer.fleet.question import FleetQuestion
from foreread.analyzer.fleet.rows import Rows, error_row, text
from foreread.boards.base.owner import marked
from foreread.boards.base.scratch import scratch_folder
from foreread.tracer.formats.limits import LimitError

MOST_SECONDS = 900.0  # for one capture, reading it included
_CHILD = (
    "import sys; sys.path[:] = sys.argv[1:]; from foreread.analyzer.fleet.child import main; main()"
)
# One thread: as many processes as processors run already.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_MOST_ANSWER = 64 << 20
_BUG = "copy the capture again, or record again; if it is intact, report the bug with the file"


@dataclass(frozen=True)
class Batch:
    """Captures to be analysed together, and how."""

    captures: tuple[Found, ...]
    question: FleetQuestion


@dataclass(frozen=True)
class Analysed:
    """The rows of one capture, complete."""

    key: str
    source_key: str | None
    rows: Rows


@dataclass
class Done:
    """What became of a batch; ``unreachable`` are captures that could not be fetched, and why."""

    analysed: list[Analysed] = field(default_factory=list)
    unreachable: list[tuple[str, str]] = field(default_factory=list)


class Children:
    """The child processes of this process, which ``end`` kills."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self.ended = False

    def add(self, child: subprocess.Popen[bytes]) -> None:
        """Note a child; it is killed at once if all were ended before."""
        with self._lock:
            self._running.add(child)
            if self.ended:
                child.kill()

    def remove(self, child: subprocess.Popen[bytes]) -> None:
        """Forget a child that has ended."""
        with self._lock:
            self._running.discard(child)

    def end(self) -> None:
        """Kill all, and those that are started later."""
        with self._lock:
            self.ended = True
            for child in self._running:
                child.kill()


class _Stopped(Exception):
    """The caller has ended the children."""


class _Crash(Exception):
    """The child ended, or had to be ended, while it analysed a capture."""


def key_of(content: str, question: FleetQuestion) -> str:
    """Return the key of a capture's rows."""
    return digest(content, *question.parts())


def run_batch(batch: Batch, children: Children | None = None) -> Done:
    """Analyse the captures of a batch. ``children`` lets the caller end the child process."""
    done = Done()
    with scratch_folder("fleet") as scratch, _Child(batch.question, scratch, children) as child:
        for entry in batch.captures:
            try:
                _one(entry, batch.question, scratch, child, done)
            except Exception as error:
                if not is_far(error):
                    raise
                done.unreachable.append((entry.address, text(str(error) or type(error).__name__)))
    return done


def _one(entry: Found, question: FleetQuestion, scratch: str, child: _Child, done: Done) -> None:
    try:
        with fetched(entry, scratch) as capture:
            rows = child.rows_of(capture.path)
            done.analysed.append(_complete(entry, capture, rows, question))
    except (LimitError, FleetError) as error:  # its content is refused each time
        capture = Fetched(Path(), 0, digest(entry.address, entry.stamp))
        rows = error_row(str(error), error.remedy)
        done.analysed.append(_complete(entry, capture, rows, question))


def _complete(entry: Found, capture: Fetched, rows: Rows, question: FleetQuestion) -> Analysed:
    """Return the rows with what is known of the capture's file."""
    key, source = key_of(capture.content, question), source_key(entry, *question.parts())
    summary, *windows = rows.rows
    summary |= {
        "source": text(entry.address),
        "source_key": source,
        "content": capture.content,
        "bytes": capture.size,
        "foreread": question.version,
        "analysed": datetime.now(UTC).replace(tzinfo=None).isoformat(" ", "milliseconds"),
        "asked_model": question.model,
        "asked_device": text(question.device_name),
    }
    every = [row | {"key": key} for row in (summary, *windows)]
    return Analysed(key, source, replace(rows, rows=every))


class _Child:
    """The child process of a batch, started when it is needed and again after a crash."""

    def __init__(self, question: FleetQuestion, scratch: str, children: Children | None) -> None:
        self._question = question
        self._scratch = Path(scratch)
        self._children = children or Children()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def rows_of(self, path: Path) -> Rows:
        """Return the rows of a capture; the row of an error if it ended the child."""
        try:
            return self._asked(path)
        except _Crash as error:
            self._end()
            return error_row(str(error), _BUG)

    def _asked(self, path: Path) -> Rows:
        process = self._process or self._start()
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # its end shows when the answer is read
            process.stdin.write(json.dumps(str(path)).encode() + b"\n")
            process.stdin.flush()
        line = b"".join(_line(process))
        if not line.endswith(b"\n"):
            raise self._crash(process)
        answer = json.loads(line)
        return Rows(answer["board"], answer["start"], answer["rows"])

    def _start(self) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-c", _CHILD, *(str(Path(at).absolute()) for at in sys.path)]
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=marked() | _ONE_THREAD,
        )
        self._process = process
        self._children.add(process)
        assert process.stdin is not None
        request = {
            "model": self._question.model,
            "device": self._device(),
            "reader": self._question.reader,
        }
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(request).encode() + b"\n")
        return process

    def _device(self) -> str:
        if not self._question.device_text:
            return self._question.device_name
        copy = self._scratch / "device-model.toml"
        copy.write_text(self._question.device_text)
        return str(copy)

    def _crash(self, process: subprocess.Popen[bytes]) -> _Crash:
        if self._children.ended:
            raise _Stopped
        try:
            code = process.wait(1)
        except subprocess.TimeoutExpired:
            return _Crash(f"the analysis took more than {MOST_SECONDS:.0f} s, and was ended")
        if code < 0:
            return _Crash(f"it ended the process that analysed it ({signal.Signals(-code).name})")
        return _Crash(f"the process that analysed it ended with {code}")

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
            self._children.remove(self._process)
            self._process = None


def _line(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """Yield the pieces of the next answer; it is incomplete if the child ends or takes too long."""
    assert process.stdout is not None
    output, left = process.stdout.fileno(), _MOST_ANSWER
    poll = select.poll()
    poll.register(output, select.POLLIN)
    while left > 0 and poll.poll(1000 * MOST_SECONDS):
        piece = os.read(output, 1 << 16)
        yield piece
        left -= len(piece)
        if not piece or piece.endswith(b"\n"):
            return
