"""Judged kernels, made up."""

from __future__ import annotations

from typing import Any

from foreread.boards.judged import JudgedKernel


def judged_of(**changes: Any) -> JudgedKernel:
    """Return a confirmed kernel: that of capture_builder.host_of."""
    base: dict[str, Any] = {
        "result": "confirmed",
        "date": "2026-11-23",
        "foreread": "0.1.0",
        "release": "6.18.0",
        "version": "#1",
        "machine": "x86_64",
        "page_size": 4096,
        "file_system": "ext4",
        "programs": 43,
        "windows_kb": [0, 4, 128],
        "requests_compared": True,
    }
    return JudgedKernel(**{**base, **changes})
