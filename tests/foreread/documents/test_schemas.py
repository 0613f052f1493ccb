"""The published JSON Schemas are current, complete, and refuse what is not the document."""

import importlib.util
import json
from pathlib import Path

import jsonschema
import pytest
from json_outputs import SCHEMAS, check, validator

from foreread.cli.main import COMMANDS as COMMAND_LINE
from foreread.documents.every import COMMANDS, FILES

ROOT = Path(__file__).parents[3]
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


def _makes_schemas():
    spec = importlib.util.spec_from_file_location("make_schemas", ROOT / "docs/make_schemas.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_published_schemas_are_current():
    published = {path.name: path.read_text() for path in SCHEMAS.glob("*.json")}
    assert published == _makes_schemas().schemas(), "run python docs/make_schemas.py"


def test_every_command_has_a_schema():
    assert {name.partition("-")[0] for name in COMMANDS} == set(COMMAND_LINE)


@pytest.mark.parametrize("name", [*COMMANDS, *FILES])
def test_every_schema_is_valid_and_describes_its_objects(name):
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert {key for key, one in schema["$defs"].items() if not one.get("description")} == set()


@pytest.mark.parametrize(("keys", "place"), FIXED_KEYS.items(), ids=lambda one: one[-1])
def test_the_keys_that_other_programs_rely_on_are_always_there(keys, place):
    name, of = place
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())["$defs"][of]
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
    with pytest.raises(jsonschema.ValidationError):
        validator("boards-stop").validate(wrong)
