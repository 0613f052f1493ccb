"""The check of words that make lint runs."""

import importlib.util
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
    assert words.main(str(tmp_path)) == 0  # not tracked yet
    subprocess.run(["git", "-C", tmp_path, "add", "README.md"], check=True)
    assert words.main(str(tmp_path)) == 1
    assert "README.md:1: 'foretell' -> predict" in capsys.readouterr().out
