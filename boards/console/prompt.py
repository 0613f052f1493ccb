"""Finds the shell's prompt at a console, logs in if necessary, and starts the agent.

The shell is interactive: it echoes, edits its line, and has any kind of prompt. So the expected
text is never typed literally: ``echo ab''cd`` shows abcd only when a shell has executed it.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from importlib import resources

from foreread.boards.console.frames import SUMS
from foreread.boards.console.line import SerialLine
from foreread.boards.target import TargetError

AGENT = "agent.sh"
LEAVE = b"\n: foreread-leave\n"
INTERRUPT = b"\x03"
USER = b"root"
# Quiet time of the line before the next try: longer with each try.
TRIES, LONGEST_QUIET_S = 6, 4.0
SHOWN_S, LOGIN_S, LONGEST_S = 1.5, 15.0, 30.0
# A UART's buffer has 16 bytes: after many losses, data are sent in pieces that fit, with pauses.
UART_BYTES, UART_GAP_S, PACED_AFTER = 16, 0.003, 3

LOGIN = re.compile(rb"login: ?\Z", re.IGNORECASE)
# Reads lines of sum, number and text, one at a time, like the agent; "." is the last line. Its
# arguments are the mark, the sum's name and the size of blocks.
_LOADER = (
    'm=$0;o=$(stty -g);trap "stty $o" 0;trap "exit 1" 2;stty -echo;i=0;f=;'
    "while echo $m $i;read -r s n l;do "
    'if [ "$(printf "%s\\n" "$n $l"|$1)" = "$s  -" ]&&[ "$n" = $((i+1)) ];then '
    'i=$n;[ "$l" = . ]&&break;f=$f$l;fi;done;exec sh -c "$(printf "$f")" $m $1 $2 $i "$o"'
)

PASSWORD = re.compile(rb"password: ?\Z", re.IGNORECASE)
SHELL = re.compile(rb"[#$] ?(?:\x1b\[[0-9;?]*[a-zA-Z])*\Z")
ENTER = re.compile(rb"press Enter to activate this console\.\s*\Z")
BOOTS = re.compile(rb"Linux version \d|Booting Linux on|U-Boot (?:SPL )?20\d\d|\[    0\.000000\]")
_UP = re.compile(b"|".join(p.pattern for p in (LOGIN, SHELL, ENTER)), re.IGNORECASE)
# The time without a change of the prompt until the board counts as up; the maximum wait for a
# prompt.
STILL_S, STILL_UNSURE_S, NOTHING_S = 1.0, 5.0, 60.0
_REFUSED = re.compile(rb"login incorrect", re.IGNORECASE)
_SHOWN = re.compile(b"|".join(p.pattern for p in (LOGIN, PASSWORD, SHELL, ENTER)), re.IGNORECASE)
_AFTER_NAME = re.compile(b"|".join(p.pattern for p in (PASSWORD, SHELL)), re.IGNORECASE)
_AFTER_PASSWORD = re.compile(_REFUSED.pattern + b"|" + SHELL.pattern, re.IGNORECASE)
_HEARD_BYTES = 100_000


class Prompt:
    """An interactive shell at the end of ``line``; ``password`` is called when needed."""

    def __init__(self, line: SerialLine, password: Callable[[], str]) -> None:
        self.logged_in = False
        self._line = line
        self._password = password
        self._losses = 0
        self._heard = b""

    def find(self) -> None:
        """Return once a shell responds; raises TargetError."""
        for attempt in range(2):
            self._type(INTERRUPT + b"\n" if attempt else b"\n")
            self._wait(_SHOWN, SHOWN_S)
            if LOGIN.search(self._heard):
                self._log_in()
            self._type(LEAVE)
            if self._obeys(":", tries=3):
                return
        raise self._no_prompt()

    def sum_name(self) -> str:
        """Return the first checksum program of SUMS that the shell has; raises TargetError."""
        match = self._obeys(
            f"for _s in {' '.join(SUMS)}; do echo | $_s >/dev/null 2>&1 && break; _s=; done",
            "$_s.",
            rb"(\w*)\.",
        )
        if match is None:
            raise self._lost()
        if not match[1]:
            raise TargetError(
                f"the console's shell has none of the programs {', '.join(SUMS)}",
                "put a busybox with md5sum on the board, or use --target ssh://USER@HOST",
            )
        return match[1].decode("ascii", "replace")

    def load(self, mark: str, sum_name: str, block_bytes: int) -> None:
        """Start the loader, which reads and executes the agent; raises TargetError."""
        half = len(mark) // 2
        split_mark = f"{mark[:half]}''{mark[half:]}"
        loader = f"sh -c '{_LOADER}' {split_mark} {sum_name} {block_bytes}\n".encode()
        started = re.compile(mark.encode() + rb" 0\n")
        if self._typed(lambda: (loader, started)) is None:
            raise self._lost()

    def _log_in(self) -> None:
        self._type(USER + b"\n")
        if self._wait(_AFTER_NAME, LOGIN_S) and PASSWORD.search(self._heard):
            self._type(self._password().encode() + b"\n")
            shown = self._wait(_AFTER_PASSWORD, LOGIN_S)
            if shown and _REFUSED.search(shown[0]):
                raise TargetError(
                    "the console refused root's password",
                    "check the password, and that root may log in at this console",
                )
        self.logged_in = True

    def _obeys(
        self, command: str, more: str = "", pattern: bytes = b"", tries: int = TRIES
    ) -> re.Match[bytes] | None:
        """Have the shell run a command and print a new word; return the match in its output.

        Runs in a subshell, so that no variables remain.
        """

        def line() -> tuple[bytes, re.Pattern[bytes]]:
            word = secrets.token_hex(6)
            typed = f"({command}; echo {word[:6]}''{word[6:]}{more})\n"
            return typed.encode(), re.compile(word.encode() + pattern)

        return self._typed(line, tries)

    def _typed(
        self, line: Callable[[], tuple[bytes, re.Pattern[bytes]]], tries: int = TRIES
    ) -> re.Match[bytes] | None:
        """Type a line, repeatedly if it gets lost, until the shell prints the expected text."""
        for attempt in range(tries):
            typed, pattern = line()
            self._type((INTERRUPT + b"\n" if attempt else b"") + typed)
            if match := self._wait(pattern, LONGEST_QUIET_S / 2 ** (tries - 1 - attempt)):
                return match
            self._losses += 1
        return None

    def _type(self, data: bytes) -> None:
        self._heard = b""
        paced = self._losses > PACED_AFTER
        self._line.write(data, *((UART_BYTES, UART_GAP_S) if paced else ()))

    def _wait(self, pattern: re.Pattern[bytes], quiet_s: float) -> re.Match[bytes] | None:
        """Return the match in the output after typing; None if there is none."""
        end = time.monotonic() + LONGEST_S
        while (match := pattern.search(self._heard)) is None and time.monotonic() < end:
            data = self._line.read(quiet_s)
            if not data:
                break
            self._heard = (self._heard + data.replace(b"\r", b""))[-_HEARD_BYTES:]
        return match

    def _lost(self) -> TargetError:
        return TargetError(
            "too many bytes are lost on the serial line",
            "check the cable and the baud rate; close other programs that use the line",
        )

    def _no_prompt(self) -> TargetError:
        heard = self._heard.decode("ascii", "replace").split("\n")
        last_output = next((text.strip() for text in reversed(heard) if text.strip()), "")[-80:]
        if not last_output:
            return TargetError(
                "the console is silent",
                "see that the board is on, the cable and the baud rate, and that a shell or a"
                " login waits there",
            )
        return TargetError(
            f"no shell responds on the console; its last output: {last_output}",
            "open the console with a terminal program: it must show a root shell or a login prompt",
        )


def wait_until_up(line: SerialLine, end: float) -> None:
    """Listen until a prompt is unchanged; an earlier byte to the board might stop a boot loader.

    Returns at the latest at ``end`` (time.monotonic()), or after a minute of silence.
    """
    heard = b""
    while (left_s := end - time.monotonic()) > 0:
        prompt = _UP.search(heard)
        still_s = STILL_S if BOOTS.search(heard) else STILL_UNSURE_S
        data = line.read(min(still_s if prompt else NOTHING_S, left_s))
        if not data:
            return
        heard = (heard + data.replace(b"\r", b""))[-_HEARD_BYTES:]


def agent_text() -> bytes:
    """Return the agent without its comments and indentation."""
    text = resources.files(__package__).joinpath(AGENT).read_text()
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#")).encode()
