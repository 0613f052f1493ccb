"""What the page embeds to recompute, as markup, and what its content security policy allows."""

from __future__ import annotations

import gzip
import hashlib
import json
from base64 import b64encode
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from foreread.analyzer.report.live.bundle import script
from foreread.analyzer.report.live.inputs import Live
from foreread.emulator.wasm.build import CORE

# Rows of the table of results: element ids as in results.mjs, and titles.
RESULTS = (
    ("total", "start-up, predicted"),
    ("compute", "computing"),
    ("asleep", "asleep"),
    ("needed", "waiting for needed pages"),
    ("behind", "waiting for unused pages"),
    ("requests", "requests (F)"),
    ("bytes", "data read"),
    ("unused", "unused pages (G)"),
)
_OF_SECONDS = 5  # of these rows


@dataclass(frozen=True)
class LivePage:
    """The markup of data and script, ``policy`` for them, and what the form offers."""

    meta: Markup
    wasm: Markup
    planes: Markup
    script: Markup
    policy: str
    kernels: list[str]
    recorded_kernel: str
    results: tuple[tuple[str, str], ...]
    has_seconds: bool


def live_page(live: Live) -> LivePage:
    """Return what a page with this start has; the same input gives the same bytes."""
    source = script()
    digest = b64encode(hashlib.sha256(source.encode()).digest()).decode()
    has_seconds = live.start is not None
    return LivePage(
        meta=_json(live.meta),
        wasm=_encoded(CORE.read_bytes()),
        planes=_encoded(live.planes),
        script=Markup(source),  # ours
        policy=f"; script-src 'sha256-{digest}' 'wasm-unsafe-eval'; worker-src blob:",
        kernels=[name for name, _ in live.meta["options"]],
        recorded_kernel=live.meta["recorded_kernel"]["name"] or "",
        results=RESULTS if has_seconds else RESULTS[_OF_SECONDS:],
        has_seconds=has_seconds,
    )


def _json(value: dict[str, Any]) -> Markup:
    """Return JSON that no parser of HTML takes for markup."""
    return Markup(json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"))


def compressed(data: bytes) -> bytes:
    """Return data compressed by gzip, the same bytes each time."""
    return gzip.compress(data, 9, mtime=0)


def _encoded(data: bytes) -> Markup:
    return Markup(b64encode(compressed(data)).decode())
