"""The pages made from code are up to date."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_tables_page_is_that_of_the_schemas():
    page = runpy.run_path(str(ROOT / "docs/make_tables.py"))["text"]()
    assert (ROOT / "docs/reference/tables.md").read_text() == page
