"""The file of measured cases: read back, and refused where it is something else."""

import json

import pytest

from foreread.analyzer.prefetch import CASES, PrefetchError
from foreread.analyzer.prefetch.measured import read_measurement


def document(**changes):
    cases = [
        {"name": name, "read_ahead_kb": 128, "seconds": [2.0, 1.5], "requests": [3, 4]}
        | {"read_bytes": [4096, 8192]}
        for name in CASES
    ]
    return {"schema": 1, "kernel": "6.1", "command": ["app"], "cases": cases} | changes


def test_written_data_are_read_back(tmp_path):
    path = tmp_path / "measured.json"
    path.write_text(json.dumps(document()))
    found = read_measurement(path)
    assert [case.name for case in found.cases] == list(CASES)
    assert found.cases[3].seconds == [2.0, 1.5]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 100_000,
        json.dumps(document(schema=2)),
        json.dumps(document(cases=[])),
        json.dumps(document(cases=list(reversed(document()["cases"])))),
        json.dumps(document(cases=[{**c, "seconds": []} for c in document()["cases"]])),
        json.dumps(document(cases=[{**c, "requests": [1]} for c in document()["cases"]])),
        json.dumps(document()).replace("2.0", "NaN"),
        json.dumps(document()).replace("2.0", "-1"),
    ],
)
def test_anything_else_is_refused(tmp_path, text):
    path = tmp_path / "measured.json"
    path.write_text(text)
    with pytest.raises(PrefetchError, match=r"measured\.json") as error:
        read_measurement(path)
    assert error.value.remedy
