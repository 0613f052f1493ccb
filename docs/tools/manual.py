"""What the parsers of the command line declare, as plain data: for man pages and for the site.

The text of ``argparse`` differs between versions of Python, so nothing here reads its help output.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from foreread.cli.main import COMMANDS, build_parser


@dataclass(frozen=True)
class Argument:
    """An option or a positional argument: how it is written, and what it does."""

    words: tuple[str, ...]  # "-o CAPTURE", "--output CAPTURE", or "CAPTURE"
    help: str


@dataclass(frozen=True)
class Group:
    """Arguments under one heading."""

    title: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class Manual:
    """One command, or one action of a command."""

    name: str  # "foreread record"
    summary: str  # one line, without a full stop
    synopsis: str
    groups: tuple[Group, ...]
    commands: tuple[str, ...]  # names of the manuals one level down

    @property
    def page(self) -> str:
        """Return the name of the man page: ``foreread-record``."""
        return self.name.replace(" ", "-")


@cache
def manuals() -> dict[str, Manual]:
    """Return the manual of foreread and of each command and action, by name."""
    parser = build_parser(tuple(COMMANDS))
    first = str(parser.description).rstrip(".")
    return {m.name: m for m in _walk(parser, f"{first[:1].lower()}{first[1:]}")}


def _walk(parser: argparse.ArgumentParser, summary: str) -> Iterator[Manual]:
    below = dict(_subparsers(parser))
    summaries = dict(_summaries(parser))
    names = tuple(sub.prog for sub in below.values())
    yield Manual(parser.prog, summary, _synopsis(parser), tuple(_groups(parser)), names)
    for name, sub in below.items():
        yield from _walk(sub, summaries[name])


def _subparsers(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _summaries(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from ((choice.dest, str(choice.help)) for choice in action._choices_actions)


def _groups(parser: argparse.ArgumentParser) -> Iterator[Group]:
    for group in parser._action_groups:
        title = {"positional arguments": "Arguments", "optional arguments": "Options"}.get(
            str(group.title), str(group.title)
        )
        shown = [action for action in group._group_actions if _is_shown(action)]
        if shown:
            arguments = tuple(_argument(action) for action in shown)
            yield Group(f"{title[:1].upper()}{title[1:]}", arguments)


def _is_shown(action: argparse.Action) -> bool:
    hidden = (argparse._HelpAction, argparse._SubParsersAction)
    return not isinstance(action, hidden) and action.help is not argparse.SUPPRESS


def _argument(action: argparse.Action) -> Argument:
    value = _value(action)
    words = tuple(f"{flag} {value}".rstrip() for flag in action.option_strings)
    text = argparse.HelpFormatter("")._expand_help(action) if action.help else ""
    return Argument(words or (value,), " ".join(text.split()))


def _value(action: argparse.Action) -> str:
    """Return the placeholder of the value that an argument takes, or an empty string."""
    if action.option_strings and action.nargs == 0:
        return ""
    if isinstance(action.metavar, tuple):  # of an option with several values
        return " ".join(action.metavar)
    if action.metavar is not None:
        return action.metavar
    if action.choices is not None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest.upper()


def _synopsis(parser: argparse.ArgumentParser) -> str:
    if parser.usage:
        return parser.usage.replace("%(prog)s", parser.prog)
    words = [parser.prog, "[options]"]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            words.append(f"{action.metavar} ...")
        elif action.option_strings:
            words += [f"{action.option_strings[0]} {_value(action)}"] if action.required else []
        else:
            words.append(_positional(action))
    return " ".join(words)


def _positional(action: argparse.Action) -> str:
    value = _value(action)
    return {"?": f"[{value}]", "*": f"[{value} ...]", "+": f"{value} ..."}.get(
        str(action.nargs), value
    )
