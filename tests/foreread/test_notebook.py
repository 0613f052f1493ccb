"""The notebook in examples/: valid, without outputs, and its cells run in order.

The cells run here without a Jupyter kernel, which would bring some thirty packages: they use no
magic commands, and the last expression of a cell is its output, as in Jupyter.
"""

import ast
import json
from pathlib import Path

import matplotlib as mpl
import pytest

import foreread

FOLDER = Path(__file__).parents[2] / "examples/python-start"
NOTEBOOK = FOLDER / "python-start.ipynb"


@pytest.fixture
def document():
    document = json.loads(NOTEBOOK.read_text())
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    return document


def test_it_has_ten_cells_without_outputs(document):
    cells = document["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells) == 10
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert {cell["cell_type"] for cell in cells} == {"markdown", "code"}


def run(source, names):
    """Run a cell as Jupyter does; return its last expression, None where a semicolon hides it."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return None if source.rstrip().endswith(";") else value


@pytest.mark.thorough
def test_its_cells_run_draw_and_record_nothing(document, monkeypatch, capsys, example_advice):
    before = {path: path.stat().st_mtime_ns for path in FOLDER.iterdir()}
    monkeypatch.chdir(FOLDER)
    monkeypatch.setattr(foreread.Start, "advise", lambda *_, **__: example_advice)
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    names, pages = {}, {}
    for cell in document["cells"]:
        if cell["cell_type"] == "code":
            value = run("".join(cell["source"]), names)
            pages[cell["id"]] = None if value is None else value._repr_html_()
    shown = [name for name, page in pages.items() if page is not None]
    assert shown == ["load", "accesses", "predict", "validate", "advise"]
    assert "set 32 KiB" in pages["predict"] and "3,513 rows" in pages["accesses"]
    drawn = [plt.figure(number) for number in plt.get_fignums()]
    assert len(drawn) == 2
    for figure in drawn:
        figure.canvas.draw()
    assert drawn[0].axes[0].patches and drawn[1].axes[0].lines
    plt.close("all")
    assert "median error of the predicted seconds: 1.5%" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in FOLDER.iterdir()} == before
