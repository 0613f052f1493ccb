"""Results as tables: their columns, and their way to Arrow, pandas and polars without a copy."""

from __future__ import annotations

import builtins
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.tables import MissingLibrary
from foreread.analyzer.predict.choice import predict_by
from foreread.analyzer.predict.tables import COMPARED, RUNS, WINDOWS, TableError, table
from foreread.analyzer.predict.validate import validate
from foreread.tracer.formats.sweep import Sweep, read_sweep

EXAMPLE = Path(__file__).parents[3] / "examples/python-start"


@pytest.fixture(scope="module")
def recording():
    return load(EXAMPLE / "python-start.capture.tar.xz")


@pytest.fixture(scope="module")
def prediction(recording):
    return predict_by(recording)


@pytest.fixture(scope="module")
def measured():
    return read_sweep(EXAMPLE / "python-start.sweep.json")


@pytest.fixture(scope="module")
def tables(recording, prediction, measured):
    return [
        recording.accesses,
        recording.files,
        table(prediction),
        table(measured),
        table(validate(prediction, measured)),
    ]


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.thorough
def test_arrow_shares_the_columns(tables):
    for one in tables:
        made = one.to_arrow()
        assert made.column_names == list(one) and made.num_rows == one.rows > 0
        for name, column in one.items():
            (chunk,) = made.column(name).chunks
            assert chunk.buffers()[1].address == address(column)
            assert chunk.null_count == 0


def test_arrow_fields_have_unit_and_meaning(prediction):
    field = table(prediction).to_arrow().schema.field("read_ahead_kb")
    assert field.metadata == {b"unit": b"KiB", b"meaning": b"maximal readahead window"}


def test_pandas_shares_the_columns(tables):
    for one in tables:
        made = one.to_pandas()
        assert list(made.columns) == list(one) and len(made) == one.rows
        for name, column in one.items():
            assert address(made[name].to_numpy()) == address(column)


@pytest.mark.thorough
def test_polars_shares_the_columns(tables):
    for one in tables:
        made = one.to_polars()
        assert made.columns == list(one) and made.height == one.rows
        for name, column in one.items():
            assert address(made[name].to_numpy(allow_copy=False)) == address(column)


@pytest.mark.parametrize(
    ("library", "extra"), [("pyarrow", "arrow"), ("pandas", "pandas"), ("polars", "polars")]
)
def test_a_missing_library_is_an_error_that_names_the_extra(library, extra, tables, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    convert = getattr(tables[0], {"pyarrow": "to_arrow"}.get(library, f"to_{library}"))
    with pytest.raises(MissingLibrary, match=f"{library} is not installed") as error:
        convert()
    assert error.value.remedy == f"pip install 'foreread[{extra}]'"
    assert isinstance(error.value, builtins.ImportError)


def test_windows_are_those_of_the_curve(prediction):
    curve, windows = prediction.total, table(prediction)
    assert windows.schema is WINDOWS
    assert windows["read_ahead_kb"].tolist() == curve.read_ahead_kb
    assert windows["requests"].tolist() == curve.f
    assert windows["unused_pages"].tolist() == curve.g
    for kb, seconds in zip(windows["read_ahead_kb"], windows["seconds"], strict=True):
        known = curve.known_seconds.get(int(kb))
        assert np.isnan(seconds) if known is None else seconds == known


def test_without_seconds_they_are_unknown(recording):
    windows = table(predict_by(recording, "fixed"))
    assert np.isnan(windows["seconds"]).all()
    assert json.loads(windows.to_json())["seconds"][0] is None


def test_each_measured_run_is_a_row(measured):
    runs = table(measured)
    assert runs.schema is RUNS
    assert runs.rows == sum(len(point.seconds) for point in measured.points)
    at = runs["read_ahead_kb"] == measured.points[0].read_ahead_kb
    assert runs["seconds"][at].tolist() == measured.points[0].seconds
    assert table(Sweep(points=[])).rows == 0


def test_a_validation_has_three_sides(prediction, measured):
    compared = table(validate(prediction, measured))
    assert compared.schema is COMPARED
    expected = compared["seconds_predicted"] / compared["seconds_measured"] - 1
    assert np.allclose(compared["seconds_error"], expected, equal_nan=True)


def test_result_columns_are_read_only(prediction):
    with pytest.raises(ValueError, match="read-only"):
        table(prediction)["seconds"][0] = 1.0


def test_other_objects_are_not_tables():
    with pytest.raises(TableError, match="str is not a table"):
        table("text")
