"""The tables of measured advice."""

import json
from pathlib import Path

from studies.advice import tables


def row(predicted, *seconds, listing=None, later=()):
    return {
        "what": "something",
        "rank": None,
        "read_ahead_kb": 128,
        "later": [*later],
        "list": listing,
        "predicted": predicted,
        "seconds": [*seconds],
    }


def test_errors_are_by_kind_and_of_the_median(tmp_path, capsys):
    document = {
        "verdict": {
            "first": "a list",
            "first_seconds": 0.6,
            "best": "16 KiB, with the list",
            "best_seconds": 0.5,
            "longer_percent": 20.0,
        },
        "rows": [
            row(1.01, 0.9, 1.0, 1.3),
            row(0.5, 0.4, listing="start.list"),
            row(0.33, 0.3, listing="early-usr.list"),
            row(0.9, 1.0, later=[[0.1, 8]]),
            row(None, 9.0),
        ],
    }
    file = tmp_path / "start.json"
    file.write_text(json.dumps(document))
    tables.main([str(file)])
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| start | 1.00 (1.00…1.00) | 10.00 (-10.00…-10.00) | 25.00 (25.00…25.00) | "
        "10.00 (10.00…10.00) | 20.0 |"
    ]


def test_the_page_has_the_table_of_the_raw_figures():
    folder = Path(tables.__file__).parent
    assert (
        tables.table(sorted((folder / "raw").glob("*.json"))) in (folder / "README.md").read_text()
    )
