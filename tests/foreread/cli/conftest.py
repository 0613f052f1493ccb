"""What tests of commands share."""

import json

import pytest
from special_files import calls_of_foreread

import foreread.analyzer.report.write
from foreread.cli.main import main


@pytest.fixture
def run(capsys):
    """Run a command line in this process: check its exit code, and return what it printed."""

    def run(*words, code=0):
        capsys.readouterr()
        try:
            received = main([str(word) for word in words])
        except SystemExit as stop:
            received = stop.code
        said = capsys.readouterr()
        assert received == code, said.err
        return said

    return run


@pytest.fixture
def run_json(run):
    """Run a command line with --json, and return its document."""
    return lambda *words, **code: json.loads(run(*words, "--json", **code).out)


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
    monkeypatch.setattr(foreread.analyzer.report.write, "write_pdf", lambda *_: None)
    monkeypatch.setattr(foreread.analyzer.report.write, "_picture", lambda _: b"")
