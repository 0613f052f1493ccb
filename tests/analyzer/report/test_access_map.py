"""Where the map puts pages, unused runs and labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from foreread.analyzer.predict.prediction import Verdict
from foreread.analyzer.report.access_map import LONGEST_GAP, access_map, spread, stack
from foreread.analyzer.report.style import WIDTH_IN, drawing
from foreread.analyzer.report.subject import Subject


def subject_at(make, accesses, kb, **fields):
    recording = make.recording(accesses, **fields)
    prediction = replace(make.prediction(recording), verdict=Verdict("set", kb, ""))
    return Subject(recording, prediction, None, None)


def layout(make, accesses, kb):
    return stack(subject_at(make, accesses, kb))


def test_files_are_stacked_by_first_access(make):
    placed = layout(make, [(2, 0), (0, 0), (1, 0)], 0)
    assert placed.files.tolist() == [2, 0, 1]
    assert np.all(placed.high[:-1] <= placed.low[1:])


def test_a_page_is_one_high_and_offsets_rise(make):
    placed = layout(make, [(0, 3), (0, 1), (0, 2)], 0)
    assert placed.access_y[[1, 2, 0]] - placed.access_y[1] == pytest.approx([0, 1, 2])
    assert placed.high[0] - placed.low[0] == 3


def test_unused_pages_follow_the_page_that_read_them(make):
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


def test_every_unused_run_leaves_a_mark_however_small(make):
    """Forty runs of two pages among six thousand pages: each far less than a dot high."""
    accesses = [(0, page) for page in range(6000)] + [(1, 50 * n) for n in range(40)]
    subject = subject_at(make, accesses, 8, sizes=[6000 * 4096, 1 << 30])
    subject.recording.accesses["time_ns"][6000:] += np.arange(40, dtype="u8") * 10**9
    with drawing():
        figure = Figure(figsize=(WIDTH_IN, 5))
        access_map(figure, subject)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
    red, green, blue = np.asarray(canvas.buffer_rgba()).astype(int)[34:, :, :3].transpose(2, 0, 1)
    columns = ((red - blue > 100) & (red - green > 50)).any(axis=0)
    assert np.count_nonzero(np.diff(columns.astype(int)) == 1) >= 38
