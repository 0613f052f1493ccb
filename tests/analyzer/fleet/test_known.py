"""The digests that a store has: a set, in a hundredth of its memory."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.fleet import known
from foreread.analyzer.fleet.known import KnownKeys
from foreread.analyzer.fleet.names import digest

DIGESTS = st.binary(min_size=16, max_size=16).map(bytes.hex)


@given(st.lists(DIGESTS), st.lists(DIGESTS), st.integers(0, 3))
def test_it_is_a_set(added, asked, kept_apart):
    keys = KnownKeys()
    before, known._KEPT_APART = known._KEPT_APART, kept_apart
    try:
        for key in added:
            keys.add([key])
    finally:
        known._KEPT_APART = before
    assert [key in keys for key in asked + added] == [key in set(added) for key in asked + added]
    assert len(keys) == len(set(added))


def test_digests_that_end_in_zeros_differ():
    keys = KnownKeys()
    keys.add([f"{number:02x}" + "00" * 15 for number in range(3)])
    keys._merge()
    assert "01" + "00" * 15 in keys
    assert "01" + "00" * 14 + "01" not in keys


def test_nothing_is_known_of_a_capture_without_a_key():
    keys = KnownKeys()
    keys.add([None])
    assert None not in keys
    assert keys.is_empty


def test_a_digest_takes_16_bytes():
    tracemalloc.start()
    try:
        keys = KnownKeys()
        for first in range(0, 30_000, 1000):
            keys.add(digest(number) for number in range(first, first + 1000))
        keys._merge()
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 30_000 * 16 + 100_000
