"""Runs foreread's own commands, and keeps their lines for whoever wants to repeat a cell."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from typing import Any


class CommandError(RuntimeError):
    """A command of foreread that failed; the message is its own."""


class Foreread:
    """The command line of this foreread; ``lines`` are the commands that were run, as typed.

    The environment's ACCURACY_UNDER (``flock FILE``, ``taskset -c 1``) goes before those
    that measure seconds on this machine.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, *words: object, measures: bool = False, within: Sequence[str] = ()) -> str:
        """Run a command and return its stdout; what it tells goes to stderr. CommandError.

        ``within`` are words that go before it, which run what follows them.
        """
        texts = [str(word) for word in words]
        self.note(*texts)
        under = shlex.split(os.environ.get("ACCURACY_UNDER", "")) if measures else []
        line = [*under, *within, sys.executable, "-m", "foreread", *texts]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode:
            messages = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            raise CommandError(f"{texts[0]}: {messages[-1]}")
        return done.stdout

    def first_run(self, command: Sequence[str]) -> None:
        """Run a command that may write what its later runs read: a profile, a cache of fonts."""
        self.lines.append(shlex.join(command))
        subprocess.run(command, check=False, capture_output=True)

    def note(self, *words: object) -> None:
        """Keep a command's line without running it: somebody has."""
        self.lines.append(shlex.join(["foreread", *map(str, words)]))

    def json(self, *words: object) -> dict[str, Any]:
        """Run a command that prints JSON."""
        document: dict[str, Any] = json.loads(self(*words, "--json"))
        return document
