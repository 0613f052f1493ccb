"""A unified patch that adds advice to the source of a program: C, C++ or Python.

The advice is added after the one call that opens a file, or maps it. Where there are several, or
where the result is not simply assigned, only a reader can decide: there is no patch, and the error
names the lines.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from itertools import accumulate
from pathlib import Path

from foreread.analyzer.advise.access import Call, Pattern
from foreread.analyzer.advise.access_lines import constant_of
from foreread.analyzer.error import AnalyzerError
from foreread.boards.base.bounded import UnboundedError, read_bounded

LARGEST_SOURCE = 4 << 20  # bytes
_IN_C = {"fadvise": "open|open64|openat|openat64", "madvise": "mmap|mmap64"}
_IN_PYTHON = {"fadvise": ("open", "os.open", "io.open"), "madvise": ("mmap.mmap",)}
_C_SUFFIXES = (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp")
_COMMENT_OR_TEXT = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)
_TARGET = r"(?P<indent>[ \t]*)(?:[A-Za-z_][\w:]*[ \t*&]+)*(?P<name>[A-Za-z_]\w*(?:(?:->|\.)\w+)*)"
_CAST = r"(?:\([\w \t*:]+\)[ \t]*)?(?:::)?"
_BEFORE = ("", ";", "{", "}", ":")  # a statement of its own follows one of these
_PYTHON = ".py"
_NO_NEWLINE = "\\ No newline at end of file"
_MOST_LINES = 10  # named in an error


class PatchError(AnalyzerError, ValueError):
    """A source that cannot be patched; ``remedy`` says what to do."""


@dataclass(frozen=True)
class _Addition:
    """A line to add after another one (numbered from 1)."""

    after: int
    text: str


def text_of(source: Path) -> str:
    """Return the text of a source file; raises PatchError for one that cannot be patched."""
    try:
        text = read_bounded(source, LARGEST_SOURCE, "give one source file").decode(
            errors="surrogateescape"
        )
    except (OSError, UnboundedError) as error:
        raise PatchError(f"{source}: {error}", "give a source file of C, C++ or Python") from error
    if "\r" in text.replace("\r\n", "\n"):
        raise PatchError(f"{source.name} has lines that end with CR alone", "convert it first")
    if source.suffix not in (*_C_SUFFIXES, _PYTHON):
        raise PatchError(
            f"{source.name} is not C, C++ or Python by its name",
            "add the lines for its language by hand",
        )
    return text


def patch_of(source: Path, call: Call, pattern: Pattern) -> bytes:
    """Return a patch of a source file, for ``patch -p1`` in the folder of the file.

    Raises PatchError.
    """
    text = text_of(source)
    if source.suffix == _PYTHON:
        additions = _in_python(source, text, call, pattern)
    else:
        additions = [_in_c(source, text, call, pattern)]
    lines = _lines(text)
    changed = [*lines]
    for addition in sorted(additions, key=lambda each: -each.after):
        changed.insert(addition.after, addition.text)
    name = re.sub(r"[^A-Za-z0-9._+-]", "_", source.name)
    diff = unified_diff(lines, changed, f"a/{name}", f"b/{name}")
    ended = (line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}\n" for line in diff)
    return "".join(ended).encode(errors="surrogateescape")


def _lines(text: str) -> list[str]:
    """Return the lines as compilers count them, with their ends."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _in_c(source: Path, text: str, call: Call, pattern: Pattern) -> _Addition:
    code = _COMMENT_OR_TEXT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    calls = [*re.finditer(rf"(?<![\w.>])(?:{_IN_C[call]})\s*\(", code)]
    begins = [0, *accumulate(len(line) for line in _lines(code))]
    numbers = [code.count("\n", 0, match.start()) + 1 for match in calls]
    if len(calls) != 1:
        raise _undecided(source, call, numbers)
    (match,), (number,) = calls, numbers
    line = begins[number - 1]
    assigned = re.fullmatch(rf"{_TARGET}[ \t]*=[ \t]*{_CAST}", code[line : match.start()])
    end = _closing(code, match.end())
    before = code[:line].rstrip()[-1:]
    if assigned is None or end is None or code[end + 1 :].lstrip()[:1] != ";":
        raise _undecided(source, call, numbers)
    if before not in _BEFORE:
        raise _undecided(source, call, numbers)
    name, indent = assigned["name"], assigned["indent"]
    semicolon = code.index(";", end)
    after = code.count("\n", 0, semicolon) + 1
    constant = constant_of(call, pattern)
    if call == "fadvise":
        added = f"(void)posix_fadvise({name}, 0, 0, {constant});"
    else:
        length = " ".join(_arguments(text[match.end() : end], code[match.end() : end])[1].split())
        added = f"(void)madvise({name}, {length}, {constant});"
    return _Addition(after, f"{indent}{added}\n")


def _closing(code: str, at: int) -> int | None:
    """Return where the bracket that is open at a place is closed."""
    depth = 1
    for place in range(at, len(code)):
        depth += {"(": 1, ")": -1}.get(code[place], 0)
        if depth == 0:
            return place
    return None


def _arguments(text: str, code: str) -> list[str]:
    """Return the arguments of a call; ``code`` is its text without comments and strings."""
    depth, begin, parts = 0, 0, []
    for place, character in enumerate(f"{code},"):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(text[begin:place].strip())
            begin = place + 1
    return [*parts, "", ""]


def _in_python(source: Path, text: str, call: Call, pattern: Pattern) -> list[_Addition]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise PatchError(f"{source.name} is not Python: {error}", "correct it first") from error
    names = _IN_PYTHON[call]
    calls = [node for node in ast.walk(tree) if _named(node, names)]
    places = [*_assigned(tree, names, _lines(text))]
    if len(calls) != 1 or len(places) != 1:
        raise _undecided(source, call, [getattr(node, "lineno", 0) for node in calls])
    (name, after, indent, function) = places[0]
    constant = constant_of(call, pattern)
    if call == "madvise":
        return [_Addition(after, f"{indent}{name}.madvise(mmap.{constant})\n")]
    descriptor = name if function == "os.open" else f"{name}.fileno()"
    added = f"{indent}os.posix_fadvise({descriptor}, 0, 0, os.{constant})\n"
    return [*_import_of_os(source, tree), _Addition(after, added)]


def _named(node: ast.AST, names: Sequence[str]) -> str:
    """Return which of the functions a call is of, "" if none."""
    called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    return called if called in names else ""


def _assigned(
    tree: ast.Module, names: Sequence[str], lines: Sequence[str]
) -> Iterator[tuple[str, int, str, str]]:
    """Yield variable, line, indentation of the next line, and function of plain assignments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            (target,) = node.targets
            indent = lines[node.lineno - 1][: node.col_offset]
            function = _named(node.value, names)
            if function and isinstance(target, ast.Name) and not indent.strip():
                yield target.id, node.end_lineno or 0, indent, function
        if isinstance(node, ast.With) and len(node.items) == 1:
            item, first = node.items[0], node.body[0]
            variable = item.optional_vars
            is_apart = first.lineno > (item.context_expr.end_lineno or 0)
            function = _named(item.context_expr, names)
            if function and isinstance(variable, ast.Name) and is_apart:
                indent = lines[first.lineno - 1][: first.col_offset]
                yield variable.id, first.lineno - 1, indent, function


def _import_of_os(source: Path, tree: ast.Module) -> list[_Addition]:
    """Return the line that imports os, unless the module has it."""
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = [alias for node in imports if isinstance(node, ast.Import) for alias in node.names]
    if any(alias.name == "os" and alias.asname is None for alias in modules):
        return []
    if not imports:
        raise PatchError(f"{source.name} imports nothing, so not os", "add: import os")
    return [_Addition(imports[-1].end_lineno or 0, "import os\n")]


def _undecided(source: Path, call: Call, numbers: Sequence[int]) -> PatchError:
    opens = "opens a file" if call == "fadvise" else "maps a file"
    if not numbers:
        return PatchError(f"no call in {source.name} {opens}", "give the source that does")
    shown = ", ".join(map(str, numbers[:_MOST_LINES]))
    more = f" and {len(numbers) - _MOST_LINES} more" if len(numbers) > _MOST_LINES else ""
    return PatchError(
        f"which call in {source.name} {opens} is not decided: see line {shown}{more}",
        "add the line for its language there by hand",
    )
