"""The command line parses and prints: no command uses another one, and the rest has no argparse."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PREFIX = "foreread.cli.commands."
COMMANDS = ROOT / "foreread/cli/commands"
BELOW = [
    path
    for room in ("analyzer", "boards", "emulator", "foreread", "tracer")
    for path in (ROOT / room).rglob("*.py")
    if "cli" not in path.relative_to(ROOT).parts
]


def imported(path):
    """The modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", sorted(COMMANDS.glob("*.py")), ids=lambda path: path.stem)
def test_a_command_imports_only_its_own_actions(path):
    others = [name.split(".")[3] for name in imported(path) if name.startswith(PREFIX)]
    assert [name for name in others if not name.startswith(f"{path.stem}_")] == []


def test_nothing_below_the_command_line_uses_argparse():
    assert len(BELOW) > 200
    users = {path for path in BELOW if "argparse" in set(imported(path))}
    scripts = {path for path in BELOW if '__name__ == "__main__"' in path.read_text()}
    assert users - scripts == set()


def test_commands_do_not_ask_which_machine_they_have():
    asking = [path.name for path in COMMANDS.glob("*.py") if "LocalTarget" in path.read_text()]
    assert asking == []
