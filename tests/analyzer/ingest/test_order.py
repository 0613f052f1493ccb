"""Rows in order of several columns, beside numpy.lexsort."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.ingest.tables import order_by

DTYPES = ("u1", "i4", "u4", "i8", "u8")


def numbers(dtype):
    limits = np.iinfo(dtype)
    near = st.integers(0, 3)
    return near | st.integers(limits.min, limits.max) | st.sampled_from([limits.min, limits.max])


rows = st.lists(st.sampled_from(DTYPES), min_size=1, max_size=3).flatmap(
    lambda dtypes: st.tuples(
        st.just(dtypes), st.lists(st.tuples(*(numbers(dtype) for dtype in dtypes)), max_size=40)
    )
)


@given(rows)
def test_order_equals_lexsort(drawn):
    dtypes, values = drawn
    keys = [np.array([row[at] for row in values], dtype) for at, dtype in enumerate(dtypes)]
    assert order_by(*keys).tolist() == np.lexsort(keys[::-1]).tolist()


def test_order_of_wide_first_key_by_rank():
    disk = np.array([8 << 20, 259 << 20, 8 << 20, 259 << 20], np.uint32)
    sector = np.array([1 << 40, 5, 3, 5], np.uint64)
    assert order_by(disk, sector).tolist() == [2, 0, 1, 3]


def test_order_of_masks():
    assert order_by(np.array([True, False, True])).tolist() == [1, 0, 2]
