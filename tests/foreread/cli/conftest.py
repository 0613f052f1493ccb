"""What tests of commands share."""

import pytest
from special_files import calls_of_foreread

import analyzer.report.write


@pytest.fixture(scope="session")
def outcomes():
    """What foreread does with words that it gets in a process of its own."""
    with calls_of_foreread() as calls:
        yield calls


@pytest.fixture
def page_only(monkeypatch):
    """Reports without PDF and pictures, for tests that read the page's text.

    The PDF and the pictures of such reports are drawn in test_example.py and test_tune.py.
    """
    monkeypatch.setattr(analyzer.report.write, "write_pdf", lambda *_: None)
    monkeypatch.setattr(analyzer.report.write, "_write_figures", lambda *_: ())
