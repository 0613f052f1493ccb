"""The options of every command that take text, and those that are declared as outputs."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from foreread.cli.main import build_parser


def text_options() -> dict[str, argparse.Action]:
    """Return each option and argument that takes text, by its command and its name."""
    return {
        f"{words}{(action.option_strings or [action.dest])[-1]}": action
        for words, parser in parsers(build_parser())
        for action in parser._actions
        if action.nargs != 0 and not action.choices and action.type in (None, Path)
    }


def declared_outputs() -> dict[str, argparse.Action]:
    """Return those of them whose paths are checked before the command."""
    declared = {
        f"{words}{dest}"
        for words, parser in parsers(build_parser())
        for dest in parser.get_default("outputs") or ()
    }
    options = text_options()
    found = {
        key: action
        for key, action in options.items()
        if f"{key.rpartition(' ')[0]} {action.dest}" in declared
    }
    assert len(found) == len(declared)
    return found


def parsers(
    parser: argparse.ArgumentParser, words: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield each parser below this one, after its words, and this one."""
    yield words, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                yield from parsers(sub, f"{words}{name} ")
