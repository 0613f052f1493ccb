"""Commands on texts of other tools: the page size."""

import json
from pathlib import Path

import pytest

from foreread.cli.main import main

ROOT = Path(__file__).parents[3]
BROUGHT = ROOT / "tests/analyzer/ingest/data/brought"
PI = str(BROUGHT / "pages-of-16-kib.txt")


def test_predict_names_windows_of_pages_of_16_kib(capsys):
    assert main(["predict", PI, "--windows", "128k", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["page_size"] == 16384
    assert (document["total"]["read_ahead_kb"], document["total"]["F"]) == ([128], [5])


@pytest.mark.parametrize(("given", "size"), [("4096", 4096), ("8k", 8192), ("16384", 16384)])
def test_the_page_size_may_be_given(given, size, capsys):
    assert main(["show", PI, "--page-size", given, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["page_size"] == size
    assert document["accesses"] == 40
    assert not any("page size" in note for note in document["notes"])


def test_a_page_size_that_cannot_be_is_an_error_of_the_trace(capsys):
    assert main(["show", PI, "--page-size", "64k"]) == 1
    assert "--page-size 16384" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["5000", "2k", "128k", "-1", "x", ""])
def test_page_sizes_of_no_kernel_are_wrong_usage(wrong, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["show", PI, f"--page-size={wrong}"])
    assert stop.value.code == 2
    assert "16384" in capsys.readouterr().err
