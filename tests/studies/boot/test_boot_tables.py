"""The table of measured boots."""

from __future__ import annotations

import json

from studies.boot import tables


def case(name, kb, predicted, *measured):
    phases = [128, kb, 128]
    boots = [{"seconds": seconds, "read_ahead_kb": phases} for seconds in measured]
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
    kib = "128 → 128 → 128", "128 → 96 → 128"
    assert lines == [
        f"| busybox | neither | {kib[0]} | 2.000 s | 2.000 s | 0.00 % | 0.00 % | 0.00 % | "
        "1.900 2.100 |",
        f"| busybox | window | {kib[1]} | 1.500 s | 1.600 s | -6.25 % | 20.00 % | "
        "25.00 % | 1.600 |",
    ]
