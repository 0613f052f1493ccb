"""The shells that a board may have.

Each change is tested on dash, and the essentials on busybox ash, which most boards have.
``make test-all`` runs the others, too.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from importlib import resources

import pytest
from _pytest.mark import ParameterSet

BUSYBOX = ("busybox", "sh")
DASH = ("dash",)
BASH = ("bash", "--posix")


def each_shell(
    *per_change: tuple[str, ...], of: Iterable[tuple[str, ...]] = (BUSYBOX, DASH)
) -> list[ParameterSet]:
    """Return a parameter for each shell; those that are not ``per_change`` (dash) run thorough."""
    now = per_change or (DASH,)
    return [
        pytest.param(words, id=words[0], marks=() if words in now else pytest.mark.thorough)
        for words in of
    ]


def function(file: str, name: str) -> str:
    """Return the shell function of that name."""
    text = (resources.files("foreread.tracer.remote") / file).read_text()
    return re.search(rf"^{name}\(\) {{\n.*?^}}\n", text, re.MULTILINE | re.DOTALL)[0]


def printed(shell: tuple[str, ...], text: str, lines: str = "") -> str:
    """Return what a shell prints of these functions and commands; it says nothing else."""
    words = [*shell, "-c", text]
    done = subprocess.run(words, check=False, input=lines, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.removesuffix("\n")
