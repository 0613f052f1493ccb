"""Documents of runs that need root or a board, from what was recorded or made up."""

import json
from pathlib import Path

import pytest
from json_outputs import check

from foreread.analyzer.confirm.document import confirmation_document
from foreread.analyzer.ingest.load import load
from foreread.boards.base.document import OtherSchemaError, decode, encode
from foreread.cli.main import main
from foreread.documents.boards import BoardRunDocument, StartedBoard, StoppedDocument
from foreread.documents.fingerprint import DoneDocument, PeriodDocument
from foreread.documents.record import record_document
from foreread.tracer.formats.capture import Capture
from foreread.tracer.formats.confirmation import Confirmation
from foreread.tracer.formats.sweep import Sweep, read_sweep

EXAMPLES = Path(__file__).parents[3] / "examples/python-start"
BOARD = Path(__file__).parents[1] / "data/arm64-madplay/arm64-madplay.capture.tar.xz"


@pytest.fixture(scope="module")
def capture():
    return load(BOARD).capture


def test_a_record_document_has_the_metadata_and_the_size_of_the_probe(capture):
    text = record_document(capture, "out").to_json()
    check("record", text)
    found = json.loads(text)
    assert found["capture"] == "out"
    assert (found["disk"] is None) == (capture.disk is None)
    assert set(found) == {"capture", *json.loads(capture.to_json())}


def test_metadata_are_read_back_as_written(capture):
    check("capture-metadata", capture.to_json())
    assert decode(capture.to_json().encode(), Capture) == capture


def test_the_shipped_sweep_is_read_back_as_written():
    sweep = read_sweep(EXAMPLES / "python-start.sweep.json")
    check("sweep", sweep.to_json())
    assert decode(sweep.to_json().encode(), Sweep) == sweep


def test_undecodable_paths_survive():
    text = encode(Sweep(points=[], command=["\udcff"]))
    assert decode(text.encode(), Sweep).command == ["\udcff"]


def test_another_schema_is_an_error_that_says_so():
    with pytest.raises(OtherSchemaError, match="schema 2") as error:
        decode(b'{"schema": 2, "new": "key"}', Sweep)
    assert error.value.remedy == "update foreread"


def test_the_diagnosis_is_a_document_with_or_without_rights(capsys):
    assert main(["doctor", "--json"]) in (0, 1)  # checked by the fixture of this folder
    assert json.loads(capsys.readouterr().out)["findings"]


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("boards-stop", StoppedDocument(stopped=["arm64"])),
        (
            "boards-start",
            StartedBoard(
                name="a",
                url="ssh://root@127.0.0.1:1",
                known_hosts="k",
                identity="i",
                console="socat",
                log="l",
                options={"board": "arm64", "memory_mib": None},
            ),
        ),
        (
            "boards-run",
            BoardRunDocument(
                board="arm64",
                kernel=None,
                fs="ext4",
                latency_us=1000,
                ns_per_kib=50_000.5,
                runs=[],
                stdout_base64="",
                stderr_base64="",
            ),
        ),
        ("fingerprint", DoneDocument(done="knob", what="x")),
        (
            "fingerprint",
            PeriodDocument(
                fingerprint=None,
                pattern_published=None,
                seconds=10,
                reads=0,
                writes=0,
                size_bytes=0.0,
                distance_sectors=0.0,
                jump_share=0.0,
            ),
        ),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
def test_small_documents_fit_their_schemas(name, document):
    check(name, document.to_json())


def test_a_confirmation_is_flat():
    made = Confirmation(
        created="2026-11-22T18:13:44+00:00",
        kernel="6.1",
        machine="aarch64",
        disks=["vda"],
        present_kb=128,
        proposed_kb=32,
        outcome="undecided",
        pairs=[(2.0, 1.5)],
    )
    text = confirmation_document(made, ["app"], 0.25).to_json()
    check("confirm", text)
    found = json.loads(text)
    assert found["pairs"] == [[2.0, 1.5]] and found["gain"] is None
    assert (found["schema"], found["confidence"], found["predicted_gain"]) == (1, 0.95, 0.25)
