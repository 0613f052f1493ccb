"""What every test of the library and of the command line has."""

from collections import defaultdict

import pytest
from computed_once import computed_once  # noqa: F401  (an autouse fixture)
from json_outputs import checked_documents  # noqa: F401  (an autouse fixture)
from made_once import CAPTURE

import foreread
import foreread.analyzer.report.make
import foreread.analyzer.report.page
import foreread.analyzer.report.write


@pytest.fixture(scope="session")
def example_prediction():
    """The prediction for the shipped example, as ``foreread.predict`` returns it."""
    return foreread.predict(foreread.load(CAPTURE))


@pytest.fixture
def text_only(monkeypatch, example_advice):
    """Reports without figures, for tests that read the page's text.

    A report of the shipped example has the advice that all tests share. Its figures, pictures and
    PDF are drawn in test_example.py, those of a tuning in test_tune.py.
    """
    monkeypatch.setattr(foreread.analyzer.report.make, "advise", lambda *_, **__: example_advice)
    monkeypatch.setattr(foreread.analyzer.report.page, "_drawings", lambda _: defaultdict(str))
    monkeypatch.setattr(foreread.analyzer.report.write, "write_pdf", lambda *_: None)
    monkeypatch.setattr(foreread.analyzer.report.write, "_picture", lambda _: b"")
