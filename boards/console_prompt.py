"""Finds the shell's prompt at a console, logs in where that is asked for, starts the agent.

A person's shell is there: it echoes, edits its line, and shows prompts of any look. So what is
looked for is never typed as such: ``echo ab''cd`` shows abcd only when a shell has obeyed.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable
from importlib import resources

from boards.console_frames import SUMS, printf_pieces
from boards.serial_line import SerialLine
from boards.target import TargetError

AGENT = "console_agent.sh"
LEAVE = b"\n: foreread-leave\n"
INTERRUPT = b"\x03"
USER = b"root"
TRIES = 4
SHOWN_S, OBEYED_S, LOGIN_S = 1.5, 3.0, 15.0
# A shell that edits its lines takes 1024 characters (busybox), one that shows them fewer well.
TYPED, TYPED_WHEN_LOST = 200, 50
# A UART's buffer is 16 bytes: what was lost is sent in pieces that fit, with time between.
UART_BYTES, UART_GAP_S = 16, 0.003

LOGIN = re.compile(rb"login: ?\Z", re.IGNORECASE)
PASSWORD = re.compile(rb"password: ?\Z", re.IGNORECASE)
SHELL = re.compile(rb"[#$] ?(?:\x1b\[[0-9;?]*[a-zA-Z])*\Z")
ENTER = re.compile(rb"press Enter to activate this console\.\s*\Z")
BOOTS = re.compile(rb"Linux version \d|Booting Linux on|U-Boot (?:SPL )?20\d\d|\[    0\.000000\]")
_UP = re.compile(b"|".join(p.pattern for p in (LOGIN, SHELL, ENTER)), re.IGNORECASE)
# How long a prompt has to stand still until the board is taken to be up; how long none is awaited.
STILL_S, STILL_UNSURE_S, NOTHING_S = 1.0, 5.0, 60.0
_REFUSED = re.compile(rb"login incorrect", re.IGNORECASE)
_SHOWN = re.compile(b"|".join(p.pattern for p in (LOGIN, PASSWORD, SHELL, ENTER)), re.IGNORECASE)
_AFTER_NAME = re.compile(b"|".join(p.pattern for p in (PASSWORD, SHELL)), re.IGNORECASE)
_AFTER_PASSWORD = re.compile(_REFUSED.pattern + b"|" + SHELL.pattern, re.IGNORECASE)
_ANYTHING_LONG = 100_000


class Prompt:
    """The shell of a person at the end of ``line``; ``password`` is asked when it is needed."""

    def __init__(self, line: SerialLine, password: Callable[[], str]) -> None:
        self.logged_in = False
        self._line = line
        self._password = password
        self._paced = False
        self._heard = b""

    def find(self) -> None:
        """Return once a shell obeys; raises TargetError."""
        for attempt in range(TRIES):
            self._type(INTERRUPT + b"\n" if attempt else b"\n")
            self._wait(_SHOWN, SHOWN_S)
            if LOGIN.search(self._heard):
                self._log_in()
            self._type(LEAVE)
            if self._obeys(":"):
                return
            self._paced = True
        raise self._no_prompt()

    def start_agent(self, mark: str, block_bytes: int) -> tuple[str, str]:
        """Start the agent, and return the sum and the form that it uses; raises TargetError."""
        tries = (
            ":; for _s in " + " ".join(SUMS) + "; do echo | $_s >/dev/null 2>&1 && break; _s=; done"
        )
        found = self._obeys(tries, "$_s.", rb"(\w*)\.")
        if not found or found[1].decode() not in SUMS:
            raise TargetError(
                f"the console's shell has none of {', '.join(SUMS)}",
                "put a busybox with md5sum on the board, or reach it by ssh",
            )
        sum_name = found[1].decode()
        for attempt in range(TRIES):
            if self._typed(agent_text(), TYPED_WHEN_LOST if attempt else TYPED, sum_name):
                break
            self._paced = True
        else:
            raise self._lost("too much is lost on the line")
        half = len(mark) // 2
        self._type(
            f'sh -c "$(printf "$_f")" foreread {mark[:half]}\'\'{mark[half:]} {sum_name}'
            f" {block_bytes}; unset _f _s\n".encode()
        )
        started = self._wait(
            re.compile(mark.encode() + rb"(?: 0 (\w+)|! ([^\r\n]*))\r?\n"), LOGIN_S
        )
        if started is None:
            raise self._lost("the shell did not start what was sent to it")
        if started[2] is not None:
            raise TargetError(
                f"the console's shell has {started[2].decode('ascii', 'replace')}",
                "put that on the board, or reach it by ssh",
            )
        return sum_name, started[1].decode()

    def _log_in(self) -> None:
        self._type(USER + b"\n")
        if self._wait(_AFTER_NAME, LOGIN_S) and PASSWORD.search(self._heard):
            self._type(self._password().encode() + b"\n")
            shown = self._wait(_AFTER_PASSWORD, LOGIN_S)
            if shown and _REFUSED.search(shown[0]):
                raise TargetError(
                    "the console refused root's password",
                    "see that root may log in at this console, and with which password",
                )
        self.logged_in = True

    def _typed(self, text: bytes, size: int, sum_name: str) -> bool:
        """Put ``text`` into the shell's variable _f, as printf wants it; say if it is there."""
        pieces = list(printf_pieces(text, size))
        if not self._obeys("_f="):
            return False
        if not all(self._obeys(f"_f=$_f'{piece}'") for piece in pieces):
            return False
        digest = hashlib.new(sum_name.removesuffix("sum"), "".join(pieces).encode() + b"\n")
        there = self._obeys(f"_t=$(printf '%s\\n' \"$_f\" | {sum_name})", "$_t", rb"(\w+)")
        return there is not None and there[1].decode() == digest.hexdigest()

    def _obeys(self, command: str, more: str = "", pattern: bytes = b"") -> re.Match[bytes] | None:
        """Have the shell run a command and say a new word; return the match of what it said."""
        word = secrets.token_hex(6)
        self._type(f"{command}; echo {word[:6]}''{word[6:]}{more}\n".encode())
        return self._wait(re.compile(word.encode() + pattern), OBEYED_S)

    def _type(self, data: bytes) -> None:
        self._heard = b""
        self._line.write(data, *((UART_BYTES, UART_GAP_S) if self._paced else ()))

    def _wait(self, pattern: re.Pattern[bytes], limit_s: float) -> re.Match[bytes] | None:
        """Return the match in what was heard since something was typed, None if there is none."""
        end = time.monotonic() + limit_s
        while (match := pattern.search(self._heard)) is None and time.monotonic() < end:
            self._heard += self._line.read(end - time.monotonic())
            self._heard = self._heard[-_ANYTHING_LONG:]
        return match

    def _no_prompt(self) -> TargetError:
        heard = self._heard.decode("ascii", "replace").split("\n")
        said = next((text.strip() for text in reversed(heard) if text.strip()), "")[-80:]
        if not said:
            return TargetError(
                "the console says nothing",
                "see that the board is on, the cable and the baud rate, and that a shell or a"
                " login waits there",
            )
        return TargetError(
            f"no shell obeys on the console; it said: {said}",
            "see it with a terminal program: it has to show a root shell or a login prompt",
        )

    def _lost(self, reason: str) -> TargetError:
        return TargetError(reason, "see the cable and the baud rate; close what else uses the line")


def wait_until_up(line: SerialLine, end: float) -> None:
    """Listen until a prompt stands still; a byte sent before might stop a boot loader.

    Gives up at ``end`` (time.monotonic()), or when nothing at all is heard for a minute.
    """
    heard = b""
    while (left := end - time.monotonic()) > 0:
        prompt = _UP.search(heard)
        still_s = STILL_S if BOOTS.search(heard) else STILL_UNSURE_S
        data = line.read(min(still_s if prompt else NOTHING_S, left))
        if not data:
            return
        heard = (heard + data.replace(b"\r", b""))[-_ANYTHING_LONG:]


def agent_text() -> bytes:
    """Return the agent without its comments and indentation."""
    text = resources.files(__package__).joinpath(AGENT).read_text()
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#")).encode()
