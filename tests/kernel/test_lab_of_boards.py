"""A labgrid lab with two emulated boards: each records, and both tune and confirm as one fleet."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import pytest
from lab_benches import open_at_place
from labs import MISSING, Lab

from foreread.analyzer.confirm.boards import board_gains
from foreread.analyzer.ingest.load import load
from foreread.analyzer.tuner.engines.stopping import Budget
from foreread.boards.emulated.live import LiveOptions, boot
from foreread.boards.open import open_target
from foreread.measuring import confirm_fleet as fleet_confirming
from foreread.measuring.options import ConfirmOptions
from foreread.recording.steps import recorded
from foreread.tracer.formats.capture import read
from foreread.tracer.machines import recorder_for
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions
from foreread.tuning import fleet as fleet_tuning
from foreread.tuning.options import TuneOptions

pytestmark = [
    pytest.mark.boards,
    pytest.mark.thorough,
    pytest.mark.skipif(MISSING, reason="no labgrid: no place of a lab is acquired"),
]
PLAY = ["madplay", "-Q", "-o", "null:", "-t", "1", "/sample.mp3"]
PLACES = ("first", "second")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Yield a lab with two boards, and the files that log in to each by its target."""
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        boards = {}
        for place in PLACES:
            boards[place] = boot(LiveOptions("x86_64", kernel="6.12"))
            stack.callback(boards[place].stop)
        resources = {
            place: {
                "NetworkService": {
                    "address": board.address.host,
                    "username": "root",
                    "port": board.address.port,
                }
            }
            for place, board in boards.items()
        }
        lab = Lab(tmp_path_factory.mktemp("lab"), resources)
        stack.callback(lab.stop)
        files = {
            f"labgrid://{place}": [str(board.known_hosts), str(board.identity)]
            for place, board in boards.items()
        }
        for name, value in (lab.environment | {"FLEET_BOARDS": json.dumps(files)}).items():
            patch.setenv(name, value)
        yield lab, files


def test_both_boards_record(lab, tmp_path):
    starts = []
    for target, (known_hosts, identity) in lab[1].items():
        folder = tmp_path / target.rpartition("/")[2]
        with open_target(target, Path(known_hosts), Path(identity)) as opened:
            recorded(recorder_for(opened).run(RecordOptions(RunOptions(PLAY)), folder))
        starts.append(load(folder))
    first, second = (len(one.accesses["page"]) for one in starts)
    assert first == second > 100
    assert lab[0].holders() == {}


def test_both_boards_tune_as_one_fleet(lab, tmp_path, monkeypatch):
    monkeypatch.setattr(fleet_tuning, "open_bench", open_at_place)
    first, second = lab[1]
    options = TuneOptions(
        RunOptions(PLAY),
        target=first,
        others=(second,),
        genes={"read_ahead_kb": [0, 64, 128]},
        budget=Budget(evaluations=24),
        limit_s=300.0,
    )
    results = fleet_tuning.fleet_tune(options, tmp_path / "lab.tuning")
    assert len(results.search) + results.allowance == 24
    assert {one.board for one in results.search} == {0, 1}
    assert results.winner["read_ahead_kb"] != 0
    assert abs(results.boards[0].effect) < 0.05  # the boards are equal
    _check_put_back(lab)


def test_both_boards_confirm_as_one_fleet(lab, tmp_path, monkeypatch):
    monkeypatch.setattr(fleet_confirming, "open_bench", open_at_place)
    first, (known_hosts, identity) = next(iter(lab[1].items()))
    capture = tmp_path / "capture"
    with open_target(first, Path(known_hosts), Path(identity)) as opened:
        recorded(recorder_for(opened).run(RecordOptions(RunOptions(PLAY)), capture))
    # 4 KiB instead of 128 KiB: one request for every page.
    found = fleet_confirming.fleet_confirm(
        capture, list(lab[1]), ConfirmOptions(read_ahead_kb=4, seed=2)
    )
    assert found.result.outcome == "contradicted"
    assert found.result.high < -0.05
    assert {*found.result.made_on} == {0, 1}
    first_board, second = board_gains(found.result)
    assert abs(first_board.gain - second.gain) < 0.05  # the boards are equal
    assert read(capture)[0].confirmations == [found.result]
    _check_put_back(lab)


def _check_put_back(lab):
    assert lab[0].holders() == {}
    for target, (known_hosts, identity) in lab[1].items():
        with open_target(target, Path(known_hosts), Path(identity)) as opened:
            assert opened.read_knob("/sys/block/slow0/queue/read_ahead_kb") == "128"
