"""A patch of the kernel's readahead: a kernel, and the rules of its table that change.

The file is TOML: ``base``, the version; ``[change]``, values by the names of ``Rules``; ``source``,
where the change was proposed. ``template`` writes one with all rules of a kernel.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from enum import IntEnum
from typing import Any

import msgspec

from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.forecast.changes import TOPICS
from foreread.analyzer.ingest.arguments import StrPath
from foreread.boards.base.bounded import UnboundedError
from foreread.boards.base.brief import brief
from foreread.boards.base.document import DocumentError
from foreread.boards.base.toml_document import decode_toml, read_toml
from foreread.emulator.linux.rules import (
    CHANGES,
    NEWEST_READ,
    KernelError,
    Rules,
    Version,
    is_unread,
    rules_for,
    series_text,
    values_of,
    version_of,
    version_text,
)

_KNOWN = f"{version_text(CHANGES[0].since)} to {version_text(NEWEST_READ)}"
RULES, PRINT = "--rules", "--print-rules"
_REMEDY = "correct the file; docs/reference/files.md, section Rules, has its format"
RuleValue = bool | int | str  # as in a file
_SHOWN = 60  # characters of a value that is refused


class PatchError(AnalyzerError, ValueError):
    """A file of rules that cannot be used; ``remedy`` says what to do."""


class PatchFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file as it is written."""

    base: str
    change: dict[str, Any]
    source: str = ""


@dataclass(frozen=True, repr=False)
class Patch:
    """The kernel ``base``, and ``change``: other values of its rules, by their names in ``Rules``.

    ``source`` is where the change was proposed, ``path`` the file that was read.
    """

    __repr__ = brief

    base: Version
    change: dict[str, Any]
    source: str = ""
    path: str = "FILE"

    @property
    def rules(self) -> Rules:
        """The rules of the kernel with the patch."""
        return replace(rules_for(self.base), **self.change)

    def changed(self) -> list[tuple[str, RuleValue, RuleValue]]:
        """Return each rule that changes, with its value in the kernel and in the patch."""
        before = rules_for(self.base)
        return [
            (name, written(getattr(before, name)), written(value))
            for name, value in self.change.items()
        ]


def written(value: bool | int | IntEnum) -> RuleValue:
    """Return the value of a rule as a file has it."""
    return value.name if isinstance(value, IntEnum) else value


def read_patch(path: StrPath) -> Patch:
    """Return the patch in a file of rules; raises PatchError."""
    try:
        data = read_toml(path, _REMEDY)
    except UnboundedError as error:
        raise PatchError(str(error), _REMEDY) from error
    except OSError as error:
        raise PatchError(f"{path}: {error.strerror}", "give the path of a file of rules") from error
    try:
        return decode_patch(data, str(path))
    except PatchError as error:
        raise PatchError(f"{path}: {error}", error.remedy) from error


def decode_patch(data: bytes, path: str = "FILE") -> Patch:
    """Return the patch in a TOML text, whose file is ``path``; raises PatchError."""
    try:
        file = decode_toml(data, PatchFile)
    except DocumentError as error:
        raise PatchError(str(error), _REMEDY) from error
    try:
        base = _base(file.base)
    except PatchError as error:
        raise PatchError(f"base: {error}", error.remedy) from error
    change = dict(_values(file.change, base))
    if not change:
        raise PatchError(
            f"[change] has no rule that differs from {series_text(base)}", _print_rules(base)
        )
    return Patch(base, change, file.source, path)


def template(base: str) -> str:
    """Return a file with all rules of a kernel (linux-X.Y), to be edited; raises PatchError."""
    version = _base(base)
    rules = rules_for(version)
    lines = [f'base = "{version_text(version)}"', 'source = ""', "", "[change]"]
    for topic in TOPICS:
        lines.append(f"# {topic.what}")
        for name in topic.fields:
            value = _toml(written(getattr(rules, name)))
            choice = ", ".join(_toml(written(each)) for each in values_of(name))
            lines.append(f"{name} = {value}  # {choice}{_since(name, version)}")
    return "\n".join(lines)


def _base(text: str) -> Version:
    """Return the version that a text names: 6.12 or linux-6.12."""
    try:
        version = version_of(text.removeprefix("linux-"))
        rules_for(version)
    except KernelError as error:
        raise PatchError(str(error), f"name a kernel: {_KNOWN}") from error
    if is_unread(version):
        raise PatchError(
            f"the rules of {series_text(version)} are unknown", f"name a kernel: {_KNOWN}"
        )
    return version


def _values(change: Mapping[str, Any], base: Version) -> Iterator[tuple[str, Any]]:
    """Yield the rules that a file changes; raises PatchError for a name or value of no rule."""
    before = rules_for(base)
    names = [rule.name for rule in fields(Rules)]
    for name, value in change.items():
        if name not in names:
            near = get_close_matches(name, names, 1)
            meant = f"; is it {near[0]}?" if near else ""
            raise PatchError(f"{name[:_SHOWN]!r} is not a rule{meant}", _print_rules(base))
        choice = {written(each): each for each in values_of(name)}
        if type(value) is not type(next(iter(choice))) or value not in choice:
            raise PatchError(
                f"{name}: {_shown(value)} is not a value of this rule",
                f"write one of {', '.join(map(_toml, choice))}",
            )
        if choice[value] != getattr(before, name):
            yield name, choice[value]


def _shown(value: object) -> str:
    """Return a value of a file, whatever it is, in a few characters."""
    if not isinstance(value, RuleValue):
        return f"a {type(value).__name__}"
    return _toml(value)[:_SHOWN]


def _print_rules(base: Version) -> str:
    command = shlex.join(["foreread", "forecast", PRINT, f"linux-{version_text(base)}"])
    return f"print the rules of the kernel: {command}"


def _toml(value: RuleValue) -> str:
    if isinstance(value, str):
        return msgspec.json.encode(value).decode()
    return str(value).lower()


def _since(name: str, version: Version) -> str:
    """Return the kernel that brought the present value of a rule, and where it was read."""
    rows = [row for row in CHANGES if name in row.rules and row.since <= version]
    return f"; {version_text(rows[-1].since)}: {rows[-1].source}" if rows else ""
