"""The check of links finds links that lead nowhere."""

import runpy
from pathlib import Path

import pytest

LINKS = runpy.run_path(str(Path(__file__).parents[1] / ".ci/links.py"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[a](design.md)", []),
        ("[a](design.md#terms)", []),
        ("[a](gone.md)", ["docs/a.md: no such file: gone.md"]),
        ("[a](design.md#gone)", ["docs/a.md: no such heading: design.md#gone"]),
        ("# Here\n[a](#gone)", ["docs/a.md: no such heading: #gone"]),
        ("`[a](gone.md)`\n\n```\n[a](gone.md)\n```\n", []),
        ("[a](https://example.org/gone)", []),
    ],
)
def test_broken_links(text, found, tmp_path, monkeypatch):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "design.md").write_text("# Design\n\n## Terms\n")
    (docs / "a.md").write_text(text)
    check = LINKS["broken_links"]
    monkeypatch.setitem(check.__globals__, "ROOT", tmp_path)
    assert check("docs/a.md", text) == found


def test_headings_get_the_anchors_of_github():
    text = "# The verdict\n## `--target`, or: not?\n## The verdict\n```\n# no heading\n```\n"
    assert LINKS["anchors"](text) == {"the-verdict", "the-verdict-1", "--target-or-not"}


def test_pages_that_code_names_must_exist():
    assert LINKS["missing_pages"]("a.py", "see docs/design.md") == []
    found = LINKS["missing_pages"]("a.py", "see docs/gone.md")
    assert found == ["a.py: no such page: docs/gone.md"]
