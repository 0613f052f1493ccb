"""The journal's tables are those of the figures."""

from __future__ import annotations

import json
import shutil

import pytest

from studies.tuning import tables


def test_the_journal_has_the_tables_of_the_figures(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["tables.py", "--check"])
    assert tables.main() == 0, capsys.readouterr().err


def test_a_changed_figure_is_a_table_out_of_date(tmp_path):
    figures = tmp_path / "figures"
    shutil.copytree(tables.FIGURES, figures)
    page = tables.PAGE.read_text()
    assert tables.refreshed(page, figures) == page
    path = figures / "start-up.json"
    document = json.loads(path.read_text())
    document["competitions"][0]["samplers"][0]["median_regret"]["0.05"] = 0.777
    path.write_text(json.dumps(document))
    assert "77.7 %" in tables.refreshed(page, figures)


@pytest.mark.parametrize("name", ["regrets:start-up", "regrets:start-up-php"])
def test_every_sampler_has_a_row_with_each_rule_in_every_scenario(name):
    lines = tables.TABLES[name](tables.FIGURES).splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:] if "|" in line]
    assert all(cell for row in rows for cell in row)
    samplers = [(row[0].rstrip(" *"), row[1]) for row in rows]
    assert len(samplers) == len(set(samplers))
    slow = ["gaussian-process"] if name.endswith("php") else []
    for sampler in ("one-gene", "tpe", "multivariate-tpe", "exhaustive", *slow):
        assert {rule for one, rule in samplers if one == sampler} == {"model", "race"}
    library = [one for one, _ in samplers if one.startswith("genetic-library")]
    assert library == ["genetic-library, without its counters"] * 2
    assert "Made on 2" in lines[-1]


def test_an_unknown_table_is_an_error():
    with pytest.raises(KeyError):
        tables.refreshed("<!-- table nothing -->\n<!-- end -->")
