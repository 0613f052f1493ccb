#!/usr/bin/env python3
"""Report what breaks the rules of CONTRIBUTING.md on files and imports.

usage: house.py [ROOT]

The README of a room names no file that is absent: what a file is for, its own first line says. C
files of a core have their own headers, and include each other in no circle. A command of the
command line uses no other command, and nothing below the command line parses arguments. Exits 1
after a finding, 2 if it found no file to check.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOMS = ("analyzer", "boards", "emulator", "foreread", "studies", "tracer")
SOURCES = {".py", ".c", ".h", ".sh", ".toml", ".j2"}
COMMANDS = "foreread.cli.commands."


def absent(root: Path, sources: list[Path]) -> Iterator[str]:
    """Report source files that a room's README names and that are nowhere in the rooms."""
    present = {path.name for path in sources}
    rooms = [path for room in ROOMS for path in sorted((root / room).rglob("README.md"))]
    for readme in rooms:
        for name in re.findall(r"`([\w./-]+\.(?:py|c|h|sh|toml|j2))`", readme.read_text()):
            if Path(name).name not in present and not (root / name).exists():
                yield f"{readme.relative_to(root)}: names {name}, which is absent"


def tangled(root: Path, sources: list[Path]) -> Iterator[str]:
    """Report C files of a core without their own header, and circles of includes."""
    cores = {path.parent for path in sources if path.suffix == ".c" and "core" in path.parts}
    for core in sorted(cores):
        includes = defaultdict(set)
        for file in (root / core).glob("*.[ch]"):
            if not file.with_suffix(".h").exists():
                yield f"{core / file.name}: has no header of its own"
            named = re.findall(r'^#include "([\w/]+)\.h"', file.read_text(), re.MULTILINE)
            includes[file.stem] |= {*named} - {file.stem}
        try:
            TopologicalSorter(includes).prepare()
        except CycleError as error:
            yield f"{core}: includes form a circle: {' -> '.join(error.args[1])}"


def misplaced(root: Path, sources: list[Path]) -> Iterator[str]:
    """Report commands that use other commands, and argument parsers below the command line."""
    for path in sources:
        if path.suffix != ".py" or path.parts[0] == "studies":
            continue
        text = (root / path).read_text()
        names = list(_imported(ast.parse(text)))
        if path.parent.name == "commands":
            others = [name.split(".")[3] for name in names if name.startswith(COMMANDS)]
            if any(not other.startswith(f"{path.stem}_") for other in others):
                yield f"{path}: imports another command"
            if "LocalTarget" in text:
                yield f"{path}: asks which machine it has"
        elif "cli" not in path.parts and "argparse" in names and '"__main__"' not in text:
            yield f"{path}: argparse below the command line"


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def main(root: str = ".") -> int:
    """Print the findings; return 1 if there are any, 2 without files."""
    top = Path(root)
    paths = (path for room in ROOMS for path in sorted((top / room).rglob("*")))
    sources = [path.relative_to(top) for path in paths if path.suffix in SOURCES]
    if not sources:
        print(f"house: no file to check in {root}", file=sys.stderr)
        return 2
    findings = [line for rule in (absent, tangled, misplaced) for line in rule(top, sources)]
    print("\n".join(findings), end="\n" if findings else "")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
