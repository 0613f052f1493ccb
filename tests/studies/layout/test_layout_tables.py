"""The tables of measured layouts."""

import json
from pathlib import Path

from studies.layout import tables


def cell(ordered, predicted, measured):
    names = ("bytes", "requests", "seconds")
    sides = (dict(zip(names, side, strict=True)) for side in (predicted, measured))
    fixed = {"image": "x", "pair": "gzip-128K", "start": "perl", "ordered": ordered}
    return fixed | dict(zip(("predicted", "measured"), sides, strict=True))


def test_errors_and_gains_are_those_of_the_cells():
    cells = [
        cell(False, (2048, 10, 2.0), (2048, 10, 2.1)),
        cell(True, (1024, 9, 1.0), (1100, 9, 1)),
    ]
    errors, gains = tables.in_all(cells)
    assert "| bytes | 3.5 | 6.9 | 1/2 | 5 |" in errors
    assert gains.splitlines()[2:] == ["| gzip-128K | -50/-46, -50/-52 |"]
    assert "| x | perl | 2 / 2 (+0.0%) | 10 / 10 (+0.0%) |" in tables.text(cells)


def test_the_page_has_the_tables_of_the_raw_figures():
    folder = Path(tables.__file__).parent
    page = (folder / "README.md").read_text()
    for table in tables.in_all(json.loads((folder / "raw/squashfs.json").read_text())):
        assert table in page
