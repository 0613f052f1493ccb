"""The list of foreread-advice.c, the preload shim: which files are advised, and how."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from importlib.resources import files

from foreread.analyzer.advise.document import TrialAdvice
from foreread.analyzer.prefetch.listing import can_be_listed

MAGIC = "foreread-advice 1"
SHIM_SOURCE = "foreread-advice.c"
SHIM = "foreread-advice.so"
LARGEST_LIST = (64 << 10) - 1  # bytes


def shim_source() -> bytes:
    """Return the C source of the shim."""
    return (files(__package__) / "shim" / SHIM_SOURCE).read_bytes()


def can_be_advised(path: str) -> bool:
    """Return whether a line of the list can name a file."""
    return can_be_listed(path) and "\n" not in path


def list_of(advice: Sequence[TrialAdvice]) -> bytes:
    """Return the text of a list. Raises ValueError for what the shim would refuse."""
    lines = [MAGIC]
    for each in advice:
        if not can_be_advised(each.path):
            raise ValueError(f"a list of {SHIM_SOURCE} cannot name {each.path!r}")
        lines.append(f"{each.call} {each.advice} {each.path}")
    text = "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape")
    if len(text) > LARGEST_LIST:
        raise ValueError(f"the list has {len(text):,} bytes, more than {LARGEST_LIST:,}")
    return text


def how_to_preload(name: str) -> Iterator[str]:
    """Yield what to type to start a program with the list of a name."""
    yield f"cc -std=c11 -O2 -shared -fPIC -o {SHIM} {SHIM_SOURCE}  # with the board's compiler"
    yield f"FOREREAD_ADVICE=$PWD/{shlex.quote(name)} LD_PRELOAD=$PWD/{SHIM} COMMAND"
