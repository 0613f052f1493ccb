"""Rows of a store without captures, and a store with them."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

from foreread.analyzer.fleet.batch import Analysed
from foreread.analyzer.fleet.names import digest
from foreread.analyzer.fleet.rows import Rows
from foreread.analyzer.fleet.store import Store, open_store

_number = count()
WINDOWS = {0: 1.4, 32: 0.8, 128: 1.0}  # KiB, and seconds as a part of those now


def analysed(
    board: str = "board", start: str = "app", now: float = 1.0, **changes: Any
) -> Analysed:
    """Return the rows of one capture with a window of 128 KiB now and of 32 KiB proposed."""
    number = next(_number)
    key = digest(number)
    summary = {
        "row": "capture",
        "key": key,
        "source": f"/captures/{number}.tar.xz",
        "source_key": digest("source", number),
        "foreread": "1",
        "analysed": f"2026-11-25 00:00:{number % 60:02}",
        "board_name": board,
        "machine": "aarch64",
        "command": f"/usr/bin/{start}",
        "kernel": "6.12",
        "build": "one",
        "created": "2026-11-01 00:00:00",
        "verdict": "set",
        "now_kb": 128,
        "proposed_kb": 32,
        "requests_now": 900,
        "seconds_now": now,
        "seconds_proposed": 0.8 * now,
        "gain": 0.2,
    } | changes
    windows = [
        {
            "row": "window",
            "key": key,
            "device": "mmcblk0",
            "window_pages": kib // 4,
            "read_ahead_kb": kib,
            "requests": 1000 // (kib + 1),
            "seconds": part * now,
        }
        for kib, part in WINDOWS.items()
    ]
    return Analysed(key, summary["source_key"], Rows(board, start, [summary, *windows]))


def store_of(folder: Path, *captures: Analysed) -> Store:
    """Return a new store with these captures."""
    store = open_store(str(folder), create=True)
    store.write(captures)
    return store
