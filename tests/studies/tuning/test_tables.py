"""The tables of the tuning pages are those of the raw data and the figures."""

import json
import re
import shutil

import pytest

from studies.tuning import tables


def test_the_pages_have_the_tables_of_the_figures(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["tables.py", "--check"])
    assert tables.main() == 0, capsys.readouterr().err
    text = "".join(page.read_text() for page in tables.PAGES)
    assert sorted(re.findall("<!-- table (.*) -->", text)) == sorted(tables.TABLES)


def test_a_changed_figure_is_a_table_out_of_date(tmp_path):
    figures = tmp_path / "figures"
    shutil.copytree(tables.FIGURES, figures)
    page = tables.PAGES[0].read_text()
    assert tables.refreshed(page, figures) == page
    path = figures / "from-earlier.json"
    document = json.loads(path.read_text())
    document["pairs"][0]["after"][0]["from"]["median"] = 0.777
    path.write_text(json.dumps(document))
    assert "77.7 (4.7)" in tables.refreshed(page, figures)


def test_the_gains_are_those_of_the_best_settings():
    rows = tables.landscapes(tables.FIGURES).splitlines()
    assert "| madplay: writer | 0.612 | 0.562 (256) | 0.465 | bfq/64/512/60 | 24.1 | 17.3 |" in rows
    assert "| php: writer | 1.077 | 0.993 (64) | 0.705 | bfq/2/64/60 | 34.6 | 29.0 |" in rows


def test_an_unknown_table_is_an_error():
    with pytest.raises(KeyError):
        tables.refreshed("<!-- table nothing -->\n<!-- end -->")
