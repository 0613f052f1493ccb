"""The table of measured boots."""

from __future__ import annotations

import json

from studies.boot import tables


def case(name, kb, predicted, *measured):
    boots = [{"seconds": seconds} for seconds in measured]
    return {"name": name, "read_ahead_kb": kb, "seconds": predicted, "measured": boots}


def test_a_row_for_each_measured_case(tmp_path, capsys):
    document = {
        "init": "busybox",
        "cases": [
            case("neither", 128, 2.0, 1.9, 2.1),
            case("window", 96, 1.5, 1.6),
            case("list", 128, 1.0),
        ],
    }
    file = tmp_path / "boots.json"
    file.write_text(json.dumps(document))
    tables.main([str(file)])
    lines = capsys.readouterr().out.splitlines()[2:]
    assert lines == [
        "| busybox | neither | 128 | 2.000 s | 2.000 s | 0.00 % | 0.00 % | 0.00 % | 1.900 2.100 |",
        "| busybox | window | 96 | 1.500 s | 1.600 s | -6.25 % | 20.00 % | 25.00 % | 1.600 |",
    ]
