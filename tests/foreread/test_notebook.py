"""The notebook in examples/: valid, without outputs, and its cells run in order.

The cells run here without a Jupyter kernel, which would bring some thirty packages: they use no
magic commands, and a cell's last expression is evaluated like any other.
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl
import pytest

FOLDER = Path(__file__).parents[2] / "examples/python-start"
NOTEBOOK = FOLDER / "python-start.ipynb"


@pytest.fixture
def cells():
    document = json.loads(NOTEBOOK.read_text())
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in document["cells"]}) == len(document["cells"])
    assert {cell["cell_type"] for cell in document["cells"]} == {"markdown", "code"}
    return [cell for cell in document["cells"] if cell["cell_type"] == "code"]


def test_no_outputs_are_stored(cells):
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


def test_its_cells_run_draw_and_record_nothing(cells, monkeypatch, capsys):
    before = {path: path.stat().st_mtime_ns for path in FOLDER.iterdir()}
    monkeypatch.chdir(FOLDER)
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    names = {}
    for number, cell in enumerate(cells):
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
    drawn = [plt.figure(number) for number in plt.get_fignums()]
    assert len(drawn) == 2
    for figure in drawn:
        figure.canvas.draw()
        assert all(axes.lines for axes in figure.axes)
    plt.close("all")
    said = capsys.readouterr().out
    assert said.startswith("set 32 KiB") and "median error of the seconds" in said
    assert said.count("requests") == 4
    assert {path: path.stat().st_mtime_ns for path in FOLDER.iterdir()} == before
