"""What a program shows on a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from waiting import wait_until


def shown_until(terminal: int, is_whole: Callable[[bytes], bool]) -> bytes:
    """Return what was written to the terminal once it is whole: it comes in pieces."""
    os.set_blocking(terminal, False)
    shown = bytearray()

    def has_come() -> bool:
        with suppress(BlockingIOError):
            shown.extend(os.read(terminal, 4096))
        return is_whole(bytes(shown))

    wait_until(has_come, lambda: bytes(shown))
    return bytes(shown)
