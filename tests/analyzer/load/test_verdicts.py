"""The verdict beside loads: the rules that choose one window for all, from made-up seconds."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prediction_builder import curve_of, prediction_of

from foreread.analyzer.error import ArgumentError
from foreread.analyzer.ingest.load import load
from foreread.analyzer.load import verdicts
from foreread.analyzer.load.client import Client, Load
from foreread.analyzer.load.verdicts import MOST_SLOWER, with_loads
from foreread.analyzer.predict.bands import REPLAY, Bands
from foreread.analyzer.predict.linux import predict_linux
from foreread.analyzer.predict.verdict import decide_by_seconds
from foreread.boards.base.note import NoteKind, kind_of
from foreread.emulator.devices.paced import Paced

KIB = [0, 32, 64, 128, 256, 1024]
WINDOWS = [kib // 4 for kib in KIB]
IDLE = [1.83, 1.07, 0.78, 0.77, 0.67, 0.67]
READER = [6.30, 3.01, 3.05, 3.53, 4.31, 7.12]
CLIENT = Client()
RANDOM = [3.78, 2.12, 1.90, 1.67, 1.42, 1.32]


def bands_of(seconds, apart=0.0):
    """Return bands; draws of neighbouring windows differ by twice the share ``apart``."""
    at = np.array(seconds)
    draws = at * (1 + np.outer([-apart, apart], np.arange(len(at)) % 2))
    return Bands(WINDOWS, at, draws, WINDOWS, REPLAY * at)


def predicted(idle=IDLE, current=128, apart=0.0):
    """Return the prediction for an idle machine."""
    bands = bands_of(idle, apart)
    total = curve_of(
        windows=WINDOWS,
        read_ahead_kb=KIB,
        seconds=list(idle),
        predicted_best=bands.best,
        smallest_within=bands.smallest_within(),
        current_read_ahead_kb=current,
        **{name: [9] * len(KIB) for name in ("f", "g", "g_formula", "pages", "c_opt")},
        quasi_optimal=WINDOWS[1],
    )
    verdict = decide_by_seconds(total, bands, None if current is None else current // 4)
    start = SimpleNamespace(timed=lambda _: [None], device=None)
    return replace(prediction_of(total), verdict=verdict, bands=bands, starts=(start,))


@pytest.fixture
def beside(monkeypatch):
    """Return a function that predicts beside loads of known seconds."""

    def beside(prediction, weights=None, apart=0.0, **loads):
        monkeypatch.setattr(
            verdicts, "_replayed", lambda _, __, load: bands_of(loads[load.name], apart)
        )
        named = [Load(name) for name in loads]
        return with_loads(prediction, named, weights)

    return beside


def test_php_beside_a_reader_never_gets_the_window_that_is_best_alone(beside):
    """A measured start: its best window alone is 22 % slower beside the reader than 128 KiB."""
    alone = predicted()
    assert alone.verdict.read_ahead_kb == 256
    prediction = beside(alone, reader=READER)
    assert prediction.verdict.read_ahead_kb == 64
    assert prediction.loads.refused_kb == [0, 32, 256, 1024]
    idle, reader = prediction.loads.rows
    assert (idle.load, idle.action, idle.read_ahead_kb) == ("idle", "set", 256)
    assert (reader.load, reader.read_ahead_kb, reader.best_kb) == ("reader", 32, 32)
    assert reader.idle_change == pytest.approx(4.31 / 3.53 - 1)
    assert reader.idle_regret == pytest.approx((4.31 - 3.01) / 3.53)
    assert reader.change == pytest.approx(3.05 / 3.53 - 1)
    assert reader.regret == pytest.approx((3.05 - 3.01) / 3.53)


def test_the_idle_row_is_the_prediction_itself(beside):
    alone = predicted()
    idle = beside(alone, reader=READER).loads.rows[0]
    assert idle.seconds == alone.total.seconds
    assert (idle.action, idle.read_ahead_kb, idle.why) == (
        alone.verdict.action,
        alone.verdict.read_ahead_kb,
        alone.verdict.why,
    )


def test_the_verdict_names_its_loads_and_the_faster_window_that_is_refused(beside):
    idle, slow = [2.0, 2.0, 2.0, 2.0, 1.0, 2.0], [2.0, 2.0, 1.9, 2.0, 2.2, 2.0]
    verdict = beside(predicted(idle), reader=slow).verdict
    assert (verdict.action, verdict.read_ahead_kb, verdict.by) == ("set", 64, "seconds")
    assert "geometric means over idle, reader" in verdict.why
    assert "256 KiB is not set: beside reader it is 10.0 % slower than 128 KiB" in verdict.why


def test_a_window_that_is_faster_beside_all_loads_is_set_without_a_word_about_others(beside):
    verdict = beside(predicted(), random=RANDOM).verdict
    assert (verdict.action, verdict.read_ahead_kb) == ("set", 1024)
    assert "not set" not in verdict.why


COLUMN = st.lists(st.floats(0.1, 10), min_size=len(KIB), max_size=len(KIB))


@given(idle=COLUMN, reader=COLUMN, writer=COLUMN, current=st.sampled_from([None, *KIB]))
def test_no_window_is_set_that_is_too_slow_beside_any_load(idle, reader, writer, current):
    prediction = predicted(idle, current)
    columns = {"reader": reader, "writer": writer}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdicts, "_replayed", lambda _, __, load: bands_of(columns[load.name]))
        found = with_loads(prediction, [Load("reader"), Load("writer")])
    at, now = (KIB.index(kb) for kb in (found.verdict.read_ahead_kb, found.loads.reference_kb))
    for column in (idle, reader, writer):
        assert column[at] <= (1 + MOST_SLOWER) * column[now] * (1 + 1e-12)


@given(scale=st.floats(0.01, 100))
def test_a_load_counts_by_its_changes_and_not_by_its_seconds(scale):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdicts, "_replayed", lambda *_: bands_of([scale * s for s in READER]))
        found = with_loads(predicted(), [Load("reader")])
    assert found.verdict.read_ahead_kb == 64


def test_a_weight_moves_the_answer_towards_its_load(beside):
    idle, reader = [2.0, 1.5, 1.23, 1.2, 1.0, 1.0], [2.0, 1.00, 1.05, 1.2, 1.22, 1.23]
    found = {
        weight: beside(predicted(idle), {"reader": weight}, reader=reader).verdict.read_ahead_kb
        for weight in (0.01, 100.0)
    }
    assert found[0.01] == 256
    assert found[100.0] == 64  # 32 KiB is refused: idle it is 25 % slower


def test_an_idle_machine_that_has_no_weight_refuses_nothing(beside):
    found = beside(predicted(), {"idle": 0.0}, reader=READER)
    assert found.verdict.read_ahead_kb == 32
    assert found.loads.names == ["reader"]
    assert "beside reader" in found.verdict.why


def test_a_gain_within_the_band_of_the_draws_is_not_a_reason_to_set_a_window(beside):
    idle = [2.0, 1.2, 1.1, 1.0, 0.97, 1.2]
    assert beside(predicted(idle), reader=idle).verdict.action == "set"
    loose = beside(predicted(idle, apart=0.05), apart=0.05, reader=idle)
    assert (loose.verdict.action, loose.verdict.read_ahead_kb) == ("keep", 128)


def test_a_load_that_is_not_predicted_is_named_and_decides_nothing(beside):
    memory = Load("memory:16", unpredicted="a lack of memory is not predicted")
    prediction = with_loads(predicted(), [memory])
    row = prediction.loads.rows[1]
    assert (row.predicted, row.why, row.action) == (False, memory.unpredicted, "measure")
    assert prediction.verdict.read_ahead_kb == 256
    assert prediction.loads.names == ["idle"]
    assert prediction.beside == ()


def test_without_predicted_seconds_the_verdict_stays_and_each_row_says_why():
    prediction = prediction_of(action="measure", read_ahead_kb=None)
    verdict = msgspec.structs.replace(prediction.verdict, by=None)
    found = with_loads(replace(prediction, verdict=verdict), [Load("reader", (CLIENT,))])
    assert found.verdict == verdict
    assert [(row.load, row.why, row.seconds) for row in found.loads.rows] == [
        ("idle", verdict.why, []),
        ("reader", verdict.why, []),
    ]
    assert found.beside == ()


def test_the_weight_of_another_load_is_refused():
    with pytest.raises(ArgumentError, match="'writer' concerns no load") as caught:
        with_loads(predicted(), [Load("reader")], {"writer": 2.0})
    assert caught.value.remedy == "weigh some of: idle, reader"


def test_assumptions_about_a_load_are_notes_of_the_prediction(beside, monkeypatch):
    monkeypatch.setattr(verdicts, "_replayed", lambda *_: bands_of(READER))
    loads = [
        Load("reader", (CLIENT,), ("it is cat",)),
        Load("reader:/mnt/film", notes=("/mnt/film is on another disk",)),
    ]
    monkeypatch.setattr(verdicts, "unpredicted", lambda *_: "")
    found = with_loads(predicted(), loads)
    kinds = {str(note): kind_of(note) for note in found.notes}
    assert kinds["reader: it is cat"] is NoteKind.BASIS
    assert kinds["reader:/mnt/film: /mnt/film is on another disk"] is NoteKind.ANSWER


def test_windows_of_which_none_may_be_set_leave_the_present_one(beside):
    prediction = predicted()
    bands = replace(prediction.bands, candidates=[WINDOWS[4]])
    found = beside(replace(prediction, bands=bands), reader=READER)
    assert (found.verdict.action, found.verdict.read_ahead_kb) == ("keep", 128)
    assert "slower by more than 3 %" in found.verdict.why


def test_the_document_has_the_rows_and_names_the_loads(beside):
    prediction = predicted()
    assert "loads" not in msgspec.json.decode(prediction.document().to_json())
    document = msgspec.json.decode(beside(prediction, reader=READER).document().to_json())
    assert document["scenario"] == "idle, reader"
    loads = document["loads"]
    assert [row["load"] for row in loads["rows"]] == ["idle", "reader"]
    assert loads["read_ahead_kb"] == KIB
    assert loads["rows"][1]["seconds"] == READER
    means = np.sqrt(np.array(IDLE) * READER)
    assert loads["weighted"] == pytest.approx(means.tolist())
    assert (loads["idle_kb"], loads["reference_kb"]) == (256, 128)


@pytest.mark.thorough
def test_under_a_limiter_the_band_is_wider_and_a_note_says_why():
    capture = Path(__file__).parents[3] / "examples/php-start/php-start.capture.tar.xz"
    prediction = predict_linux(load(capture), device=Paced(1000.0, 40e6))
    client = Client(think_ns=1e6)
    loads = [Load("inside", (client,)), Load("outside", (client,), limited=False)]
    loaded = with_loads(prediction, loads)
    _, inside, outside = loaded.loads.rows
    widths = [row.seconds_high[0] / row.seconds_low[0] for row in (inside, outside)]
    assert widths[0] > 1.3 * widths[1]
    assert [note for note in loaded.notes if "race" in note] == [
        "inside: under the kernel's limiter start and load race for the budget of each slice: the "
        "seconds are uncertain by 22 %"
    ]
