"""The table of measured boots."""

import json
from pathlib import Path

import pytest

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
    assert lines == [
        "| busybox, neither | 128→128→128 | 2.000 | 2.000 (1.900, 2.100) | 0.00 | 0.00, 0.00 |",
        "| busybox, window | 128→96→128 | 1.500 | 1.600 (1.600) | -6.25 | 25.00, 20.00 |",
    ]


def test_boots_from_their_first_process_name_the_board():
    document = {"board": "x86_64", "init": "systemd", "recorded_from": "init"}
    cases = [case("window", 128, 2.0, 2.0)]
    [row] = tables.rows(document | {"cases": cases})
    assert row[:2] == ("x86_64, systemd, window", "128→128→128")


@pytest.mark.parametrize("folder", ["raw", "raw/first"])
def test_the_page_has_the_table_of_the_raw_figures(folder):
    study = Path(tables.__file__).parent
    files = sorted((study / folder).glob("*.json"))
    assert files
    assert tables.table(files) in (study / "README.md").read_text()
