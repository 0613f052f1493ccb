"""The prefetch list of a start-up: made from a recording, written to a file, predicted."""

from foreread.analyzer.prefetch.cases import CASES, Case, Comparison, compare
from foreread.analyzer.prefetch.listing import (
    Listing,
    PrefetchError,
    Range,
    decode,
    encode,
    write_listing,
)
from foreread.analyzer.prefetch.ranges import Found, Order, find_ranges

__all__ = [
    "CASES",
    "Case",
    "Comparison",
    "Found",
    "Listing",
    "Order",
    "PrefetchError",
    "Range",
    "compare",
    "decode",
    "encode",
    "find_ranges",
    "write_listing",
]
