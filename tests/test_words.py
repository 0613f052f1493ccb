"""The check of words that make lint runs."""

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / ".ci/words.py"
spec = importlib.util.spec_from_file_location("words", SCRIPT)
assert spec is not None and spec.loader is not None
words = importlib.util.module_from_spec(spec)
spec.loader.exec_module(words)


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("tracer/a.py", "x = 1\nraise E('the user is told')\n", 2),
        ("tracer/a.py", "x = 1  # pages behind the end\n", 1),
        ("tracer/a.py", '"""Return pages.\n\nPages read in vain.\n"""\n', 3),
        ("tracer/a.py", "help='wait so long'\n", 1),
        ("tracer/a.py", "help='a list of what is read'\n", 1),
        ("emulator/a.c", "int a;\n/* a page\n * that is no page */\n", 3),
        ("docs/a.md", "Text.\n\n```\ntold\n```\n\nGenes foretell effects.\n", 7),
        ("boards/a.sh", "a=1\n# the reply is nonsense\n", 2),
        ("tests/a.py", "def test_an_error_is_told():\n    pass\n", 1),
    ],
)
def test_a_bad_word_is_found_with_its_line(path, text, line):
    assert [number for number, _, _ in words.findings(path, text)] == [line]


# One bad sample for each word: a pattern that finds nothing would be a check that cannot fail.
SAMPLES = (
    "the user is told",
    "it foretells 45 %",
    "pages read in vain",
    "the answer is nonsense",
    "wait so long",
    "how it came by that",
    "one page behind another",
    "a file that is no list",
    "a list of what is read",
    "the rule by which it ends",
    "answers that are none",
    "the name if it is none",
    "figures held against their targets",
    "see what came of it",
    "a value in force no more",
    "Who asks gets it",
)


def test_every_word_has_a_sample_that_it_finds():
    found = {word: [one for one in SAMPLES if re.search(word, one)] for word in words.WORDS}
    assert [word for word, samples in found.items() if not samples] == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docs/a.md", "{}\n"),
        ("analyzer/apply/templates/A.md.j2", "{}\n"),
        ("analyzer/a.py", "# {}\n"),
        ("studies/a.py", '"""{}."""\n'),
        ("boards/a.py", "raise E(f'{}')\n"),
        ("emulator/a.c", "/* {} */\n"),
        ("emulator/a.h", 'fail("{}");\n'),
        ("tracer/a.sh", "# {}\n"),
        ("tracer/a.sh", 'die "{}"\n'),
        ("analyzer/a.toml", "# {}\n"),
    ],
)
def test_a_bad_sample_is_found_in_every_kind_of_text(path, text):
    for sample in SAMPLES:
        found = list(words.findings(path, text.format(sample)))
        assert [line for line, _, _ in found] == [1], sample


def test_a_check_without_files_fails(tmp_path, capsys):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert words.main(str(tmp_path)) == 2
    assert "no file to check" in capsys.readouterr().err


def test_an_exception_that_no_longer_applies_is_reported(tmp_path, capsys):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    file = tmp_path / words.ALLOWED[0][0]
    file.parent.mkdir(parents=True)
    file.write_text("# nothing to allow\n")
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
    assert words.main(str(tmp_path)) == 1
    assert "remove it from ALLOWED" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tracer/a.py", "behind = told = 1  # a variable\n"),
        ("tracer/a.py", "# nothing is left behind; there is no disk; a host behind raw TCP\n"),
        ("docs/a.md", "```\nin vain\n```\n\nThis is no longer true, as long as it lasts.\n"),
        ("emulator/a.c", "int behind; /* pages [first, behind) */\n"),
    ],
)
def test_literal_uses_and_names_in_code_are_allowed(path, text):
    assert list(words.findings(path, text)) == []


def test_tracked_files_are_checked(tmp_path, capsys):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "README.md").write_text("We foretell seconds.\n")
    (tmp_path / "fine.md").write_text("We predict seconds.\n")
    subprocess.run(["git", "-C", tmp_path, "add", "fine.md"], check=True)
    assert words.main(str(tmp_path)) == 0  # README.md is not tracked yet
    subprocess.run(["git", "-C", tmp_path, "add", "README.md"], check=True)
    assert words.main(str(tmp_path)) == 1
    assert "README.md:1: 'foretell' -> predict" in capsys.readouterr().out
