"""The JSON Schemas are complete, refuse what is not the document, and change by decision only."""

import json

import jsonschema_rs
import pytest
from document_members import FILE, changes, declared, read_members, text_of
from json_outputs import check, validator

from docs.tools.json_schemas import schemas
from foreread.cli.main import COMMANDS as COMMAND_LINE
from foreread.documents.every import COMMANDS, FILES

FIXED_KEYS = {  # docs/design.md: other programs rely on them
    "dev name tap windows read_ahead_kb F G G_formula pages C_opt seconds quasi_optimal "
    "predicted_best seconds_low seconds_high smallest_within spent F_fixed metadata_requests "
    "metadata_pages": ("predict", "Curve"),
    "schema kernel page_size model recorded_read_ahead_kb contaminated devices total notes doubts "
    "predicted_regret_quasi_optimal verdict published": ("predict", "PredictionDocument"),
    "action read_ahead_kb why by remedy": ("predict", "Verdict"),
    "compute waited behind asleep": ("predict", "Spent"),
    "schema device size_bytes cost summary error_median error_worst trials": (
        "calibrate",
        "CalibrationDocument",
    ),
    "request_kib sequential depth requests per_second bytes_per_second error": (
        "calibrate",
        "TrialDocument",
    ),
    "created foreread target kernel machine model disks present_kb proposed_kb outcome gain low "
    "high pairs disturbed runs wall_seconds notes schema command confidence predicted_gain": (
        "confirm",
        "ConfirmationDocument",
    ),
    "read_ahead_kb seconds requests pages": ("sweep", "Point"),
    "schema points": ("sweep", "Sweep"),
    "F_error_median F_error_max pages_error_median seconds_error_median seconds_error_max regret "
    "regret_quasi_optimal regret_proposed": ("predict", "Validation"),
}


def test_members_are_those_of_the_list():
    """What other programs read stays: a change of the list is a decision."""
    old, new = read_members(FILE.read_text()), declared(schemas())
    refresh = "type: python tests/support/document_members.py"
    assert changes(old, new) == [], f"if this is what you want (docs/design.md), {refresh}"
    assert FILE.read_text() == text_of(new), f"only the order differs; {refresh}"


def test_each_change_of_a_member_is_named():
    old = declared(schemas())
    new = {name: dict(types) for name, types in old.items()}
    del new["Curve"]["tap"]
    new["Curve"]["F"] = "number[]"
    new["Curve"]["depth"] = "integer?"
    del new["document sweep"]
    assert changes(old, new) == [
        "document sweep.is: was Sweep, is gone",
        "Curve.tap: was integer, is gone",
        "Curve.F: was integer[], is number[]",
        "Curve.depth: is new, integer?",
    ]
    assert changes(old, read_members(text_of(old))) == []


def test_every_command_has_a_schema():
    assert {name.partition("-")[0] for name in COMMANDS} == set(COMMAND_LINE)


@pytest.mark.parametrize("name", [*COMMANDS, *FILES])
def test_every_schema_is_valid_and_describes_its_objects(name):
    schema = schemas()[name]
    jsonschema_rs.meta.validate(schema)
    assert {key for key, one in schema["$defs"].items() if not one.get("description")} == set()


@pytest.mark.parametrize(("keys", "place"), FIXED_KEYS.items(), ids=lambda one: one[-1])
def test_the_keys_that_other_programs_rely_on_are_always_there(keys, place):
    name, of = place
    schema = schemas()[name]["$defs"][of]
    assert set(keys.split()) <= set(schema["required"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"schema": 2, "stopped": []},
        {"schema": 1},
        {"schema": 1, "stopped": [1]},
        {"schema": 1, "stopped": [], "more": 1},
    ],
)
def test_another_document_is_refused(wrong):
    check("boards-stop", json.dumps({"schema": 1, "stopped": ["arm64"]}))
    with pytest.raises(jsonschema_rs.ValidationError):
        validator("boards-stop").validate(wrong)
