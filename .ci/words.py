#!/usr/bin/env python3
"""Report words that make the project's English hard to read, and what to write instead.

usage: words.py [ROOT]

Checks comments, docstrings and Markdown everywhere, messages of the product packages and of all
shell and C files, and test names. Prints FILE:LINE: WORD -> REMEDY for each finding, and exceptions
that no longer apply. Exits 1 after a finding, 2 if it found no file to check.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

Piece = tuple[int, str]  # offset in the file, text

PRODUCT = ("analyzer/", "boards/", "emulator/", "foreread/", "tracer/")
WORDS = {
    r"\b(?:un)?told\b": "reported, known, determined, distinguished",
    r"\bfore(?:tell|tells|told)\b": "predict",
    r"\bin vain\b": "unused, wasted",
    r"\bnonsense\b": "invalid",
    r"\bso long\b(?! as\b)": "the duration, with its unit",
    r"\b(?:come|comes|came) by\b": "get",
    r"\bbehind\b": "after",
    r"(?<!here )\b(?:is|are) no "
    r"(?!longer\b|more\b|worse\b|better\b|larger\b|smaller\b|further\b|less\b"
    r"|slower\b|faster\b|way\b|need\b|room\b|space\b|point\b|new\b|harm\b|other\b|one\b|such\b"
    r"|\w+-)\w": "is not a …",
    r"\bof what\b": "name the subject",
    r"\bby which\b": "name the subject",
    r"\b(?:that|which) (?:is|are) none\b": "invalid",
    r"\b(?:if|where|unless) (?:it|they) (?:is|are) none\b": "if it is invalid",
    r"\bheld against\b": "compared with",
    r"\bwhat (?:came|comes|becomes) of\b": "the result of",
    r"\bin force no more\b": "no longer in force",
    r"\bWho (?=\w+s\b)": "name the thread, process or user",
}
IN_TEST_NAMES = {r"_told(?:_|$)": "_reported", r"_behind_": "_after_", r"_in_vain": "_unused"}
# All of WORDS begin where a word does: most places are passed with one look.
ANY_WORD = re.compile(rf"\b(?=\w)(?:{'|'.join(WORDS)})")
ANY_IN_NAME = re.compile("|".join(IN_TEST_NAMES))

# What stands literally behind something: a place in a network or a circuit, or a rank.
BEHIND = re.compile(
    r"behind (?:a limiter|a simple driver|raw TCP|TCP|the adb client|an ssh server|the same proxy"
    r"|the running kernel|a line with|TPE|both|10 MB/s|one small interface|the index)"
    r"|(?:disk|device|line|machine|what is) behind"
    r"|lea(?:ves|ve|ving)\b[\w ']* behind|left behind"
    r"|``behind|\(\*behind\*\)|\"behind|, behind\)"
)
# (file, words of its line) that are right as they are.
ALLOWED = (
    ("tests/kernel/test_backends.py", "left behind"),
    ("emulator/_linux.c", "waited, behind: ns"),  # names of fields
    ("fuzz/fuzz_linux.c", "waited and behind"),
    ("analyzer/tuner/findings/effects.py", '"cannot be told"'),  # a value of the TUNING document
    ("analyzer/tuner/store/schema.py", "what the engine was told"),  # SQL that old stores hold
    ("analyzer/report/tuning_genes.py", '"cannot be told"'),
)
UNCHECKED = ("studies/tuning/figures/", ".ci/words.py", "tests/test_lint.py")  # samples of words
KINDS = (".py", ".md", ".c", ".h", ".sh", ".j2", ".toml")


def prose(path: str, text: str) -> Iterator[Piece]:
    """Yield comments, docstrings and paragraphs of a file."""
    if path.endswith(".py"):
        yield from _python_prose(text)
    elif path.endswith((".md", ".md.j2")):
        for match in re.finditer(r"(?:^|(?<=\n))```.*?\n```|((?:(?!\n```).)+)", text, re.DOTALL):
            if match[1]:
                yield match.start(1), match[1]
    elif path.endswith((".c", ".h")):
        yield from _matches(r"/\*.*?\*/|//[^\n]*", text)
    else:
        yield from _matches(r"(?:^|(?<=\s))#[^\n]*", text)


def _matches(pattern: str, text: str) -> Iterator[Piece]:
    for match in re.finditer(pattern, text, re.DOTALL):
        yield match.start(), match[0]


def _starts(text: str) -> list[int]:
    """Return the offset of each line."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _python_prose(text: str) -> Iterator[Piece]:
    starts = _starts(text)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        docstring = token.type == tokenize.STRING and token.string.lstrip("r").startswith('"""')
        if token.type == tokenize.COMMENT or docstring:
            yield starts[token.start[0] - 1] + token.start[1], token.string


def messages(path: str, text: str) -> Iterator[Piece]:
    """Yield string literals with a space in them, without docstrings."""
    if not path.endswith(".py"):
        yield from _matches(r'"[^"\n]* [^"\n]*"', text)
        return
    starts = _starts(text)
    for node in ast.walk(ast.parse(text)):
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            continue
        start = starts[node.lineno - 1]
        if " " in node.value and not text.startswith('"""', start + node.col_offset):
            yield start, node.value


def test_names(text: str) -> Iterator[Piece]:
    """Yield the names of the tests of a file."""
    yield from _matches(r"\bdef test_\w+", text)


def findings(path: str, text: str) -> Iterator[tuple[int, str, str]]:
    """Yield (line, word, what to write instead) of a file."""
    checked = [(prose(path, text), WORDS, ANY_WORD)]
    if path.startswith(PRODUCT) if path.endswith(".py") else path.endswith((".sh", ".c", ".h")):
        checked.append((messages(path, text), WORDS, ANY_WORD))
    if path.endswith(".py") and path.startswith("tests/"):
        checked.append((test_names(text), IN_TEST_NAMES, ANY_IN_NAME))
    lines = text.split("\n")
    for pieces, words, any_word in checked:
        for start, piece in pieces if any_word.search(text) else ():  # parsing takes the time
            for word, instead in words.items() if any_word.search(piece) else ():
                for match in re.finditer(word, piece):
                    number = text.count("\n", 0, start + match.start()) + 1
                    number = min(number, len(lines))
                    if not _allowed(path, lines[number - 1], piece, match):
                        yield number, match[0], instead


def _allowed(path: str, line: str, piece: str, match: re.Match[str]) -> bool:
    if any(path == file and (words in line or words in piece) for file, words in ALLOWED):
        return True
    near = BEHIND.finditer(piece, max(0, match.start() - 40), match.end() + 30)
    return any(phrase.start() <= match.start() and match.end() <= phrase.end() for phrase in near)


def unused_exceptions(texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the exceptions whose file is there and no longer holds their words."""
    for file, words in ALLOWED:
        if file in texts and words not in texts[file]:
            yield file, words


def main(root: str = ".") -> int:
    """Print the findings of all tracked files; return 1 if there are any, 2 without files."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True
    )
    texts = {
        path: Path(root, path).read_text(encoding="utf-8")
        for path in listed.stdout.split("\0")
        if path.endswith(KINDS) and not path.startswith(UNCHECKED) and Path(root, path).is_file()
    }
    if not texts:
        print(f"words: no file to check: {root} has none in git", file=sys.stderr)
        return 2
    bad = 0
    for path, text in texts.items():
        for line, word, instead in findings(path, text):
            print(f"{path}:{line}: {word!r} -> {instead}")
            bad += 1
    for path, words in unused_exceptions(texts):
        print(f"{path}: no longer has {words!r}: remove it from ALLOWED in .ci/words.py")
        bad += 1
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
