"""Where the map puts pages, runs in vain and labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.report.access_map import LONGEST_GAP, spread, stack
from analyzer.report.subject import Subject


def layout(make, accesses, kb, **fields):
    recording = make.recording(accesses, **fields)
    prediction = make.prediction(recording)
    verdict = type(prediction.verdict)("set", kb, "")
    from dataclasses import replace

    return stack(Subject(recording, replace(prediction, verdict=verdict), None, None))


def test_files_are_stacked_by_first_access(make):
    placed = layout(make, [(2, 0), (0, 0), (1, 0)], 0)
    assert placed.files.tolist() == [2, 0, 1]
    assert np.all(placed.high[:-1] <= placed.low[1:])


def test_a_page_is_one_high_and_offsets_rise(make):
    placed = layout(make, [(0, 3), (0, 1), (0, 2)], 0)
    assert placed.access_y[[1, 2, 0]] - placed.access_y[1] == pytest.approx([0, 1, 2])
    assert placed.high[0] - placed.low[0] == 3


def test_pages_in_vain_stand_behind_the_page_that_read_them(make):
    placed = layout(make, [(0, 0), (0, 10)], 8)
    assert placed.run_low.tolist() == [placed.access_y[0] + 0.5, placed.access_y[1] + 0.5]
    assert (placed.run_high - placed.run_low).tolist() == [2, 2]


def test_long_stretches_that_nothing_reads_are_shortened(make):
    placed = layout(make, [(0, 0), (0, 10_000)], 0)
    assert placed.access_y[1] - placed.access_y[0] == LONGEST_GAP + 1


@given(st.lists(st.floats(0, 100), min_size=1, max_size=14).map(sorted))
def test_labels_keep_their_distance_order_and_place(wanted):
    placed = spread(np.array(wanted), 5.0, 100.0)
    assert np.all(np.diff(placed) >= 5.0 - 1e-9)
    assert placed[-1] <= 100
    assert placed[0] >= 0 or len(wanted) * 5 > 100


def test_labels_with_room_stay_where_they_are():
    assert spread(np.array([10.0, 50.0, 90.0]), 5.0, 100.0).tolist() == [10, 50, 90]
