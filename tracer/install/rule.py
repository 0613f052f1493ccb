"""The windows that an installed udev rule sets: recorded, compared, and put back.

A rule saves no old values: the manifest on the board keeps them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from foreread.boards.knobs import BLOCK, READ_AHEAD
from foreread.boards.target import Target

Windows = Mapping[str, tuple[str, str]]  # path -> value before the installation, value in the rule

_SHOWN = (
    re.compile(  # a line of the script's dry run, with the old value if the script has saved it
        rf"(?P<path>{BLOCK}[^/ ]+/{READ_AHEAD}): (?P<current>\d+) (?:as wanted|-> (?P<wanted>\d+)) "
        r"\(.*?(?:; before: (?P<saved>\d+))?\)"
    )
)


def windows_of(dry_run: Iterable[str], before: Windows) -> dict[str, tuple[str, str]]:
    """Return the windows that the rule of a plan sets, from the dry run of the plan's script.

    A window that an earlier rule set (``before``) keeps its value before that rule.
    """
    windows = {}
    for line in filter(None, map(_SHOWN.fullmatch, dry_run)):
        path, current = line["path"], line["current"]
        earlier, earlier_set = before.get(path, ("", ""))
        old = earlier if current == earlier_set else line["saved"] or current
        windows[path] = (old, line["wanted"] or current)
    return windows


def status(target: Target, windows: Windows) -> tuple[list[str], bool]:
    """Return each window as the script's status shows it, and whether all are as the rule sets."""
    lines, holds = [], bool(windows)
    for path, (old, wanted) in windows.items():
        current = _read(target, path)
        verdict = "as wanted" if current == wanted else f"-> {wanted}"
        lines.append(f"{path}: {current} {verdict} (always; udev rule; before: {old})")
        holds &= current == wanted
    return lines or ["no disk of the udev rule was there when it was installed"], holds


def put_back(target: Target, windows: Windows) -> list[str]:
    """Write the old value to each window that still has the rule's; return the changes as lines."""
    return [
        f"foreread: {path}: {change}"
        for path, (old, value) in windows.items()
        if (change := _put_back(target, path, old, value))
    ]


def _put_back(target: Target, path: str, old: str, value: str) -> str:
    current = _read(target, path)
    if current == old:
        return ""
    if current != value:
        return f"is {current}, not {value} as the udev rule sets: left as it is"
    try:
        return f"{current} -> {target.write_knob(path, old)}"
    except OSError as error:
        return f"is {current}, {old} could not be put back: {error.strerror}"


def _read(target: Target, path: str) -> str:
    try:
        return target.read_knob(path)
    except FileNotFoundError:
        return "absent"
