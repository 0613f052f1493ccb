"""Runs shell lines at a console, with the agent ``agent.sh`` that it starts there.

After each line the host waits for an answer, and after each block the agent does, so that data are
never sent faster than they are read. Lost data are requested again; a command is never started
twice, since its line has a number. After unexpected data a side is silent until the line is quiet:
an answer would cause the next confusion.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import IO

from foreread.boards.console.frames import (
    Answer,
    Began,
    Block,
    Ended,
    Event,
    Listener,
    Sign,
    checked_line,
    decode,
    printf_pieces,
)
from foreread.boards.console.line import SerialLine
from foreread.boards.console.prompt import (
    BOOTS,
    INTERRUPT,
    LEAVE,
    PACED_AFTER,
    UART_BYTES,
    UART_GAP_S,
    Prompt,
    agent_text,
)
from foreread.boards.target import TargetError

LINE = 500
# Duration of a block on a tty; the speed of a line behind TCP is unknown.
BLOCK_S = 0.3
LARGEST_BLOCK_BYTES = 12_000
ANSWER_S = 2.0
STALE_S = 0.2
# The agent reports every five seconds that a command still runs; the agent's five seconds can
# take a minute on an emulated board of a busy host.
SILENT_S, LOST_S = 12.0, 90.0
TRIES = 10

_REMEDY = "look at the console with a terminal program"


class Console:
    """A shell at the end of ``line``; its methods raise TargetError."""

    def __init__(self, line: SerialLine, password: Callable[[], str]) -> None:
        self.line = line
        self._mark = "fr" + secrets.token_hex(5)
        self._number = 0
        self._losses = 0
        self._events: deque[Event] = deque()
        self._end: float | None = None
        self.used = self._lost_at = time.monotonic()
        prompt = Prompt(line, password)
        prompt.find()
        self._logged_in = prompt.logged_in
        self._sum = prompt.sum_name()
        self._listener = Listener(self._mark, self._sum)
        size = int(BLOCK_S / line.byte_s) if line.byte_s else LARGEST_BLOCK_BYTES
        prompt.load(self._mark, self._sum, min(size, LARGEST_BLOCK_BYTES))
        self._form = self._load()

    def close(self) -> None:
        """Return the console to its initial state."""
        with contextlib.suppress(TargetError, TimeoutError):
            self._end = None
            self._progress()
            self.line.write(LEAVE)
            while self._hear(ANSWER_S) not in (None, Sign("left")):
                pass
            if self._logged_in:
                self.line.write(b"exit\n")

    def interrupt(self) -> None:
        """Stop the running command, and the agent."""
        with contextlib.suppress(TargetError):
            self.line.write(INTERRUPT)

    def run(
        self,
        script: bytes,
        stdin: Iterable[bytes],
        out: IO[bytes],
        err: IO[bytes],
        end: float | None,
    ) -> int:
        """Run a script and return its exit status.

        ``end`` is a time.monotonic(); TimeoutError afterwards.
        """
        self._end = end
        *pieces, last = printf_pieces(script + b"\n", LINE)
        for piece in pieces:
            self._tell(f"script {piece}")
        for data in stdin:
            for piece in printf_pieces(data, LINE):
                self._tell(f"input {piece}")
        self._progress()
        self._number += 1
        status = self._follow(
            checked_line(f"{self._number} run {last}", self._sum), {"out": out, "err": err}
        )
        self.used = time.monotonic()
        return status

    def _load(self) -> str:
        """Send the agent, start it, and return the encoding of its blocks."""
        for piece in printf_pieces(agent_text(), LINE):
            self._tell(piece)
        self._number += 1
        for _ in range(TRIES):
            self._send(checked_line(f"{self._number} .", self._sum))
            while (event := self._hear(ANSWER_S)) is not None:
                if isinstance(event, Began) and event.amiss:
                    raise TargetError(f"the console's shell has {event.amiss}", "add that to it")
                if isinstance(event, Began):
                    return event.form
        raise TargetError("the shell did not start what was sent to it", _REMEDY)

    def _tell(self, words: str) -> None:
        """Send words until the agent has accepted them."""
        self._number += 1
        line = checked_line(f"{self._number} {words}", self._sum)
        self._progress()
        if not any(self._answered(line) for _ in range(TRIES)):
            raise TargetError("the console stopped answering", _REMEDY)

    def _answered(self, line: bytes) -> bool:
        """Send a line; return whether the agent accepted it."""
        self._send(line)
        quiet_s = ANSWER_S + len(line) * self.line.byte_s
        while (event := self._hear(quiet_s)) is not None:
            match event:
                case Answer(number=self._number, failed=failed):
                    if failed:
                        raise _no_space()
                    self._progress()
                    return True
            quiet_s = STALE_S
        self._losses += 1
        return False

    def _follow(self, line: bytes, sinks: dict[str, IO[bytes]]) -> int:
        """Start the command by ``line``, read its output, and return its status."""
        self._send(line)
        counts = dict.fromkeys(sinks, 0)
        reply, quiet_s = line, ANSWER_S
        while True:
            match self._hear(quiet_s):
                case None:
                    self._send(reply)
                    reply, quiet_s = b"\n", SILENT_S
                case Ended(number=self._number, status=status):
                    return status
                case Block(number=self._number, kind=kind, index=index) as block:
                    reply, quiet_s = f"{self._number} {kind} {index}\n".encode(), STALE_S
                    if index == counts.get(kind):
                        sinks[kind].write(_decoded(block, self._form))
                        sinks[kind].flush()
                        counts[kind] += 1
                        self._send(reply)
                        reply, quiet_s = b"\n", SILENT_S
                        self._progress()
                case Answer(number=self._number, failed=True):
                    raise _no_space()
                case Answer(number=self._number) | Sign("alive"):
                    reply, quiet_s = b"\n", SILENT_S
                    self._progress()
                case Answer() | Block() | Ended():  # of an earlier line: this line was refused
                    reply, quiet_s = line, STALE_S
                case Sign("damaged"):
                    reply, quiet_s = b"\n", STALE_S
                case Sign("left"):
                    raise TargetError("the shell at the console was stopped", _REMEDY)

    def _hear(self, quiet_s: float) -> Event | None:
        """Return the agent's next message, None after ``quiet_s`` without one."""
        until = time.monotonic() + quiet_s
        while not self._events:
            now = time.monotonic()
            if self._end is not None and now >= self._end:
                raise TimeoutError
            if now >= self._lost_at:
                raise TargetError(f"no valid answer for {LOST_S:g} s", _REMEDY)
            if now >= until:
                return None
            data = self.line.read(min(until, self._lost_at, self._end or until) - now)
            heard = self._listener.noise + data  # more than the limit, if much arrived at once
            self._events.extend(self._listener.feed(data))
            if BOOTS.search(heard):
                raise TargetError("the board restarted", "see its console for the reason")
            if data and self._listener.in_block:
                until = time.monotonic() + ANSWER_S
        return self._events.popleft()

    def _progress(self) -> None:
        self._lost_at = time.monotonic() + LOST_S

    def _send(self, line: bytes) -> None:
        paced = self._losses > PACED_AFTER
        self.line.write(line, *((UART_BYTES, UART_GAP_S) if paced else ()))


def _no_space() -> TargetError:
    return TargetError("no space left for the data sent", "free some in the board's /tmp")


def _decoded(block: Block, form: str) -> bytes:
    try:
        return decode(block, form)
    except ValueError as error:
        raise TargetError(f"the console did not send a {form}", _REMEDY) from error
