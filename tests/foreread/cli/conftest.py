"""What tests of commands share."""

import pytest

import analyzer.report.write


@pytest.fixture
def page_only(monkeypatch):
    """Reports without PDF and pictures, for tests that read the page's text.

    The PDF and the pictures of such reports are drawn in test_example.py and test_tune.py.
    """
    monkeypatch.setattr(analyzer.report.write, "write_pdf", lambda *_: None)
    monkeypatch.setattr(analyzer.report.write, "_write_figures", lambda *_: ())
