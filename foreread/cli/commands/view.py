"""``foreread view``: the report of a capture in the browser of this desktop."""

from __future__ import annotations

import argparse

from foreread.browsing import ViewDocument, folder_of, view
from foreread.cli.main import printable
from foreread.cli.reports import add_content, written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_content(parser)


def run(args: argparse.Namespace) -> int:
    """Write the report to the user's cache, and open it."""
    files = written(args, folder_of([args.capture, *args.measured]))
    found = view(files.html)
    print(found.to_json() if args.json else _text(found))
    return 0


def _text(found: ViewDocument) -> str:
    lines = [f"report: {printable(found.html)}"]
    if found.commands:
        where = "on your computer, one of" if len(found.commands) > 1 else "where a desktop is"
        lines.append(f"no browser can be opened here; type {where}:")
        lines += [f"  {printable(command)}" for command in found.commands]
    return "\n".join(lines)
