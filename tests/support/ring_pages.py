"""A tiny writer of ftrace ring-buffer sub-buffers: the reverse of analyzer/reference/ring_walk.py.

Layout: kernel/trace/ring_buffer.c (rb_update_event, rb_add_timestamp), include/linux/ring_buffer.h.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Literal

MISSED_EVENTS, MISSED_STORED = 1 << 31, 1 << 30
PADDING, TIME_EXTEND, TIME_STAMP = 29, 30, 31
DELTA_LIMIT = 1 << 27
ABSOLUTE_LIMIT = 1 << 59


@dataclass(frozen=True)
class Event:
    """Data recorded at a time, and how the writer shall store both."""

    time_ns: int
    data: bytes
    absolute: bool = False  # an absolute time stamp before it
    long: bool = False  # length in the first word, as RB_FORCE_8BYTE_ALIGNMENT kernels do
    discarded: bool = False  # turned into padding afterwards (rb_event_discard)


@dataclass
class RingPages:
    """Sub-buffers of one CPU, written in order."""

    byte_order: Literal["little", "big"] = "little"
    long_size: int = 8
    subbuf_size: int = 4096
    pages: list[bytes] = field(default_factory=list)

    @property
    def data_offset(self) -> int:
        return 8 + self.long_size

    @property
    def layout(self) -> tuple[int, int, int]:
        return self.subbuf_size, self.data_offset, self.long_size

    @property
    def data(self) -> bytes:
        return b"".join(self.pages)

    @property
    def swap(self) -> bool:
        return self.byte_order == "big"

    def pack(self, codes: str, *numbers: int) -> bytes:
        return struct.pack((">" if self.byte_order == "big" else "<") + codes, *numbers)

    def word(self, type_len: int, delta: int) -> bytes:
        if self.byte_order == "big":
            return self.pack("I", type_len << 27 | delta)
        return self.pack("I", delta << 5 | type_len)

    def stamp(self, type_len: int, time: int) -> bytes:
        low, high = time % DELTA_LIMIT, time // DELTA_LIMIT
        return self.word(type_len, low) + self.pack("I", high)

    def event(self, event: Event, delta: int) -> bytes:
        padded = event.data + bytes(-len(event.data) % 4)
        long = event.long or len(padded) > 112 or not padded
        body = self.pack("I", len(padded) + 4) + padded if long else padded
        if event.discarded:  # array[0] becomes the length; a delta of 0 would end the page
            return self.word(PADDING, delta) + self.pack("I", len(body)) + body[4:]
        return self.word(0 if long else len(padded) // 4, delta) + body

    def subbuf(self, time_ns: int, body: bytes, flags: int = 0, missed: int | None = None) -> None:
        long = "Q" if self.long_size == 8 else "I"
        head = self.pack("Q" + long, time_ns, len(body) | flags)
        tail = b"" if missed is None else self.pack(long, missed)
        self.pages.append((head + body + tail).ljust(self.subbuf_size, b"\0"))

    def write(self, events: list[Event]) -> list[tuple[int, bytes]]:
        """Write events, as many to a sub-buffer as fit; return those a reader has to see."""
        visible: list[tuple[int, bytes]] = []
        body, first, now = b"", 0, 0
        for event in events:
            if not body:
                first = now = event.time_ns
            encoded, shown = self._timed(event, now)
            if len(body) + len(encoded) > self.subbuf_size - self.data_offset:
                self.subbuf(first, body)
                body, first = b"", event.time_ns
                encoded, shown = self._timed(event, first)
            body += encoded
            now = shown
            if not event.discarded:
                visible.append((shown, event.data + bytes(-len(event.data) % 4)))
        if body:
            self.subbuf(first, body)
        return visible

    def _timed(self, event: Event, now: int) -> tuple[bytes, int]:
        """Return the event with what tells its time, and that time."""
        delta = event.time_ns - now
        prefix = b""
        if event.absolute:
            # rb_fix_abs_ts: the top five bits come from the time before
            prefix, delta = self.stamp(TIME_STAMP, event.time_ns % ABSOLUTE_LIMIT), 0
        elif delta >= DELTA_LIMIT:
            prefix, delta = self.stamp(TIME_EXTEND, delta), 0
        if event.discarded and delta == 0:
            delta = 1
        shown = event.time_ns + (delta if event.absolute or prefix else 0)
        if event.discarded and not prefix:
            shown = now + delta
        return prefix + self.event(event, delta), shown
