"""Numbers of things in messages."""

import re
from pathlib import Path

import pytest

from foreread.boards.base.counted import plural

ROOT = Path(__file__).parents[3]
PACKAGES = ("analyzer", "boards", "foreread", "tracer")
# A number that may be 1, before a noun that stays plural whatever it is.
COUNTED = re.compile(r"\{[^{}]*\} (pages|CPUs|events|reads|requests|pairs|runs|files)\b")
# Constants, lists with numbers of their own, and "NAME runs", where it is a verb.
LEFT_OUT = re.compile(
    r"\{_?[A-Z_]+(:,)?\} |snapshot\.reads:g|\{others\} pages|\.name\} runs|\{name!r\} runs"
    r"|\{reader\} reads|\{mount.mountpoint\} reads"  # verbs, too
)


@pytest.mark.parametrize(
    ("number", "words", "said"),
    [
        (0, ("page",), "0 pages"),
        (1, ("page",), "1 page"),
        (2, ("CPU",), "2 CPUs"),
        (1, ("event", "was"), "1 event was"),
        (12345, ("event", "was"), "12,345 events were"),
        (3, ("read", "has"), "3 reads have"),
    ],
)
def test_the_noun_and_its_verb_follow_the_number(number, words, said):
    assert plural(number, *words) == said


def test_messages_without_the_mark_are_ignored():
    found = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for package in PACKAGES
        for file in sorted((ROOT / package).rglob("*.py"))
        for line in file.read_text().splitlines()
        if COUNTED.search(line) and not LEFT_OUT.search(line)
    ]
    assert not found
