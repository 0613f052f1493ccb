"""Each test can fail: it asserts something, and it waits for no condition without an end."""

import ast
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
PATHS = sorted(TESTS.rglob("*.py"))
SUPPORT = {path.stem: path for path in PATHS if path.parent.name == "support"}
CHECKS = ("raises", "warns", "fail", "validate")  # the last: of jsonschema


@cache
def tree(path):
    return ast.parse(path.read_text())


@cache
def definitions(path):
    """Functions and classes of a file by name."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name: node for node in ast.walk(tree(path)) if isinstance(node, kinds)}


@cache
def imported(path):
    """What a file takes from tests/support: where each name is defined."""
    found = {}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.module in SUPPORT:
            for name in node.names:
                found[name.asname or name.name] = (SUPPORT[node.module], name.name)
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name in SUPPORT:
                    there = SUPPORT[name.name]
                    found |= {defined: (there, defined) for defined in definitions(there)}
    return found


def names_in(node):
    """All names and attributes that are used in a piece of code."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr


def asserts(node):
    """Whether a piece of code asserts something itself."""
    return any(
        isinstance(inner, (ast.Assert, ast.Raise))
        or (isinstance(inner, ast.Call) and {*names_in(inner.func)} & {*CHECKS})
        for inner in ast.walk(node)
    )


def can_fail(path, node, seen=()):
    """Whether a test asserts something, itself or in a helper of its file or tests/support."""
    if asserts(node):
        return True
    here, elsewhere = definitions(path), imported(path)
    for name in names_in(node):
        place, known = (path, name) if name in here else elsewhere.get(name, (path, ""))
        helper = definitions(place).get(known)
        if helper in (None, node) or helper in seen:
            continue
        if can_fail(place, helper, (*seen, node)):
            return True
    return False


def every_test():
    for path in PATHS:
        for name, node in definitions(path).items():
            if name.startswith("test_") and isinstance(node, ast.FunctionDef):
                yield path, node


def polls(node):
    """Whether a loop sleeps without a look at the clock or at a count: it has no end."""
    names = [*names_in(node)]
    return "sleep" in names and not {"monotonic", "_stopped"} & {*names}


def test_each_test_asserts_something():
    found = list(every_test())
    assert len(found) > 1500
    silent = [f"{path.name}: {node.name}" for path, node in found if not can_fail(path, node)]
    assert silent == []


def test_no_test_waits_without_an_end():
    loops = [
        f"{path.name}:{node.lineno}"
        for path in PATHS
        for node in ast.walk(tree(path))
        if isinstance(node, ast.While) and polls(node)
    ]
    assert loops == []
