"""labgrid's client program: acquires and releases a place, lists its resources, switches its power.

The program and the environment file that it prints are labgrid's stable interface, unlike its
modules; it may be installed anywhere. One call takes about 0.3 s.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from foreread.boards.base.owner import marked
from foreread.boards.client import run_client
from foreread.boards.target import TargetError, too_slow

PROGRAM = "labgrid-client"
CALL_S = 60.0
POWER_S = 120.0  # off, a delay, on
# The lab's address and the user: a guard needs the same to release an acquired place.
VARIABLES = ("LG_COORDINATOR", "LG_USERNAME", "LG_HOSTNAME", "LG_PROXY", "LG_TOKEN")

_HELD_BY_US = "You have already acquired place"
_HELD = ("already acquired", "acquired by a different user")
_FREE = "is not acquired"
_REMEDIES = {
    "connect to coordinator": "name the lab's coordinator: export LG_COORDINATOR=HOST:PORT",
    "matches nothing": f"list the places of the lab: {PROGRAM} places",
    "matches multiple": f"give the whole name; list the places of the lab: {PROGRAM} places",
    "orphaned resource": "restart the exporter of the board; list what it offers: "
    f"{PROGRAM} resources",
}


class PlaceHeld(TargetError):
    """A place that a user holds; ``by_us`` if this user holds it on this machine."""

    def __init__(self, message: str, remedy: str, by_us: bool) -> None:
        super().__init__(message, remedy)
        self.by_us = by_us


@dataclass(frozen=True)
class LabgridClient:
    """The client for one place; ``environment`` replaces variables of this process."""

    place: str
    environment: Mapping[str, str] | None = None

    def acquire(self) -> None:
        """Acquire the place; raises PlaceHeld if a user holds it, and TargetError."""
        self._call("acquire")

    def release(self) -> bool:
        """Release the place; return whether it was held. Raises TargetError."""
        try:
            self._call("release")
        except TargetError as error:
            if _FREE in str(error):
                return False
            raise
        return True

    def resources(self) -> str:
        """Return the place's environment file (YAML), which lists its resources."""
        return self._call("env")

    def power_cycle(self) -> None:
        """Switch the board off and on again."""
        self._call("power", "cycle", limit_s=POWER_S)

    def _call(self, *words: str, limit_s: float = CALL_S) -> str:
        command = [_program(), "-p", self.place, *words]
        step = f"labgrid-client {' '.join(words)}"
        environment = {**marked(), **(self.environment or {})}
        try:
            done = run_client(command, b"", None, limit_s, environment)
        except TimeoutError:
            raise too_slow(f"labgrid://{self.place}", step, limit_s) from None
        if done.status:
            raise self._failure(step, os.fsdecode(done.stderr))
        return done.stdout.decode(errors="replace")

    def _failure(self, step: str, stderr: str) -> TargetError:
        lines = [line.strip() for line in stderr.splitlines() if line.strip()]
        last = next((line for line in reversed(lines) if "Error" in line), "".join(lines[-1:]))
        reason = last.rpartition("Error: ")[2] or "failed without a message"
        message = f"labgrid://{self.place}: {step}: {reason}"
        if any(sign in reason for sign in _HELD):
            remedy = (
                "ask its user to release it, or wait up to ten minutes for it: "
                f"--target 'labgrid://{self.place}?wait=600'"
            )
            return PlaceHeld(message, remedy, _HELD_BY_US in reason)
        remedy = next((text for sign, text in _REMEDIES.items() if sign in reason), "")
        return TargetError(message, remedy or f"try it by hand: {PROGRAM} -p {self.place} show")


def lab_variables() -> dict[str, str]:
    """Return the variables of this process that name the lab and the user."""
    return {name: os.environ[name] for name in VARIABLES if name in os.environ}


def _program() -> str:
    """Return the path of the program: on PATH, or in the folder of this Python."""
    beside = Path(sys.executable).parent
    program = shutil.which(PROGRAM) or shutil.which(PROGRAM, path=str(beside))
    if program is None:
        raise TargetError(f"{PROGRAM} is not installed here", "pip install 'foreread[lab]'")
    return program
