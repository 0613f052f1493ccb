"""Prediction against measurement: hand-computed cases."""

from __future__ import annotations

import dataclasses
import json

import msgspec
import pytest
from msgspec import structs
from msgspec.structs import replace

from foreread.analyzer.predict.beside import LoadRow, Loads
from foreread.analyzer.predict.prediction import Curve, Prediction, Verdict
from foreread.analyzer.predict.validate import METADATA_UNKNOWN, ValidationError, validate
from foreread.tracer.formats.sweep import Killed, Point, Sweep

WINDOWS = [0, 1, 2, 4, 8]


def curve(name="mmcblk0", **changes):
    made = Curve(
        dev="179:0",
        name=name,
        tap=100,
        windows=WINDOWS,
        read_ahead_kb=[4 * w for w in WINDOWS],
        f=[100, 60, 40, 30, 25],
        g=[0, 20, 20, 50, 125],
        g_formula=[0, 20, 20, 50, 125],
        pages=[100, 120, 120, 150, 225],
        c_opt=[10000, 4000, 2000, 3400, 16250],
        seconds=None,
        quasi_optimal=2,
        predicted_best=None,
        iterated=2,
        turning_points=1,
        pareto=WINDOWS,
    )
    return replace(made, **changes)


def prediction(total, devices=None):
    return Prediction(
        kernel="6.1",
        page_size=4096,
        model="fixed",
        recorded_read_ahead_kb=0,
        contaminated=False,
        devices=devices or [total],
        total=total,
        verdict=Verdict("set", 8, "smallest C_opt"),
        published=Verdict("set", 8, "smallest C_opt"),
    )


def point(kb, seconds, requests=(50,), pages=(100.0,)):
    repeats = len(seconds)
    return Point(
        read_ahead_kb=kb,
        seconds=list(seconds),
        requests=list(requests) * (repeats // len(requests)),
        pages=list(pages) * (repeats // len(pages)),
    )


def sweep(*points, **changes):
    return Sweep(points=list(points), **{"default_read_ahead_kb": 16, **changes})


MEASURED = sweep(
    point(0, [14.2], [110], [110.0]),
    point(4, [10.0], [80], [120.0]),
    point(8, [11.0], [50], [160.0]),
    point(16, [20.0], [40], [150.0]),
)


def test_errors_are_fractions_of_the_measured():
    result = validate(prediction(curve()), MEASURED)
    by_kb = {p.read_ahead_kb: p for p in result.points}
    assert by_kb[4].error.f == pytest.approx((60 - 80) / 80)
    assert by_kb[8].error.pages == pytest.approx((120 - 160) / 160)
    # |errors of F|: 10/110, 20/80, 10/50, 10/40
    assert result.f_error_median == pytest.approx((0.2 + 0.25) / 2)
    assert result.f_error_max == pytest.approx(0.25)
    # |errors of pages|: 10/110, 0, 40/160, 0
    assert result.pages_error_median == pytest.approx((0 + 10 / 110) / 2)


def test_regret_is_the_missed_optimisation():
    """8 KiB: 11 s; best measured 4 KiB: 10 s; default 16 KiB: 20 s."""
    result = validate(prediction(curve()), MEASURED)
    assert result.regret is None
    assert result.regret_proposed == pytest.approx(1 / 20)
    assert result.regret_quasi_optimal == pytest.approx(1 / 20)
    assert (result.best_read_ahead_kb, result.default_read_ahead_kb) == (4, 16)


def test_regret_of_the_paper():
    """Section 3 of the 2010 paper: 34.9 s by default, 14.5 s quasi-optimal, 14 s optimal."""
    wide = curve(windows=[0, 1, 2, 255], f=[4, 3, 2, 1], pages=[4] * 4, quasi_optimal=2)
    runs = sweep(
        point(4, [14.0]), point(8, [14.5]), point(1020, [34.9]), default_read_ahead_kb=1020
    )
    assert validate(prediction(wide), runs).regret_quasi_optimal == pytest.approx(0.0143, abs=5e-5)


def test_predicted_best_is_chosen_before_quasi_optimal():
    with_seconds = curve(seconds=[15.0, 9.0, 11.0, 22.0, 40.0], predicted_best=1)
    result = validate(prediction(with_seconds), MEASURED)
    assert (result.regret, result.regret_quasi_optimal) == (0, pytest.approx(1 / 20))
    assert result.seconds_error_median == pytest.approx((0.8 / 14.2 + 0.1) / 2)
    assert result.seconds_error_max == pytest.approx(0.1)


def test_without_predicted_seconds_their_errors_are_null():
    document = json.loads(validate(prediction(curve()), MEASURED).to_json())
    assert document["seconds_error_median"] is None
    assert document["seconds_error_max"] is None
    assert json.loads(json.dumps(document)) == document


def test_medians_over_the_repeats():
    runs = sweep(point(8, [30.0, 10.0, 11.0], [90, 40, 50], [1.0, 120.0, 130.0]))
    result = validate(prediction(curve()), runs)
    assert msgspec.to_builtins(result.points[0].measured) == {
        "F": 50,
        "pages": 120.0,
        "seconds": 11.0,
    }


def test_the_regret_of_a_window_that_was_not_measured_is_unknown_and_said():
    """No neighbour takes its place."""
    runs = sweep(point(0, [12.0]), point(4, [10.0]), point(32, [20.0]), default_read_ahead_kb=128)
    result = validate(prediction(curve()), runs)
    assert (result.chosen_read_ahead_kb, result.default_read_ahead_kb) == (None, 32)
    assert (result.proposed_read_ahead_kb, result.quasi_optimal_read_ahead_kb) == (8, 8)
    assert result.regret is result.regret_proposed is result.regret_quasi_optimal is None
    said = [note for note in result.notes if "regret" in note]
    assert said == [
        "the proposed and published criterion's window, 8 KiB, was not measured, so its "
        "regret is unknown; measure it: foreread sweep --windows 8 -o 8k.sweep.json -- COMMAND"
    ]
    assert "the default window, 128 KiB, was not measured: 32 KiB is used" in result.notes


def test_a_default_below_the_smallest_measured_window_is_the_smallest():
    result = validate(prediction(curve()), sweep(point(16, [12.0]), point(32, [20.0])))
    assert result.default_read_ahead_kb == 16


def test_metadata_of_the_capture_counts_as_the_disk_counts_it():
    result = validate(prediction(curve(metadata_requests=20, metadata_pages=30)), MEASURED)
    by_kb = {p.read_ahead_kb: p for p in result.points}
    assert (by_kb[4].error.f, by_kb[8].error.pages) == (0, pytest.approx(-10 / 160))
    assert any("20 requests, 30 pages" in note for note in result.notes)


def test_unknown_metadata_is_said_and_not_corrected():
    assert METADATA_UNKNOWN in validate(prediction(curve()), MEASURED).notes


def test_measured_beyond_the_predicted_windows_is_listed_without_error():
    result = validate(prediction(curve()), sweep(point(8, [1.0]), point(4096, [2.0])))
    assert result.points[1].predicted.f is None
    assert result.points[1].error.f is None
    assert any("4096 KiB" in note for note in result.notes)


def test_the_kernel_rounds_read_ahead_kb_down_to_pages():
    result = validate(prediction(curve()), sweep(point(10, [1.0])))
    assert result.points[0].window == 2


def test_an_interrupted_sweep_is_said():
    result = validate(prediction(curve()), sweep(point(8, [1.0]), complete=False, notes=["x"]))
    assert "x" in result.notes
    assert any("interrupted" in note for note in result.notes)


def test_without_measurements_there_is_no_fraction():
    result = validate(prediction(curve()), sweep(point(0, [0.0], [0], [0.0])))
    assert result.f_error_median is None
    assert result.regret is None


def test_the_one_swept_disk_of_several_is_compared():
    small = curve(name="sda", f=[10, 6, 4, 3, 2])
    both = prediction(curve(name="total"), [curve(name="mmcblk0"), small])
    assert validate(both, sweep(point(0, [1.0]), devices=["sda"])).points[0].predicted.f == 10
    result = validate(both, sweep(point(0, [1.0]), devices=["sdb"]))
    assert result.points[0].predicted.f == 100
    assert any("total" in note for note in result.notes)


def test_no_default_window_is_assumed():
    points = (point(0, [2.0]), point(128, [1.0]))
    result = validate(prediction(curve()), sweep(*points, default_read_ahead_kb=None))
    assert result.default_read_ahead_kb == 0
    assert any("relative to 0 KiB (no readahead)" in note for note in result.notes)


def test_the_kernels_default_stands_in_for_an_unknown_one():
    points = (point(0, [2.0]), point(128, [1.0]))
    known = prediction(structs.replace(curve(), default_read_ahead_kb=128))
    result = validate(known, sweep(*points, default_read_ahead_kb=None))
    assert result.default_read_ahead_kb == 128
    assert any("relative to 128 KiB (kernel's default)" in note for note in result.notes)


@pytest.mark.parametrize("points", [[], [point(0, [])]])
def test_a_sweep_without_measurements_is_refused_with_a_remedy(points):
    with pytest.raises(ValidationError) as caught:
        validate(prediction(curve()), sweep(*points))
    assert "foreread sweep" in caught.value.remedy


def test_another_kernel_or_page_size_is_said():
    other = structs.replace(MEASURED, kernel="6.12", page_size=16384)
    notes = validate(prediction(curve()), other).notes
    assert "the kernel of the recording is 6.1, that of the sweep 6.12" in notes
    assert "the page size of the recording is 4096, that of the sweep 16384" in notes
    alike = structs.replace(MEASURED, kernel="6.1")
    assert not any(
        "of the recording is" in note for note in validate(prediction(curve()), alike).notes
    )


def killed(kb, *seconds):
    runs = [Killed(by="memory", seconds=0.5, requests=100, pages=1000.0)]
    return structs.replace(point(kb, seconds), killed=runs)


def in_little_memory():
    """A prediction with a row for 8 MiB: 4 KiB is the fastest window there, and 16 KiB thrashes."""
    seconds = [14.0, 9.0, 12.0, 30.0, 90.0]
    row = LoadRow(
        load="memory:8M",
        weight=1.0,
        seconds=seconds,
        seconds_low=seconds,
        seconds_high=seconds,
        best_kb=4,
        action="set",
        read_ahead_kb=4,
        memory_kib=8192,
        pages=[100, 120, 140, 900, 4000],
    )
    kib = [4 * window for window in WINDOWS]
    loads = Loads(read_ahead_kb=kib, reference_kb=16, idle_kb=8, rows=[row])
    return dataclasses.replace(prediction(curve()), loads=loads)


def test_a_sweep_in_little_memory_is_compared_with_what_is_predicted_for_that():
    runs = sweep(point(4, [10.0]), point(16, [25.0], pages=(1000.0,)), memory_kib=8192)
    result = validate(in_little_memory(), runs)
    assert [p.predicted.seconds for p in result.points] == [9.0, 30.0]
    assert [p.error.pages for p in result.points] == pytest.approx([0.2, -0.1])
    assert [p.measured.f for p in result.points] == [None, None]
    assert result.proposed_read_ahead_kb == 4
    assert any("little memory" in note for note in result.notes)


def test_a_sweep_in_little_memory_that_is_not_predicted_says_how_to_predict_it():
    with pytest.raises(ValidationError, match="memory:8M, and nothing is predicted") as caught:
        validate(prediction(curve()), sweep(point(4, [10.0]), memory_kib=8192))
    assert "--load memory:8M --measured SWEEP" in caught.value.remedy


def test_windows_at_which_starts_were_killed_are_left_out():
    """16 KiB would be the best of those that survived, but its start dies."""
    runs = sweep(point(4, [10.0]), point(8, [11.0]), killed(16, 1.0), killed(32), memory_kib=8192)
    result = validate(in_little_memory(), runs)
    assert [p.read_ahead_kb for p in result.points] == [4, 8]
    assert result.best_read_ahead_kb == 4
    assert any("left out: 16, 32 KiB" in note for note in result.notes)


def test_a_sweep_whose_starts_were_all_killed_needs_more_memory():
    with pytest.raises(ValidationError, match="no measured window") as error:
        validate(prediction(curve()), sweep(killed(4), killed(8)))
    assert "--memory" in error.value.remedy


def test_a_window_is_measured_anew_in_the_memory_of_the_sweep():
    runs = sweep(point(4, [10.0]), memory_kib=8192, default_read_ahead_kb=4)
    notes = validate(in_little_memory(), runs).notes
    assert any("was not measured" in note and "--memory 8M" in note for note in notes)
