"""Cases of a target that answers late, with garbage, in part, or never; no board is needed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from bench import Bench

# Stands in for ssh. Whatever it is asked, the connection is there, and the board answers so.
SSH = """#!/bin/sh
case " $* " in *" -fN "* | *" -O "*) exit 0 ;; esac
for line; do :; done
echo asked >>"$ASKED"
case $ANSWER in
garbage) head -c 1000000 /dev/urandom ;;
text) yes "place /../garbage uptime 1e999 0x" | head -n 1000 ;;
part) printf 'place /run/fore' ;;
nothing) ;;
late) sleep 2 && exec sh -c "$line" ;;
never) exec sleep 600 ;;
esac
"""
URL = "ssh://root@127.0.0.1:1"
WRONG = ("garbage", "text", "part", "nothing")
LIMIT_S = 30.0
Refused = Callable[..., list[str]]


class Targets:
    """Makes the cases; ``refused`` runs a command that must fail with one clear message."""

    def __init__(self, bench: Bench, refused: Refused, output: Callable[[], Path]) -> None:
        self.bench = bench
        self._refused = refused
        self._output = output
        commands = {"record": self._record, "watch": self._watch, "doctor": self._doctor}
        self.cases: dict[str, Callable[[], list[str]]] = {
            f"{answer} to {name}": partial(self._wrong, answer, words)
            for answer in WRONG
            for name, words in commands.items()
        }
        self.cases["late to doctor"] = partial(self._wrong, "late", self._doctor)
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            self.cases[f"never, {number.name}"] = partial(self._never, number)

    def _wrong(self, answer: str, words: Callable[[], list[object]]) -> list[str]:
        """Such an answer is an error, never a traceback; a doctor may also list what is missing."""
        prefix = self._board(answer)
        problems = self._refused(words(), prefix, or_done=words == self._doctor)
        return problems + ([] if self._asked.exists() else ["the board was not asked"])

    def _never(self, number: signal.Signals) -> list[str]:
        """A command that waits for the board for ever ends by a signal, and leaves nothing."""
        process = self.bench.start(self._record(), self._board("never"))
        end = time.monotonic() + LIMIT_S
        while not self._asked.exists() and time.monotonic() < end:
            time.sleep(0.05)
        problems = [] if self._asked.exists() else ["the board was not asked"]
        os.kill(process.pid, number)
        try:
            said = process.communicate(timeout=LIMIT_S)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            process.kill()
            return [*problems, f"it did not end within {LIMIT_S:g} s"]
        return [*problems, said[-600:]] if "Traceback" in said else problems

    def _board(self, answer: str) -> Sequence[str]:
        """Make such a board; return the words that put its ssh before the real one."""
        folder = self._output()
        folder.mkdir(parents=True)
        ssh = folder / "ssh"
        ssh.write_text(SSH)
        ssh.chmod(0o755)
        self._asked = folder / "asked"
        found = f"PATH={folder}:{os.environ['PATH']}"
        return ["env", found, f"ASKED={self._asked}", f"ANSWER={answer}"]

    def _record(self) -> list[object]:
        return ["record", "--target", URL, "-o", self._output(), "--", "true"]

    def _watch(self) -> list[object]:
        return ["fingerprint", "--watch", "--target", URL]

    def _doctor(self) -> list[object]:
        return ["doctor", "--target", URL]
