"""The udev rules, tuned profiles, services and scripts of a machine that set a readahead window.

origin.sh searches for them; it runs on the machine, here or through a target.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from importlib import resources
from typing import Protocol

from foreread.boards.target import Result, TargetError

NONE = "no udev rule, tuned profile, service or script here sets it, as far as foreread can find"
UNREAD = "what sets it was not looked up, for want of programs:"
_LONGEST_S = 60.0  # a slow board with many units
_MOST = 400  # characters of a sentence, which comes from the target


class _Shell(Protocol):
    def run(
        self, command: Sequence[str], stdin: bytes = b"", timeout_s: float | None = None
    ) -> Result:
        """Run a command of the target."""


def program() -> str:
    """Return the program that prints the origins of the windows in its arguments."""
    text = (resources.files("foreread.boards") / "origin.sh").read_text()
    return f'#!/bin/sh\n{text.rstrip()}\n\norigins "$@"\n'


def is_found(sentence: str) -> bool:
    """Return whether a sentence of ``origins_of`` names the origin of a window."""
    return not sentence.startswith((NONE, UNREAD))


def origins_of(target: _Shell, knobs: Sequence[str]) -> dict[str, list[str]]:
    """Return sentences about the origin of each window of ``knobs``; empty if unknown."""
    sentences: dict[str, list[str]] = {knob: [] for knob in knobs}
    if not knobs:
        return sentences
    with suppress(TargetError, OSError):
        command = ["sh", "-s", "--", *knobs]
        done = target.run(command, stdin=program().encode(), timeout_s=_LONGEST_S)
        for line in done.stdout.decode(errors="replace").splitlines():
            knob, _, sentence = line.partition(": ")
            if sentence and knob in sentences:
                sentences[knob].append(sentence[:_MOST])
    return sentences
