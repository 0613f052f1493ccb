"""The documents of ``foreread fingerprint --json``: one to a line with ``--watch``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from foreread.boards.base.document import Document, says


class PatternDocument(msgspec.Struct, frozen=True, kw_only=True):
    """IOPerf's parameters of a workload."""

    processes: Annotated[int, says("that have at least one in twenty of the requests; 8 at most")]
    read_share: Annotated[int, says("percent")]
    random_share: Annotated[
        int, says("percent of the requests that do not begin where their process's last one ended")
    ]
    request_kib: Annotated[int, says("average size")]


class PeriodDocument(Document, frozen=True, kw_only=True):
    """What the disks did in one period."""

    fingerprint: Annotated[str | None, says("null if there was too little to be a workload")]
    pattern_published: Annotated[
        str | None, says("random or sequential by the average distance, as published")
    ]
    seconds: Annotated[int, says("length of the period")]
    reads: float
    writes: float
    size_bytes: Annotated[float, says("average size of a request")]
    distance_sectors: Annotated[float, says("average from start to start, 512-byte sectors")]
    jump_share: Annotated[float, says("part of the requests that begin far from the last one")]
    pattern: Annotated[
        PatternDocument | None, says("with --watch; null if there was too little to be a workload")
    ] = None
    nearest: Annotated[
        PatternDocument | None, says("of the learnt patterns, if one is within the clearance")
    ] = None


class DoneDocument(Document, frozen=True, kw_only=True):
    """What the watcher did about the settings."""

    done: Annotated[
        str,
        says(
            "applied, defaults, measuring, kept, undone, knob, unset, moved, note or restored; "
            "with --learn-at noted, learning, learnt or not learnt"
        ),
    ]
    what: str
    fingerprint: Annotated[str | None, says("kept, undone: the workload")] = None
    worse: Annotated[str | None, says("undone: throughput or latency")] = None
    default_bytes_per_ms: Annotated[
        float | None, says("bytes that processes read and wrote in a ms of disk time; defaults")
    ] = None
    plan_bytes_per_ms: Annotated[float | None, says("the same with the settings")] = None
    default_latency_ms: Annotated[
        float | None, says("of a request: reads, or all in a workload of writes; defaults")
    ] = None
    plan_latency_ms: Annotated[float | None, says("the same with the settings")] = None


class WatchScriptDocument(Document, frozen=True, kw_only=True):
    """The script that watches on a board without foreread."""

    script: Annotated[str, says("path")]
    plans: Annotated[
        Mapping[str, Sequence[tuple[str, str]]], says("knobs and values by fingerprint")
    ]
    losses: Annotated[Sequence[str], says("what a power cut may lose with these settings")] = ()
