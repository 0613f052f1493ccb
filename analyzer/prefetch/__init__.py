"""The prefetch list of a start-up: made from a recording, written down, predicted."""

from analyzer.prefetch.listing import Listing, PrefetchError, Range, decode, encode
from analyzer.prefetch.ranges import Found, Order, find_ranges

__all__ = [
    "Found",
    "Listing",
    "Order",
    "PrefetchError",
    "Range",
    "decode",
    "encode",
    "find_ranges",
]
