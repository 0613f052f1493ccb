"""The C border: arrays that are not what the core takes are refused, never read."""

from typing import Any

import numpy as np
import pytest

from foreread.emulator import EmulationError, _fixed, fixed_window

NAMES = ("file", "page", "file_pages", "requests", "loaded")
DTYPES = (np.uint32, np.uint64, np.int64, np.int64, np.int64)


def arrays() -> list[Any]:
    return [np.zeros(4, dtype) for dtype in DTYPES]


def test_well_formed_arrays_pass() -> None:
    assert _fixed.fixed_window(*arrays(), "auto") == 1


@pytest.mark.parametrize("at", range(5), ids=NAMES)
@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "f4", "f8", "c8", "S8", "M8[ns]", "O"])
def test_wrong_dtype(at: int, dtype: str) -> None:
    bad = arrays()
    bad[at] = np.zeros(4, dtype)
    with pytest.raises((TypeError, ValueError)):
        _fixed.fixed_window(*bad, "auto")


@pytest.mark.parametrize("at", range(5), ids=NAMES)
def test_signedness_and_byte_order_matter(at: int) -> None:
    dtype = np.dtype(DTYPES[at])
    other_sign = np.dtype(dtype.str.replace("u", "i") if dtype.kind == "u" else "u8")
    for wrong in (other_sign, dtype.newbyteorder()):
        bad = arrays()
        bad[at] = np.zeros(4, wrong)
        with pytest.raises(TypeError, match=NAMES[at]):
            _fixed.fixed_window(*bad, "auto")


@pytest.mark.parametrize("at", range(5), ids=NAMES)
def test_wrong_shape(at: int) -> None:
    for shape in [(), (2, 2), (1, 4)]:
        bad = arrays()
        bad[at] = np.zeros(shape, DTYPES[at])
        with pytest.raises(TypeError, match=NAMES[at]):
            _fixed.fixed_window(*bad, "auto")


@pytest.mark.parametrize("at", range(5), ids=NAMES)
def test_strided_array(at: int) -> None:
    bad = arrays()
    bad[at] = np.zeros(8, DTYPES[at])[::2]
    with pytest.raises((ValueError, BufferError)):
        _fixed.fixed_window(*bad, "auto")


@pytest.mark.parametrize("at", range(3), ids=NAMES[:3])
def test_unaligned_array(at: int) -> None:
    dtype = np.dtype(DTYPES[at])
    bad = arrays()
    bad[at] = np.frombuffer(bytes(4 * dtype.itemsize + 1), np.uint8)[1:].view(dtype)
    with pytest.raises(TypeError, match="aligned"):
        _fixed.fixed_window(*bad, "auto")


@pytest.mark.parametrize("at", [3, 4], ids=NAMES[3:])
def test_read_only_result(at: int) -> None:
    bad = arrays()
    bad[at].flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        _fixed.fixed_window(*bad, "auto")


@pytest.mark.parametrize("at", [0, 1, 3, 4])
def test_lengths_that_differ(at: int) -> None:
    bad = arrays()
    bad[at] = bad[at][:-1].copy()
    with pytest.raises(ValueError, match="length"):
        _fixed.fixed_window(*bad, "auto")


def test_no_window_and_too_many() -> None:
    for windows, message in [(0, "no window"), (_fixed.MAX_WINDOW + 2, "out of range")]:
        results = np.zeros((2, windows), np.int64)
        with pytest.raises(ValueError, match=message):
            _fixed.fixed_window(*arrays()[:3], *results, "auto")


def test_objects_that_are_not_arrays() -> None:
    for bad in (None, [0], "0000"):
        with pytest.raises(TypeError):
            _fixed.fixed_window(bad, *arrays()[1:], "auto")  # type: ignore[arg-type]


def test_unknown_isa() -> None:
    with pytest.raises(ValueError, match="mmx"):
        _fixed.fixed_window(*arrays(), "mmx")


def test_python_error_carries_a_remedy() -> None:
    file, page, file_pages = arrays()[:3]
    with pytest.raises(EmulationError) as caught:
        fixed_window(file[:2], page, file_pages)
    assert "length" in str(caught.value)
    assert caught.value.remedy


def test_every_error_of_the_core_has_message_and_remedy() -> None:
    texts = _fixed.error_texts()
    assert len(texts) == len(set(texts)) > 0
    assert all(message and remedy for message, remedy in texts)
    assert "unknown error" not in [message for message, _ in texts]
